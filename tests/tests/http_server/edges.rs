//! Limits at the edge, and who is told what.

use std::time::Duration;

use windlass::Machine;
use windlass::model::{LoggingLevel, LoggingMessageParams};

use crate::guest::{House, META, body, get, header, ids, initialize, messages, modern, post, session, status};

const SECOND: Duration = Duration::from_secs(1);
const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

fn slow(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"slow","arguments":{{}}}}}}"#)
}

#[test]
fn a_message_may_be_as_long_as_the_limit_and_no_longer() {
    let mut house = House::with_both(|config, _| config.limits.message_bytes = 1000);
    let (headers, request) = modern(1, "tools/list", "");
    let padded = |length: usize| format!("{request}{}", " ".repeat(length - request.len()));
    for (length, expected) in [(999, 200), (1000, 200), (1001, 413)] {
        assert_eq!(status(&house.post(&headers, &padded(length))), expected, "{length}");
        // In chunks, which do not say beforehand how long it will be.
        let text = padded(length);
        let (one, two) = text.split_at(600);
        let head = post(&headers, "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
        let chunked = format!("{head}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
        let conn = house.connect();
        house.write(conn, chunked.as_bytes());
        assert_eq!(status(&house.read(conn)), expected, "{length} in chunks");
    }
}

#[test]
fn sessions_go_up_to_their_limit() {
    let mut house = House::with(|config| config.sessions = 2);
    let ids = [house.initialize("2025-11-25"), house.initialize("2025-06-18")];
    for id in &ids {
        let slow = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}"#;
        house.post(&session(id), slow);
    }
    let answer = house.post("", &initialize("2025-11-25"));
    assert!(status(&answer) == 503 && body(&answer).contains("too many sessions"), "{answer}");
    assert_eq!(header(&answer, "Mcp-Session-Id"), None);
    let conn = house.connect();
    house.write(conn, format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}\r\n", session(&ids[0])).as_bytes());
    assert_eq!(status(&house.read(conn)), 204);
    house.initialize("2025-11-25");
    assert_eq!(house.server.sessions(), 2);
}

#[test]
fn a_handshake_that_fails_leaves_no_session() {
    let mut house = House::new();
    let answer = house.post("", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
    assert!(body(&answer).contains("-32602"), "{answer}");
    assert_eq!(house.server.sessions(), 0);
    assert!(house.server.is_idle());
}

#[test]
fn requests_of_a_session_beyond_the_limit_are_refused() {
    let mut house = House::with_both(|config, _| config.limits.incoming_requests = 2);
    let id = house.initialize("2025-11-25");
    for number in [2, 3] {
        let conn = house.connect();
        house.write(conn, post(&session(&id), &slow(number)).as_bytes());
        assert_eq!(house.read(conn), "");
    }
    let refused = house.post(&session(&id), &slow(4));
    assert!(status(&refused) == 503 && body(&refused).contains(r#""id":4,"error":{"code":-32603"#), "{refused}");
    let twice = house.post(&session(&id), &slow(3));
    assert!(body(&twice).contains(r#""id":3,"error":{"code":-32600"#), "{twice}");
    assert_eq!(status(&twice), 400);
    house.answer_slow();
    assert_eq!(status(&house.post(&session(&id), PING)), 200, "there is room again");
    assert_eq!(house.slow.len(), 1);
}

#[test]
fn a_client_for_which_too_much_waits_is_left() {
    for (most, is_kept) in [(200_000, true), (20_000, false)] {
        let mut house = House::with(|config| config.write_bytes = most);
        let id = house.initialize("2025-11-25");
        let conn = house.connect();
        house.write(conn, get(&id, "").as_bytes());
        house.read(conn);
        house.reads = false;
        let message = LoggingMessageParams::text(LoggingLevel::Error, "x".repeat(1000));
        for _ in 0..100 {
            house.server.log(None, &message);
            house.settle();
        }
        assert_eq!(house.is_open(conn), is_kept, "{most}");
        let waiting = house.server.write_buf(conn).len();
        assert_eq!(waiting > 100_000, is_kept, "{waiting}");
        // Whoever was left comes back for what is kept.
        house.reads = true;
        let conn = house.connect();
        house.write(conn, get(&id, "Last-Event-ID: nonsense\r\n").as_bytes());
        assert_eq!(status(&house.read(conn)), 400);
    }
}

#[test]
fn log_messages_go_to_whom_they_belong() {
    let mut house = House::new();
    let (one, two) = (house.initialize("2025-11-25"), house.initialize("2025-11-25"));
    let mut listeners = Vec::new();
    for id in [&one, &two] {
        let conn = house.connect();
        house.write(conn, get(id, "").as_bytes());
        house.read(conn);
        listeners.push(conn);
    }
    let call = house.connect();
    house.write(call, post(&session(&one), &slow(5)).as_bytes());
    let (headers, request) = modern(6, "tools/call", r#""name":"slow","arguments":{}"#);
    let quiet = house.connect();
    house.write(quiet, post(&headers, &request).as_bytes());
    let loud = house.connect();
    let level = META.replacen('{', r#"{"io.modelcontextprotocol/logLevel":"warning","#, 1);
    house.write(loud, post(&headers, &request.replace(META, &level)).as_bytes());
    let keys: Vec<_> = house.slow.iter().map(windlass::server::ReplyTo::key).collect();
    let say = |house: &mut House, key, level, text: &str| {
        house.server.log(key, &LoggingMessageParams::text(level, text));
        house.settle();
    };
    say(&mut house, Some(keys[0]), LoggingLevel::Info, "of the call");
    say(&mut house, Some(keys[0]), LoggingLevel::Debug, "a detail");
    say(&mut house, None, LoggingLevel::Error, "for everybody");
    for key in [keys[1], keys[2]] {
        say(&mut house, Some(key), LoggingLevel::Error, "trouble");
        say(&mut house, Some(key), LoggingLevel::Warning, "a warning");
        say(&mut house, Some(key), LoggingLevel::Info, "no news");
    }
    let called = house.read(call);
    assert!(messages(&called).len() == 1 && called.contains("of the call"), "{called}");
    for conn in listeners {
        let told = house.read(conn);
        assert!(messages(&told).len() == 1 && told.contains("for everybody"), "{told}");
    }
    assert_eq!(house.read(quiet), "", "it did not ask for any");
    let heard = house.read(loud);
    assert_eq!(messages(&heard).len(), 2, "{heard}");
}

#[test]
fn updates_of_resources_go_to_who_subscribed() {
    let mut house = House::new();
    let ids = [house.initialize("2025-11-25"), house.initialize("2025-11-25")];
    let subscribe = r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://one"}}"#;
    assert_eq!(status(&house.post(&session(&ids[0]), subscribe)), 200);
    let legacy = ids.map(|id| {
        let conn = house.connect();
        house.write(conn, get(&id, "").as_bytes());
        house.read(conn);
        conn
    });
    let mut modern_listener = |filter: &str| {
        let (headers, request) = modern(3, "subscriptions/listen", &format!(r#""notifications":{filter}"#));
        let conn = house.connect();
        house.write(conn, post(&headers, &request).as_bytes());
        house.read(conn);
        conn
    };
    let (listening, other) = (
        modern_listener(r#"{"resourceSubscriptions":["test://one"]}"#),
        modern_listener(r#"{"toolsListChanged":true}"#),
    );
    house.server.resource_updated("test://one");
    house.server.resource_updated("test://two");
    house.settle();
    let told = [legacy[0], legacy[1], listening, other].map(|conn| messages(&house.read(conn)).len());
    assert_eq!(told, [1, 0, 1, 0]);
}

#[test]
fn a_server_that_is_told_twice_to_close_does_not_wait_twice() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, post(&session(&id), &slow(2)).as_bytes());
    house.server.close(house.now);
    house.settle();
    house.wait(4 * SECOND);
    assert!(!house.closed && house.is_open(conn), "the handler may still answer");
    house.server.close(house.now);
    house.settle();
    house.wait(SECOND);
    assert!(house.closed && !house.is_open(conn));
    let last = house.read(conn);
    assert!(messages(&last).is_empty() && last.ends_with("0\r\n\r\n"), "{last}");
    assert_eq!(house.cancelled.len(), 1);
    assert_eq!(house.server.sessions(), 0);
    assert!(house.server.is_over());
}

#[test]
fn a_request_that_comes_while_the_server_closes_is_refused() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let busy = house.connect();
    house.write(busy, post(&headers, &request).as_bytes());
    let halting = house.connect();
    let request = post(&headers, &request);
    house.write(halting, &request.as_bytes()[..request.len() - 1]);
    let idle = house.connect();
    house.server.close(house.now);
    house.settle();
    assert!(!house.is_open(idle), "it has nothing to wait for");
    house.write(halting, &request.as_bytes()[request.len() - 1..]);
    let answer = house.read(halting);
    assert!(status(&answer) == 503 && body(&answer).contains("shutting down"), "{answer}");
    assert!(!house.is_open(halting) && house.slow.len() == 1);
    house.answer_slow();
    assert!(house.read(busy).contains("done") && house.closed);
}

#[test]
fn a_stream_that_is_let_go_can_be_resumed_and_others_cannot() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    house.server.interrupt(house.slow[0].key());
    house.settle();
    assert_eq!(house.read(conn), "", "a modern client could not come back");
    house.answer_slow();
    assert!(house.read(conn).contains("done"));
    // Twice in a row, and when the client is away anyway.
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, post(&session(&id), &slow(2)).as_bytes());
    let key = house.slow[0].key();
    for _ in 0..2 {
        house.server.interrupt(key);
        house.settle();
    }
    let begun = house.read(conn);
    assert_eq!(begun.matches("0\r\n\r\n").count(), 1, "{begun}");
    assert!(house.is_open(conn));
    house.answer_slow();
    house.server.interrupt(key);
    house.settle();
    let conn = house.connect();
    house.write(conn, get(&id, &format!("Last-Event-ID: {}\r\n", ids(&begun)[0])).as_bytes());
    assert_eq!(messages(&house.read(conn)).len(), 1);
}

#[test]
fn an_answer_that_nobody_waits_for_is_dropped() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, post(&session(&id), &slow(2)).as_bytes());
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}\r\n", session(&id));
    let other = house.connect();
    house.write(other, delete.as_bytes());
    house.read(conn);
    let key = house.slow[0].key();
    house.server.progress(key, 1.0, None, None);
    house.server.log(Some(key), &LoggingMessageParams::text(LoggingLevel::Error, "too late"));
    house.server.interrupt(key);
    house.answer_slow();
    assert_eq!(house.read(conn), "");
    assert!(house.server.is_idle() && house.is_open(conn));
}

#[test]
fn notifications_of_clients_reach_the_program_and_answers_to_nothing_do_not() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    for message in [
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
    ] {
        let answer = house.post(&session(&id), message);
        assert!(status(&answer) == 202 && body(&answer).is_empty(), "{answer}");
        assert_eq!(header(&answer, "Content-Length").as_deref(), Some("0"));
    }
    assert_eq!(house.told, [r#"notifications/roots/list_changed"#]);
    let (headers, _) = modern(1, "notifications/x", "");
    let answer =
        house.post(&headers, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{{META}}}}}"#));
    assert_eq!(status(&answer), 202, "{answer}");
    assert_eq!(house.told[1..], ["notifications/x"]);
    assert!(house.server.is_idle());
}
