//! Servers over HTTP that do not do what they should: the caller is told in time, and everybody else goes on.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_tests::hand_written::answer;

use super::adapter::client::Negotiation;
use super::adapter::{CallError, Client, Error, HttpTarget};
use super::eras::{ERAS, in_era};
use crate::http_server::{HandWritten, Ugliness, hang_up, reset, say, say_forever, stall};

/// How long a call may take that is never answered.
const SHORT: Duration = Duration::from_millis(150);

/// What no call takes that fails for another reason.
const LONG: Duration = Duration::from_secs(15);

/// The most that a client of these tests takes.
const LIMIT: usize = 64 * 1024;

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

fn target(server: &HandWritten) -> HttpTarget {
    HttpTarget::new(&server.url()).unwrap()
}

fn echo_of(outcome: Result<super::adapter::model::CallToolResult, Error>) -> String {
    outcome.unwrap().text_content()
}

step!(connected(server: &HandWritten) -> Client, {
    let builder = in_era(Negotiation::Legacy).configure(|config| config.limits.message_bytes = LIMIT);
    wait!(builder.connect(target(server))).unwrap()
});

// A call is not answered in time; its connection is given up, and no other call is held up.
step!(times_out(ugliness: Ugliness), {
    let server = HandWritten::start(ugliness);
    let client = wait!(connected(&server));
    let waiting = client.clone();
    let waiting = start!({
        let started = Instant::now();
        (wait!(waiting.with_idle_timeout(SHORT).call_tool("ugly", json!({}))), started.elapsed())
    });
    for _ in 0..5 {
        assert_eq!(echo_of(wait!(client.call_tool("echo", json!({"text": "meanwhile"})))), "meanwhile");
    }
    let (outcome, took) = join!(waiting);
    assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
    assert!(took >= SHORT && took < LONG / 3, "{took:?}");
    // A client without a thread of its own moves on only while it is used.
    eventually!("the connection is given up", wait!(client.ping()).is_ok() && server.uglinesses() == (1, 1));
    assert_eq!(echo_of(wait!(client.call_tool("echo", json!({"text": "after"})))), "after");
    wait!(client.close());
});

// A call fails before its time is up, with an error that says `clearly` what is wrong; its connection is given up.
step!(fails(ugliness: Ugliness, clearly: &[&str]), {
    let server = HandWritten::start(ugliness);
    let client = wait!(connected(&server));
    let started = Instant::now();
    let error = wait!(client.with_idle_timeout(LONG).call_tool("ugly", json!({}))).unwrap_err();
    assert!(started.elapsed() < LONG / 3, "{:?}: {error}", started.elapsed());
    let said = error.to_string();
    assert!(clearly.iter().all(|words| said.contains(words)), "{said}");
    eventually!("the connection is given up", {
        wait!(client.ping()).unwrap();
        let (begun, ended) = server.uglinesses();
        begun > 0 && begun == ended
    });
    assert_eq!(echo_of(wait!(client.call_tool("echo", json!({"text": "after"})))), "after");
    assert_eq!(server.echoed(), 1);
    wait!(client.close());
});

// There is no connection, and it is said `clearly` why, in both eras.
step!(is_no_server(ugliness: Ugliness, clearly: &[&str]), {
    for negotiation in ERAS {
        let server = HandWritten::always(ugliness);
        let builder = in_era(negotiation).configure(|config| config.handshake_timeout = 2 * SHORT);
        let started = Instant::now();
        let error = wait!(builder.connect(target(&server))).err().unwrap();
        assert!(started.elapsed() < LONG / 3, "{:?}: {error}", started.elapsed());
        let said = error.to_string();
        assert!(clearly.iter().all(|words| said.contains(words)), "{said} by {negotiation:?}");
    }
});

case!(a_server_that_says_nothing_times_out, { wait!(times_out(|stream, _| stall(stream))) });

case!(a_server_that_stalls_in_a_head_times_out, {
    wait!(times_out(|stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Ty");
        stall(stream);
    }))
});

case!(a_server_that_stalls_in_a_body_times_out, {
    wait!(times_out(|stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"jsonrpc\":");
        stall(stream);
    }))
});

