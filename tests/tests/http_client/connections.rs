//! Connections: kept, used again, given up.

use std::time::Duration;

use windlass::client::CallOptions;
use windlass::model::{CallTool, CallToolParams, ClientCapabilities, EmptyParams, ListRootsResult, RootsListChanged};
use windlass::{Json, Machine};

use crate::talk::{Request, Talk, config, http, without_listener};

fn call(talk: &mut Talk) -> (u32, Request) {
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    (number, talk.request())
}

const EMPTY: &str = r#"{"content":[]}"#;

#[test]
fn a_kept_connection_that_the_server_closes_meanwhile() {
    let mut talk = Talk::modern();
    // Between calls: it is simply dropped.
    let (_, request) = call(&mut talk);
    talk.json(&request, 200, &request.result(EMPTY));
    talk.cut(&request);
    talk.tells("x 1");
    // Just when it is used again: the request is made once more, on a fresh one.
    let (_, request) = call(&mut talk);
    assert_eq!(request.conn, 2);
    talk.json(&request, 200, &request.result(EMPTY));
    let (number, request) = call(&mut talk);
    assert_eq!(request.conn, 2);
    talk.cut(&request);
    let again = talk.request();
    assert_eq!((again.conn, again.id()), (3, request.id()));
    // But only once.
    talk.cut(&again);
    assert!(talk.failed(number).contains("ended without an answer"));
    talk.close_down();
}

#[test]
fn a_request_that_the_server_worked_on_is_not_made_again() {
    for (worked, again) in [(999, true), (1000, false), (20_000, false)] {
        let mut talk = Talk::modern();
        let (number, request) = call(&mut talk);
        assert_eq!(request.conn, 1);
        talk.pass(Duration::from_millis(worked));
        talk.breaks(request.conn, "reset");
        if again {
            let request = talk.request();
            assert_eq!(request.conn, 2);
            talk.json(&request, 200, &request.result(EMPTY));
            assert!(talk.outcome(number).is_ok());
        } else {
            assert!(talk.failed(number).contains("reset"));
            talk.no_request();
        }
        talk.close_down();
    }
}

#[test]
fn the_time_of_a_request_begins_when_it_is_sent() {
    let mut http = http();
    http.connections = 1;
    let mut talk = Talk::modern_with(config(), http);
    let (_, first) = call(&mut talk);
    let (second, _) = talk.call::<CallTool>(&CallToolParams::new("second"));
    talk.pass(Duration::from_secs(5));
    talk.json(&first, 200, &first.result(EMPTY));
    let request = talk.request();
    assert_eq!(request.conn, first.conn);
    talk.breaks(request.conn, "reset");
    let request = talk.request();
    talk.json(&request, 200, &request.result(EMPTY));
    assert!(talk.outcome(second).is_ok());
    talk.close_down();
}

#[test]
fn a_request_is_not_made_again_when_an_answer_had_begun() {
    let mut talk = Talk::modern();
    let (number, request) = call(&mut talk);
    assert_eq!(request.conn, 1);
    talk.raw(request.conn, b"HTTP/1.1 20");
    talk.cut(&request);
    assert!(talk.failed(number).contains("ended inside a message"));
    talk.no_request();
    talk.close_down();
}

