//! Clients over HTTP that do not do what they should: they get what they deserve, and everybody else is served.

use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_adapter_tests::by_hand::{modern_call, modern_request};

use super::OWN_SERVER;
use super::adapter::{Client, HttpTarget};
use crate::http_party::{HttpParty, hear, hear_at_length, hear_to_end, send};
use crate::http_server::reset;

/// Half of what a stream takes to show by itself that nobody listens, and far more than it takes on a busy machine.
const SOON: Duration = Duration::from_secs(10);

// A few calls, each of which has the time that calls have.
step!(is_served(client: &Client), {
    for number in 0..10 {
        let text = format!("call {number}");
        let echoed = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
        assert_eq!(echoed.text_content(), text);
    }
});

step!(connected(server: &HttpParty) -> Client, {
    wait!(Client::connect(HttpTarget::new(server.url()).unwrap())).unwrap()
});

case!(those_who_send_a_byte_at_a_time_are_not_waited_for, {
    let server = HttpParty::start(OWN_SERVER, "impatient");
    let client = wait!(connected(&server));
    let call = modern_call("echo", r#"{"text":"slowly"}"#);
    let body = call.find("\r\n\r\n").unwrap() + 10;
    // Half of them have sent a whole head.
    let slow: Vec<_> = (0..40).map(|number| (server.dial(), if number % 2 == 0 { 10 } else { body })).collect();
    for (stream, at) in &slow {
        send(stream, &call[..*at]);
    }
    let dripping: Vec<_> = slow.iter().map(|(stream, at)| (stream.try_clone().unwrap(), *at)).collect();
    let text = call.clone();
    let dripping = std::thread::spawn(move || {
        for step in 0..30 {
            for (stream, at) in &dripping {
                send(stream, &text[at + step..=at + step]);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    wait!(is_served(&client));
    dripping.join().unwrap();
    for (stream, at) in &slow {
        let heard = hear_to_end(stream);
        // What a server said last may be lost when more is sent to it.
        assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 408 "), "{at}: {heard}");
    }
    wait!(is_served(&client));
    wait!(client.close());
});

case!(those_who_say_nothing_are_not_waited_for, {
    let server = HttpParty::start(OWN_SERVER, "impatient");
    let silent: Vec<_> = (0..20).map(|_| server.dial()).collect();
    for stream in &silent {
        assert_eq!(hear_to_end(stream), "");
    }
});

case!(those_who_ask_much_at_once_are_answered, {
    let server = HttpParty::start(OWN_SERVER, "patient");
    let stream = server.dial();
    let calls: String = (0..300).map(|number| modern_call("echo", &format!(r#"{{"text":"call {number};"}}"#))).collect();
    send(&stream, &calls);
    let heard = hear(&stream, "call 299;");
    for number in 0..300 {
        assert!(heard.contains(&format!("call {number};")), "call {number} is not answered: {heard}");
    }
});

case!(those_who_ask_for_more_meanwhile_are_answered, {
    let server = HttpParty::start(OWN_SERVER, "patient");
    let stream = server.dial();
    // More than is read of the next requests while one is at work.
    let text = "t".repeat(300_000);
    send(&stream, &modern_call("slow", "{}"));
    send(&stream, &modern_call("echo", &format!(r#"{{"text":"{text}, to the end"}}"#)));
    hear(&stream, "to the end");
    // What does not go out at once goes out when there is room.
    send(&stream, &modern_call("grow", r#"{"bytes":14000000}"#));
    send(&stream, &modern_call("echo", r#"{"text":"after the long one"}"#));
    hear_at_length(&stream, "after the long one");
});

case!(those_who_do_not_read_hold_nobody_up, {
    let server = HttpParty::start(OWN_SERVER, "json");
    let client = wait!(connected(&server));
    wait!(is_served(&client));
    let (sockets, _) = server.belongings();
    let deaf: Vec<_> = (0..3).map(|_| server.dial()).collect();
    for stream in &deaf {
        send(stream, &modern_call("grow", r#"{"bytes":14000000}"#));
        // The answer has begun, and does not get to its end.
        stream.peek(&mut [0]).unwrap();
    }
    wait!(is_served(&client));
    assert_eq!(server.belongings().0, sockets + deaf.len(), "all this while they are waited for");
    drop(deaf);
    eventually!("their connections are closed", server.belongings().0 == sockets);
    wait!(client.close());
});

case!(those_who_do_not_read_cost_little, {
    let server = HttpParty::start(OWN_SERVER, "narrow");
    let client = wait!(connected(&server));
    wait!(is_served(&client));
    let before = server.peak_kilobytes();
    let deaf: Vec<_> = (0..2).map(|_| server.dial()).collect();
    for stream in &deaf {
        // Together far more than the system itself keeps for them.
        send(stream, &modern_call("flood", r#"{"messages":1500,"bytes":10000}"#));
    }
    wait!(is_served(&client));
    eventually!("those who do not read are given up", {
        deaf.iter().all(|stream| (&mut &*stream).write_all(b"\r\n").is_err())
    });
    let grown = server.peak_kilobytes() - before;
    assert!(grown < 12_000, "{grown} kilobytes more for those who do not read");
    wait!(is_served(&client));
    wait!(client.close());
});

case!(those_who_take_nothing_for_too_long_are_given_up, {
    let server = HttpParty::start(OWN_SERVER, "read");
    let client = wait!(connected(&server));
    let deaf = [server.dial()];
    for stream in &deaf {
        send(stream, &modern_call("grow", r#"{"bytes":14000000}"#));
    }
    wait!(is_served(&client));
    eventually!("those who do not read are given up", {
        deaf.iter().all(|stream| (&mut &*stream).write_all(b"\r\n").is_err())
    });
    wait!(client.close());
});

case!(those_who_hang_up_in_a_request_leave_nothing_behind, {
    let server = HttpParty::start(OWN_SERVER, "json");
    let client = wait!(connected(&server));
    wait!(is_served(&client));
    let (sockets, _) = server.belongings();
    let call = modern_call("echo", r#"{"text":"half"}"#);
    let body = call.find("\r\n\r\n").unwrap() + 10;
    for at in [0, 1, 20, body, call.len() - 1] {
        for hangs_up in [true, false] {
            for _ in 0..10 {
                let stream = server.dial();
                send(&stream, &call[..at]);
                if !hangs_up {
                    // It could still be answered, but there is nothing to answer.
                    stream.shutdown(Shutdown::Write).unwrap();
                    hear_to_end(&stream);
                }
            }
        }
    }
    wait!(is_served(&client));
    eventually!("their connections are closed", server.belongings().0 == sockets);
    wait!(client.close());
});

case!(those_who_hang_up_before_the_answer_have_cancelled, {
    let server = HttpParty::start(OWN_SERVER, "json");
    let client = wait!(connected(&server));
    wait!(is_served(&client));
    let (sockets, _) = server.belongings();
    let gone: Vec<_> = (0..50).map(|_| server.dial()).collect();
    for stream in &gone {
        send(stream, &modern_call("never", "{}"));
    }
    while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "50 0" {}
    for stream in gone.iter().step_by(2) {
        reset(stream);
    }
    let started = Instant::now();
    drop(gone);
    while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "50 50" {}
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    eventually!("their connections are closed", server.belongings().0 == sockets);
    wait!(client.close());
});

case!(those_who_only_stop_sending_are_answered, {
    for mode in ["json", "events"] {
        let server = HttpParty::start(OWN_SERVER, mode);
        let stream = server.dial();
        let calls = [
            modern_call("echo", r#"{"text":"the first"}"#),
            modern_call("slow", "{}"),
            modern_call("echo", r#"{"text":"the last"}"#),
        ];
        send(&stream, &calls.concat());
        stream.shutdown(Shutdown::Write).unwrap();
        let heard = hear_to_end(&stream);
        let places = ["the first", "done at last", "the last"].map(|text| heard.find(text));
        assert!(places.is_sorted() && places[0].is_some(), "{mode}: {places:?}: {heard}");
    }
});

case!(those_who_stop_sending_and_then_hang_up_have_cancelled, {
    let server = HttpParty::start(OWN_SERVER, "json");
    let client = wait!(connected(&server));
    wait!(is_served(&client));
    let (sockets, _) = server.belongings();
    let stream = server.dial();
    send(&stream, &modern_call("never", "{}"));
    stream.shutdown(Shutdown::Write).unwrap();
    for _ in 0..2 {
        hear(&stream, ": \n");
    }
    assert_eq!(wait!(client.call_tool("counts", json!({}))).unwrap().text_content(), "1 0");
    let started = Instant::now();
    drop(stream);
    while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    eventually!("its connection is closed", server.belongings().0 == sockets);
    wait!(client.close());
});

case!(many_who_come_and_go_leave_neither_descriptors_nor_threads_behind, {
    let server = HttpParty::start(OWN_SERVER, "json");
    let client = wait!(connected(&server));
    wait!(is_served(&client));
    let (sockets, _) = server.belongings();
    let mut threads = Vec::new();
    for _ in 0..3 {
        for number in 0..200 {
            let stream = server.dial();
            // Some say something, and one in a while listens.
            match number % 3 {
                0 => {}
                1 => send(&stream, &modern_call("echo", r#"{"text":"gone"}"#)),
                _ => {
                    send(&stream, &modern_request("subscriptions/listen", None, r#""notifications":{}"#));
                    hear(&stream, "acknowledged");
                }
            }
        }
        wait!(is_served(&client));
        eventually!("their connections are closed", server.belongings().0 == sockets);
        threads.push(server.belongings().1);
    }
    assert!(threads[2] <= threads[0] + 2, "{threads:?}");
    wait!(client.close());
});

case!(requests_that_come_all_at_once_are_answered_one_after_the_other, {
    for mode in ["json", "events"] {
        let server = HttpParty::start(OWN_SERVER, mode);
        let stream = server.dial();
        let calls: Vec<_> =
            (0..20).map(|number| modern_call("echo", &format!(r#"{{"text":"number {number}!"}}"#))).collect();
        send(&stream, &calls.concat());
        stream.shutdown(Shutdown::Write).unwrap();
        let heard = hear_to_end(&stream);
        let places: Vec<_> = (0..20).map(|number| heard.find(&format!("number {number}!"))).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{mode}: {places:?}: {heard}");
    }
});

case!(what_is_no_request_is_refused_and_harms_nobody, {
    let server = HttpParty::start(OWN_SERVER, "json");
    let client = wait!(connected(&server));
    let call = modern_call("echo", r#"{"text":"hello"}"#);
    let endless = format!("GET /mcp HTTP/1.1\r\nX-Long: {}", "x".repeat(100_000));
    let many = format!("GET /mcp HTTP/1.1\r\n{}", "X-Many: of them\r\n".repeat(1000));
    for (request, status) in [
        ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "400"),
        ("GET /mcp HTTP/9.9\r\n\r\n", "505"),
        ("GET /elsewhere HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        ("PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "405"),
        (&call.replace("Host: localhost", "Host: evil.example"), "403"),
        (&call.replace("Host: localhost", "Host: localhost\r\nOrigin: http://evil.example"), "403"),
        (&call.replace("application/json\r\nAccept", "text/plain\r\nAccept"), "415"),
        (&call.replace("Content-Length: ", "Content-Length: 99999999999"), "413"),
        (&call.replace("Content-Length: ", "Transfer-Encoding: chunked\r\nContent-Length: "), "400"),
        (&endless, "431"),
        (&many, "431"),
    ] {
        let stream = server.dial();
        send(&stream, request);
        hear(&stream, &format!("HTTP/1.1 {status} "));
        wait!(is_served(&client));
    }
    wait!(client.close());
});