case!(a_server_that_stalls_in_a_chunk_times_out, {
    wait!(times_out(|stream, _| {
        say(stream, CHUNKS);
        say(stream, "40\r\n{\"jsonrpc\":");
        stall(stream);
    }))
});

case!(a_server_that_stalls_in_an_event_times_out, {
    wait!(times_out(|stream, _| {
        say(stream, EVENTS);
        say(stream, "40\r\ndata: {\"jsonrpc\":");
        stall(stream);
    }))
});

case!(a_server_that_only_shows_that_it_lives_times_out, {
    wait!(times_out(|stream, _| {
        say(stream, EVENTS);
        say_forever(stream, "4\r\n: \n\n\r\n");
    }))
});

case!(a_server_that_hangs_up_without_a_word_is_told, {
    wait!(fails(|stream, _| hang_up(stream), &["ended without an answer"]))
});

case!(a_server_that_hangs_up_in_a_head_is_told, {
    wait!(fails(
        |stream, _| {
            say(stream, "HTTP/1.1 200 OK\r\nContent-Ty");
            hang_up(stream);
        },
        &[]
    ))
});

case!(a_server_that_hangs_up_in_a_body_is_told, {
    wait!(fails(
        |stream, _| {
            say(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"jsonrpc\":");
            hang_up(stream);
        },
        &["no response received"]
    ))
});

case!(a_stream_that_ends_without_the_answer_is_told, {
    wait!(fails(
        |stream, _| {
            say(stream, EVENTS);
            say(stream, "0\r\n\r\n");
            hang_up(stream);
        },
        &["no response received", "the stream ended without it"]
    ))
});

case!(a_connection_that_is_reset_is_told, { wait!(fails(|stream, _| reset(stream), &["ended without an answer"])) });

case!(a_connection_that_is_reset_in_an_event_is_told, {
    wait!(fails(
        |stream, _| {
            say(stream, EVENTS);
            say(stream, "40\r\ndata: {\"jsonrpc\":");
            // What was said before would be lost with the connection.
            std::thread::sleep(Duration::from_millis(30));
            reset(stream);
        },
        &["no response received", "ended inside a message"]
    ))
});

case!(a_page_is_no_answer, {
    wait!(fails(
        |stream, _| {
            let page = "<html><title>Welcome to nginx!</title></html>";
            say(
                stream,
                &format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", page.len()),
            );
            say(stream, page);
        },
        &["text/html", "Welcome to nginx!"]
    ))
});

case!(something_else_than_http_is_told, {
    wait!(fails(
        |stream, _| {
            say(stream, "SSH-2.0-OpenSSH_9.6\r\n\r\n");
            stall(stream);
        },
        &["the first line of the message is malformed"]
    ))
});

case!(an_answer_beyond_the_limit_is_refused, {
    wait!(fails(
        |stream, id| {
            let text = "x".repeat(4 * LIMIT);
            let result = json!({"content": [{"type": "text", "text": text}]});
            // The client need not hear all of it.
            let _ = answer(stream, id, result);
        },
        &["longer than 65536 bytes"]
    ))
});

case!(an_answer_without_end_is_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, CHUNKS);
            let part = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            say_forever(stream, &part);
        },
        &["longer than 65536 bytes"]
    ))
});

case!(an_event_without_end_is_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, EVENTS);
            say(stream, "6\r\ndata: \r\n");
            let part = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            say_forever(stream, &part);
        },
        &["an event goes on beyond 65536 bytes without an end"]
    ))
});

case!(an_event_with_lines_without_end_is_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, EVENTS);
            let part = format!("1000\r\n{}\r\n", "data: xxxxxxxxx\n".repeat(0x100));
            assert_eq!(part.len(), 0x1000 + 8, "it is a whole chunk");
            say_forever(stream, &part);
        },
        &["an event goes on beyond 65536 bytes without an end"]
    ))
});

case!(a_line_that_means_nothing_and_has_no_end_is_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, EVENTS);
            let part = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            say_forever(stream, &part);
        },
        &["an event goes on beyond 65536 bytes without an end"]
    ))
});