#[test]
fn connections_that_the_server_does_not_keep() {
    let mut talk = Talk::modern();
    let (_, request) = call(&mut talk);
    talk.say(&request, 200, "Content-Type: application/json\r\nConnection: close\r\n", Some(&request.result(EMPTY)));
    talk.tells("x 1");
    let (number, request) = call(&mut talk);
    // A body that ends with the connection.
    let body = format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}", request.result(EMPTY));
    talk.raw(request.conn, body.as_bytes());
    assert!(talk.outcomes.len() == 1);
    talk.cut(&request);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn an_answer_before_the_request_was_read() {
    let mut talk = Talk::modern();
    talk.deaf = true;
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    talk.raw(1, b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n");
    assert!(talk.failed(number).contains("413"));
    // What is left of the request would be taken for the next one.
    talk.tells("x 1");
    talk.deaf = false;
    talk.close_down();
}

#[test]
fn idle_connections_are_closed_in_time_and_few_are_kept() {
    let mut http = http();
    http.idle_connections = 2;
    let mut talk = Talk::modern_with(config(), http);
    let calls: Vec<_> = (0..4).map(|_| call(&mut talk)).collect();
    for (_, request) in &calls {
        talk.json(request, 200, &request.result(EMPTY));
    }
    assert_eq!(talk.transcript.matches("\nx ").count(), 2);
    talk.pass(Duration::from_secs(30));
    assert_eq!(talk.transcript.matches("\nx ").count(), 4);
    assert_eq!(talk.deadline, None);
    talk.close_down();
}

#[test]
fn beyond_the_limit_calls_wait_for_their_turn() {
    let mut http = http();
    http.connections = 2;
    let mut talk = Talk::modern_with(config(), http);
    let (first, one) = call(&mut talk);
    let (_, two) = call(&mut talk);
    let (third, _) = talk.call::<CallTool>(&CallToolParams::new("third"));
    let (fourth, id) = talk.call::<CallTool>(&CallToolParams::new("fourth"));
    let (fifth, _) = talk.call::<CallTool>(&CallToolParams::new("fifth"));
    talk.no_request();
    talk.client.cancel(id, "", talk.now);
    talk.run();
    assert!(talk.outcome(fourth).is_err());
    talk.json(&one, 200, &one.result(EMPTY));
    assert!(talk.outcome(first).is_ok());
    let three = talk.request();
    assert_eq!((three.conn, three.header("mcp-name")), (one.conn, Some("third")));
    talk.breaks(two.conn, "reset");
    let five = talk.request();
    assert_eq!(five.header("mcp-name"), Some("fifth"));
    talk.json(&three, 200, &three.result(EMPTY));
    talk.json(&five, 200, &five.result(EMPTY));
    assert!(talk.outcome(third).is_ok() && talk.outcome(fifth).is_ok());
    // One that waits too long has waited.
    let _busy = (call(&mut talk), call(&mut talk));
    let (waiting, _) = talk.call::<CallTool>(&CallToolParams::new("waiting"));
    talk.pass(Duration::from_secs(30));
    assert!(talk.failed(waiting).contains("did not answer within 30s"));
    talk.close_down();
}

#[test]
fn answers_do_not_wait_for_calls_that_wait_for_them() {
    let mut http = http();
    http.connections = 1;
    http.listen = false;
    let mut talk = Talk::legacy_with(config(), http, "2025-11-25", None);
    let (number, request) = call(&mut talk);
    talk.stream(&request);
    talk.event(&request, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    let pong = talk.request();
    assert_ne!(pong.conn, request.conn);
    talk.plain(&pong, 202, "");
    talk.event(&request, &request.result(EMPTY));
    talk.end(&request);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn what_nobody_asked_for_ends_a_connection_and_nothing_else() {
    let mut talk = Talk::modern();
    talk.raw(1, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    talk.tells("x 1");
    let (number, request) = call(&mut talk);
    // Two answers to one request: the second may be a forgery, so the connection is not used again.
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        request.result(EMPTY).len(),
        request.result(EMPTY)
    );
    talk.raw(request.conn, answer.repeat(2).as_bytes());
    assert!(talk.outcome(number).is_ok());
    talk.tells("x 2");
    talk.close_down();
}

#[test]
fn a_client_initializes_again_while_calls_hold_all_connections() {
    let mut http = without_listener();
    http.connections = 1;
    let mut talk = Talk::legacy_with(config(), http, "2025-11-25", Some("s1"));
    let (number, held) = call(&mut talk);
    talk.client.notify::<RootsListChanged>(&EmptyParams::new(), talk.now).unwrap();
    talk.run();
    let told = talk.request();
    talk.say(&told, 404, "Connection: close\r\n", Some(""));
    talk.begins("2025-11-25", Some("s2"));
    talk.json(&held, 200, &held.result(EMPTY));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn answers_that_calls_wait_for_do_not_wait_for_calls() {
    let mut config = config();
    config.capabilities = ClientCapabilities::new().with_roots(true);
    let mut http = without_listener();
    http.connections = 1;
    let mut talk = Talk::legacy_with(config, http, "2025-11-25", Some("s1"));
    let numbers: Vec<_> = (0..20).map(|_| talk.call::<CallTool>(&CallToolParams::new("nosy")).0).collect();
    for (asked, number) in numbers.into_iter().enumerate() {
        assert_eq!(talk.requests_left(), 1, "one call at a time:\n{}", talk.transcript);
        let call = talk.request();
        talk.stream(&call);
        for id in [2 * asked, 2 * asked + 1] {
            talk.event(&call, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#));
            let reply = talk.inputs.remove(0);
            talk.client.respond(reply, Ok(ListRootsResult::new([]).into()), talk.now);
            talk.run();
            let answer = talk.request();
            assert!(answer.body.contains("roots"), "the answer is next: {}", answer.body);
            talk.plain(&answer, 202, "");
        }
        talk.event(&call, &call.result(EMPTY));
        talk.end(&call);
        assert!(talk.outcome(number).is_ok());
    }
    talk.close_down();
}

#[test]
fn answers_do_not_wait_for_calls_that_are_more_than_may_wait() {
    let mut config = config();
    config.limits.outbox_soft_bytes = 2000;
    let mut http = without_listener();
    http.connections = 1;
    let mut talk = Talk::legacy_with(config, http, "2025-11-25", Some("s1"));
    let long = Json::of(&serde_json::json!({ "x": "y".repeat(800) })).unwrap();
    let params = CallToolParams::new("long").with_arguments(long);
    let (number, held) = call(&mut talk);
    let waiting: Vec<_> = std::iter::from_fn(|| talk.try_call::<CallTool>(&params, &CallOptions::new()).ok()).collect();
    assert_eq!(waiting.len(), 3, "what waits is within the limit but for the last");
    talk.stream(&held);
    talk.event(&held, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    let pong = talk.request();
    assert!(pong.body.contains(r#""id":"p""#), "the answer is next: {}", pong.body);
    talk.plain(&pong, 202, "");
    talk.event(&held, &held.result(EMPTY));
    talk.end(&held);
    assert!(talk.outcome(number).is_ok());
    for (number, _) in waiting {
        let request = talk.request();
        talk.json(&request, 200, &request.result(EMPTY));
        assert!(talk.outcome(number).is_ok());
    }
    // There is room again.
    let (number, _) = talk.try_call::<CallTool>(&params, &CallOptions::new()).unwrap();
    let request = talk.request();
    talk.json(&request, 200, &request.result(EMPTY));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn there_need_be_no_limit() {
    let mut http = http();
    http.connections = usize::MAX;
    let mut talk = Talk::modern_with(config(), http);
    let calls: Vec<_> = (0..100).map(|_| call(&mut talk)).collect();
    for (number, request) in calls {
        talk.json(&request, 200, &request.result(EMPTY));
        assert!(talk.outcome(number).is_ok());
    }
    talk.close_down();
}

#[test]
fn what_was_asked_before_the_server_was_restarted_is_not_answered() {
    let mut config = config();
    config.capabilities = ClientCapabilities::new().with_roots(true);
    let mut talk = Talk::legacy_with(config, without_listener(), "2025-11-25", Some("s1"));
    let (number, held) = call(&mut talk);
    talk.stream(&held);
    talk.client.notify::<RootsListChanged>(&EmptyParams::new(), talk.now).unwrap();
    talk.run();
    let told = talk.request();
    talk.plain(&told, 404, "");
    let initialize = talk.request();
    let asks = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    talk.event(&held, asks);
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    talk.announced();
    talk.event(&held, asks);
    assert!(talk.inputs.is_empty());
    talk.no_request();
    talk.event(&held, &held.result(EMPTY));
    talk.end(&held);
    assert!(talk.outcome(number).is_ok());
    // What it asks now is another matter.
    let (_, next) = call(&mut talk);
    talk.stream(&next);
    talk.event(&next, asks);
    assert_eq!(talk.inputs.len(), 1);
    talk.close_down();
}

#[test]
fn a_client_is_not_done_while_a_connection_is_open() {
    let mut talk = Talk::modern();
    let (_, request) = call(&mut talk);
    talk.json(&request, 200, &request.result(EMPTY));
    assert!(talk.client.is_idle() && !talk.client.is_over(), "a connection that is kept for later does not count");
    talk.client.close(talk.now);
    assert!(!talk.client.is_idle() && !talk.client.is_over(), "it is still to be closed");
    talk.run();
    assert!(talk.client.is_idle() && talk.client.is_over());
    talk.nothing_left();
}
