//! Servers that fail in every way.

use std::time::Duration;

use windlass::client::CallOptions;
use windlass::link::http::HttpClientConfig;
use windlass::model::{CallTool, CallToolParams, EmptyParams, ListTools, PaginatedParams, Ping};

use crate::talk::{Request, Talk, config, http, without_listener};

fn call(talk: &mut Talk) -> (u32, Request) {
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    (number, talk.request())
}

/// Another call is unharmed by whatever happens to the first.
#[track_caller]
fn fails(happens: impl FnOnce(&mut Talk, &Request), says: &str) {
    let mut config = config();
    config.limits.message_bytes = 1000;
    let mut talk = Talk::modern_with(config, http());
    // On a fresh connection nothing is tried twice.
    talk.breaks(1, "idle");
    let (bad, request) = call(&mut talk);
    let (good, other) = call(&mut talk);
    happens(&mut talk, &request);
    assert!(talk.failed(bad).contains(says), "{}", talk.failed(bad));
    talk.json(&other, 200, &other.result(r#"{"content":[]}"#));
    assert!(talk.outcome(good).is_ok());
    talk.close_down();
}

#[test]
fn a_status_that_is_no_success_fails_the_call_and_is_named() {
    for status in [408, 409, 413, 429, 500, 502, 503, 504] {
        fails(
            |talk, request| talk.plain(request, status, "text"),
            &format!("the server answered with HTTP status {status}"),
        );
    }
    // These could mean that the server is not modern any more.
    for status in [400, 404, 405, 406, 415, 422] {
        fails(
            |talk, request| {
                talk.plain(request, status, "text");
                talk.still_modern();
            },
            &format!("the server answered with HTTP status {status}"),
        );
    }
    fails(
        |talk, request| talk.say(request, 429, "Retry-After: 120\r\n", Some("")),
        "429 Too Many Requests; it asks to be tried again after 120",
    );
}

#[test]
fn bodies_that_are_no_answer() {
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    fails(
        |talk, request| talk.say(request, 200, html, Some("<title>Login</title>")),
        "the answer is text/html; charset=utf-8, neither JSON nor a stream of events: <title>Login</title>",
    );
    let packed = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    fails(
        |talk, request| talk.say(request, 200, packed, Some("packed")),
        "the answer is application/json encoded by gzip, which was not asked for, neither JSON nor a stream of events: packed",
    );
    fails(|talk, request| talk.json(request, 200, "{"), "the message is not JSON");
    fails(|talk, request| talk.json(request, 200, "7"), "the message is not a JSON object");
    fails(|talk, request| talk.json(request, 200, ""), "the body is empty");
    fails(|talk, request| talk.plain(request, 202, ""), "no response received for request ID 2: the body is empty");
    let other = r#"{"jsonrpc":"2.0","id":"2","result":{}}"#;
    fails(|talk, request| talk.json(request, 200, other), "the body answers another request");
    fails(|talk, request| talk.json(request, 200, &request.result("7")), "the result is not an object");
    fails(|talk, request| talk.json(request, 200, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#), "no response received");
}

/// Nothing is ever unpacked, so that nothing that is small on its way becomes huge. What is in the body would be an answer
/// if nobody had said that it is packed.
#[test]
fn an_answer_that_is_packed_fails_its_call_and_says_so() {
    let says = |content_type: &str, coding: &str| {
        format!(
            "the answer is {content_type} encoded by {coding}, which was not asked for, neither JSON nor a stream of events"
        )
    };
    let (json, events) = ("application/json", "text/event-stream");
    for coding in ["gzip", "GZIP", "br", "zstd", "deflate", "x-unheard-of", "gzip, gzip, gzip", "identity, gzip"] {
        let head = |content_type: &str| format!("Content-Type: {content_type}\r\nContent-Encoding: {coding}\r\n");
        fails(
            |talk, request| talk.say(request, 200, &head(json), Some(&request.result(r#"{"content":[]}"#))),
            &says(json, coding),
        );
        let event = |request: &Request| format!("data: {}\n\n", request.result(r#"{"content":[]}"#));
        fails(|talk, request| talk.say(request, 200, &head(events), Some(&event(request))), &says(events, coding));
        // A stream without an end: what has come of it after a while has to do.
        fails(
            |talk, request| {
                talk.say(request, 200, &head(events), None);
                talk.lines(request, &event(request));
                assert!(talk.outcomes.is_empty(), "what it says is not taken for what it is");
                talk.pass(Duration::from_secs(5));
            },
            &says(events, coding),
        );
    }
    // A thousand codings are told as what they are, in few words.
    let many = format!("Content-Type: {json}\r\nContent-Encoding: {}\r\n", vec!["gzip"; 1000].join(","));
    fails(
        |talk, request| talk.say(request, 200, &many, Some("x")),
        "the answer is application/json encoded by gzip,gzip,",
    );
    // One that changes nothing is none.
    let mut talk = Talk::modern();
    for content_type in [json, events] {
        let (number, request) = call(&mut talk);
        let head = format!("Content-Type: {content_type}\r\nContent-Encoding: Identity\r\n");
        let answer = request.result(r#"{"content":[]}"#);
        let answer = if content_type == events { format!("data: {answer}\n\n") } else { answer };
        talk.say(&request, 200, &head, Some(&answer));
        assert!(talk.outcome(number).is_ok());
    }
    talk.close_down();
}

#[test]
fn answers_without_an_outcome() {
    let neither = |request: &Request| format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, request.id());
    let both = |request: &Request| request.result(r#"{},"error":{"code":1,"message":"m"}"#);
    let says =
        ["the response has neither a result nor an error", "a response has one id and either a result or an error"];
    fails(|talk, request| talk.json(request, 200, &neither(request)), says[0]);
    fails(|talk, request| talk.json(request, 200, &both(request)), says[1]);
    let in_stream = |talk: &mut Talk, request: &Request, message: String| {
        talk.stream(request);
        talk.event(request, &message);
    };
    fails(|talk, request| in_stream(talk, request, neither(request)), says[0]);
    fails(|talk, request| in_stream(talk, request, both(request)), says[1]);
    // What claims to answer another request than that of its stream fails neither.
    fails(
        |talk, request| {
            let other = format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, request.id() + 1);
            in_stream(talk, request, other);
            talk.event(request, &neither(request));
        },
        says[0],
    );
}

#[test]
fn a_body_without_end_fails_the_call_at_the_limit() {
    let long = "x".repeat(2000);
    fails(|talk, request| talk.json(request, 200, &long), "the answer is longer than 1000 bytes");
    fails(
        |talk, request| {
            talk.stream(request);
            talk.event(request, &request.result(&format!(r#"{{"x":"{long}"}}"#)));
        },
        "the message is too long",
    );
    let error = "x".repeat(100_000);
    fails(|talk, request| talk.plain(request, 500, &error), "500 Internal Server Error: xxx");
}

#[test]
fn an_event_that_is_no_message_is_skipped() {
    let mut talk = Talk::modern();
    let (number, request) = call(&mut talk);
    talk.stream(&request);
    talk.event(&request, "nonsense");
    talk.event(&request, "[1,2]");
    talk.lines(&request, "event: other\ndata: {}\n\n");
    talk.event(&request, r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#);
    talk.event(&request, &request.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    // A modern client answers nothing of that.
    talk.no_request();
    talk.tells("! malformed: the message is not JSON");
    assert_eq!(talk.client.counters().malformed, 3);
    talk.close_down();
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole_only_if_that_ended_well() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
    let answer = |request: &Request| format!("{head}{}", request.result(r#"{"content":[]}"#));
    let mut talk = Talk::modern();
    let (number, request) = call(&mut talk);
    talk.raw(request.conn, answer(&request).as_bytes());
    assert!(!talk.outcomes.contains_key(&number), "more may come");
    talk.cut(&request);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
    // However complete it looks: what was cut off may have gone on.
    fails(
        |talk, request| {
            talk.raw(request.conn, answer(request).as_bytes());
            talk.breaks(request.conn, "the peer did not end TLS");
        },
        "no response received for request ID 2: the connection broke: the peer did not end TLS",
    );
    // An answer whose length was said is there before anything can be cut off.
    let mut talk = Talk::modern();
    let (number, request) = call(&mut talk);
    talk.json(&request, 200, &request.result(r#"{"content":[]}"#));
    talk.breaks(request.conn, "the peer did not end TLS");
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn heads_that_are_none() {
    fails(
        |talk, request| talk.raw(request.conn, b"SSH-2.0-OpenSSH\r\n\r\n"),
        "the first line of the message is malformed",
    );
    fails(|talk, request| talk.raw(request.conn, &[b'x'; 70_000]), "the first line of the message is too long");
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-Y: z\r\n".repeat(10_000));
    fails(|talk, request| talk.raw(request.conn, endless.as_bytes()), "the message has too many headers");
    fails(
        |talk, request| {
            talk.raw(request.conn, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n")
        },
        "both Content-Length and Transfer-Encoding",
    );
    fails(
        |talk, request| talk.raw(request.conn, b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n garbage"),
        "the server switched to another protocol",
    );
}

#[test]
fn a_response_that_stalls_anywhere_times_out() {
    let stalls = |part: &[u8]| {
        let mut talk = Talk::modern();
        let (number, request) = call(&mut talk);
        talk.raw(request.conn, part);
        talk.pass(Duration::from_secs(29));
        talk.pass(Duration::from_secs(1));
        let failed = talk.failed(number);
        talk.close_down();
        failed
    };
    for part in [
        &b""[..],
        b"HTTP/1.1 20",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"json",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {",
    ] {
        assert!(stalls(part).contains("did not answer within 30s"));
    }
    // The status says enough.
    let error = stalls(b"HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nhalf of i");
    assert!(error.contains("500 Internal Server Error: half of i"), "{error}");
}

#[test]
fn a_response_that_breaks_off_fails_the_call_and_says_how() {
    fails(|talk, request| talk.cut(request), "the connection ended without an answer");
    fails(|talk, request| talk.breaks(request.conn, "reset"), "the connection broke: reset");
    fails(
        |talk, request| {
            talk.raw(
                request.conn,
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
            );
            talk.cut(request);
        },
        "no response received for request ID 2: the connection broke: the connection ended inside a message",
    );
}

#[test]
fn a_server_that_cannot_be_reached_for_a_while() {
    let mut talk = Talk::modern();
    talk.pass(Duration::from_secs(31));
    talk.unreachable = true;
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    assert_eq!(talk.failed(number), "the peer could not be reached: connection refused");
    talk.unreachable = false;
    let (number, request) = call(&mut talk);
    talk.json(&request, 200, &request.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn what_the_program_nests_deeply_is_for_the_server_to_judge() {
    let mut talk = Talk::modern();
    let mut value = serde_json::json!(1);
    for _ in 0..200 {
        value = serde_json::json!([value]);
    }
    talk.client
        .call_raw("no/such/method", &serde_json::json!({ "deep": value }), &CallOptions::new(), 8, talk.now)
        .unwrap();
    talk.run();
    let request = talk.request();
    assert!(request.body.contains(&"[".repeat(200)));
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"the message is nested too deeply"}}"#;
    talk.json(&request, 200, refused);
    assert!(talk.failed(8).contains("nested too deeply"), "{}", talk.failed(8));
    talk.close_down();
}

#[test]
fn an_answer_with_too_many_values_fails_its_call_at_once() {
    let mut config = config();
    config.limits.message_values = 1000;
    let mut talk = Talk::modern_with(config, http());
    let (number, request) = call(&mut talk);
    let values = vec!["[]"; 1000].join(",");
    talk.json(&request, 200, &request.result(&format!(r#"{{"content":[],"structuredContent":{{"x":[{values}]}}}}"#)));
    assert!(talk.failed(number).contains("too many values: 1000 are allowed"), "{}", talk.failed(number));
    talk.close_down();
}

#[test]
fn a_server_that_reads_nothing_is_not_given_everything() {
    let mut config = config();
    config.limits.outbox_soft_bytes = 2000;
    let mut talk = Talk::modern_with(config, http());
    let mut params = CallToolParams::new("echo");
    params = params.with_arguments(windlass::Json::of(&serde_json::json!({ "x": "y".repeat(800) })).unwrap());
    talk.deaf = true;
    let mut accepted = 0;
    let refused = loop {
        match talk.try_call::<CallTool>(&params, &CallOptions::new()) {
            Ok(_) => accepted += 1,
            Err(why) => break why,
        }
    };
    assert_eq!((refused, accepted), (windlass::SendError::Full, 2));
    talk.deaf = false;
    talk.run();
    // One that takes its time to answer is in nobody's way.
    assert_eq!(talk.requests_left(), 2);
    assert!(talk.try_call::<CallTool>(&params, &CallOptions::new()).is_ok());
    assert_eq!(talk.requests_left(), 3);
    talk.close();
    talk.nothing_left();
}

#[test]
fn keep_alive_pings_of_a_server_that_is_gone() {
    let mut config = config();
    config.keep_alive = Some(windlass::client::KeepAliveConfig::every(Duration::from_secs(10)));
    let mut talk = Talk::legacy_with(config, without_listener(), "2025-11-25", None);
    talk.pass(Duration::from_secs(10));
    let ping = talk.request();
    talk.json(&ping, 200, &ping.result("{}"));
    talk.pass(Duration::from_secs(9));
    talk.unreachable = true;
    talk.pass(Duration::from_secs(60));
    talk.tells("! closed: the peer did not answer 3 keep-alive pings in a row");
    talk.nothing_left();
}

#[test]
fn a_ping_is_a_call_like_any_other() {
    let mut talk = Talk::legacy();
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.json(&ping, 200, &ping.error(-32603, "oh"));
    assert!(talk.failed(number).contains("oh"));
    talk.close_down();
}

#[test]
fn a_busy_server_is_asked_again_when_it_says_so() {
    for status in [429, 503] {
        let mut talk = Talk::modern();
        let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
        let request = talk.request();
        talk.say(&request, status, "Retry-After: 7\r\n", Some("busy"));
        talk.pass(Duration::from_secs(6));
        talk.no_request();
        talk.pass(Duration::from_secs(1));
        let again = talk.request();
        assert_ne!(again.id(), request.id(), "no id is used twice");
        // Once is enough.
        talk.say(&again, status, "Retry-After: 7\r\n", Some("still busy"));
        assert!(talk.failed(number).contains("it asks to be tried again after 7: still busy"));
        talk.close_down();
    }
}

#[test]
fn a_busy_server_is_not_waited_for_where_that_is_no_use() {
    let told_at_once = |http: HttpClientConfig, after: &str, options: &CallOptions| {
        let mut talk = Talk::modern_with(config(), http);
        let (number, _) = talk.call_with::<ListTools>(&PaginatedParams::new(), options);
        let request = talk.request();
        talk.say(&request, 503, &format!("Retry-After: {after}\r\n"), Some(""));
        assert!(talk.failed(number).contains("503"), "{after}");
        talk.close_down();
    };
    let usual = CallOptions::new();
    // For too long, at a time of a calendar that nobody here has, or nonsense.
    for after in ["11", "Wed, 18 Nov 2026 02:00:00 GMT", "-1", "soon", "99999999999999999999"] {
        told_at_once(http(), after, &usual);
    }
    told_at_once(http(), "5", &CallOptions::new().total_timeout(Duration::from_secs(5)));
    let mut impatient = http();
    impatient.retry_after = Duration::ZERO;
    told_at_once(impatient, "0", &usual);
    // What may do something twice is not made again, whatever the server says.
    let mut talk = Talk::modern();
    let (number, request) = call(&mut talk);
    talk.say(&request, 503, "Retry-After: 1\r\n", Some(""));
    assert!(talk.failed(number).contains("503"));
    talk.close_down();
}

#[test]
fn a_call_that_is_held_back_can_be_given_up() {
    let mut talk = Talk::modern();
    let (number, id) = talk.call::<ListTools>(&PaginatedParams::new());
    let request = talk.request();
    talk.say(&request, 503, "Retry-After: 5\r\n", Some(""));
    talk.client.cancel(id, "enough", talk.now);
    talk.run();
    assert!(talk.failed(number).contains("cancelled"));
    talk.pass(Duration::from_secs(10));
    talk.no_request();
    talk.close_down();
}