case!(headers_without_end_are_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, "HTTP/1.1 200 OK\r\n");
            say_forever(stream, "X-More: and more\r\n");
        },
        &["header"]
    ))
});

case!(a_header_without_end_is_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, "HTTP/1.1 200 OK\r\nX-Long: ");
            let part = "x".repeat(0x1000);
            say_forever(stream, &part);
        },
        &["head"]
    ))
});

case!(interim_responses_without_end_are_refused, {
    wait!(fails(|stream, _| say_forever(stream, "HTTP/1.1 100 Continue\r\n\r\n"), &[]))
});

case!(a_chunk_size_without_end_is_refused, {
    wait!(fails(
        |stream, _| {
            say(stream, CHUNKS);
            say_forever(stream, "00000000");
        },
        &["chunk"]
    ))
});

case!(a_failure_of_the_server_is_told_with_what_it_says, {
    wait!(fails(
        |stream, _| {
            say(stream, "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 15\r\n\r\nout of database");
        },
        &["500", "out of database"]
    ))
});

case!(a_failure_whose_body_has_no_end_is_told, {
    wait!(fails(
        |stream, _| {
            say(stream, "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\n\r\n");
            let part = "x".repeat(0x1000);
            say_forever(stream, &part);
        },
        &["500"]
    ))
});

case!(a_server_that_wants_credentials_is_told, {
    wait!(fails(
        |stream, _| {
            say(
                stream,
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"mcp\"\r\nContent-Length: 0\r\n\r\n",
            );
        },
        &["401", "credentials"]
    ))
});

case!(a_redirect_to_somewhere_else_is_not_followed, {
    wait!(fails(
        |stream, _| {
            say(
                stream,
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.2:1/mcp\r\nContent-Length: 0\r\n\r\n",
            );
        },
        &["307", "http://127.0.0.2:1/mcp", "not followed"]
    ))
});

case!(kept_connections_that_the_server_has_closed_are_not_used_again, {
    let server = HandWritten::start(|_, _| ());
    let client = wait!(in_era(Negotiation::Legacy).connect(target(&server))).unwrap();
    for number in 0..20 {
        let text = format!("close {number}");
        let before = server.closed();
        assert_eq!(echo_of(wait!(client.call_tool("echo", json!({ "text": text })))), text);
        eventually!("the connection is closed", server.closed() > before);
    }
    assert_eq!(server.echoed(), 20);
    wait!(client.close());
});

case!(kept_connections_that_are_closed_under_a_call_do_not_fail_it, {
    let server = HandWritten::start(|_, _| ());
    let client = wait!(in_era(Negotiation::Legacy).connect(target(&server))).unwrap();
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let client = client.clone();
            start!({
                for number in 0..50 {
                    // Some connections are kept, so that there are some to be closed.
                    let text = format!("{} {caller} {number}", if number % 2 == 0 { "close" } else { "keep" });
                    assert_eq!(echo_of(wait!(client.call_tool("echo", json!({ "text": text })))), text);
                }
            })
        })
        .collect();
    for caller in callers {
        join!(caller);
    }
    assert_eq!(server.echoed(), 200, "nothing is done twice");
    wait!(client.close());
});

case!(a_silent_server_is_no_server, { wait!(is_no_server(|stream, _| stall(stream), &["did not answer"])) });

case!(a_server_of_pages_is_no_server, {
    wait!(is_no_server(
        |stream, _| {
            say(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 19\r\n\r\n<html>Hello!</html>");
        },
        &["text/html"]
    ))
});

case!(a_server_that_fails_is_no_server, {
    wait!(is_no_server(
        |stream, _| {
            say(stream, "HTTP/1.1 500 Oops\r\nContent-Length: 15\r\n\r\nout of database");
        },
        &["500", "out of database"]
    ))
});

case!(a_server_for_others_is_no_server, {
    wait!(is_no_server(
        |stream, _| {
            say(stream, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n");
        },
        &["401", "credentials"]
    ))
});

case!(a_server_that_resets_is_no_server, {
    wait!(is_no_server(|stream, _| reset(stream), &["ended without an answer"]))
});
