//! How the client finds out what the server speaks.

use std::time::Duration;

use windlass::client::{CallOptions, Negotiation};
use windlass::model::{ListTools, PaginatedParams, ProtocolVersion};

use crate::talk::{Request, Talk, config, http, initialize_result};

/// The client falls back to `initialize` in the same words.
#[track_caller]
fn falls_back(status: u16, content_type: &str, body: &str) {
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.say(&probe, status, content_type, Some(body));
    let initialize = talk.request();
    assert_eq!(initialize.says(), "initialize", "{}", talk.transcript);
    assert_eq!(initialize.header("mcp-protocol-version"), None);
    assert_eq!(initialize.header("mcp-method"), None);
    assert!(!initialize.body.contains("_meta"));
    talk.initialized(&initialize, "2025-11-25", None);
    assert!(talk.client.peer().is_some());
    talk.close();
    talk.nothing_left();
}

#[test]
fn refusals_that_speak_for_a_legacy_server() {
    for status in [400, 404, 405, 406, 415, 422] {
        falls_back(status, "", "");
    }
    let json = "Content-Type: application/json\r\n";
    falls_back(400, json, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}"#);
    falls_back(404, json, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#);
    falls_back(200, json, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#);
    falls_back(200, json, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, initialize_result("2025-11-25")));
    falls_back(200, json, "not even JSON");
    falls_back(200, "Content-Type: text/html\r\n", "<html>");
    falls_back(202, "", "");
    falls_back(200, "Content-Type: text/event-stream\r\n", "data: \n\n");
}

#[test]
fn refusals_that_say_nothing_about_the_era() {
    for (status, says) in [
        (401, "401 Unauthorized; it wants to be given credentials"),
        (403, "403 Forbidden; the credentials do not allow this"),
        (429, "429 Too Many Requests; try again later"),
        (500, "500 Internal Server Error"),
        (502, "502 Bad Gateway"),
        (503, "503 Service Unavailable; try again later"),
        (302, "302 Found"),
    ] {
        let mut talk = Talk::new(config(), http());
        let probe = talk.request();
        talk.plain(&probe, status, "because");
        talk.tells(&format!("! closed: the handshake failed: the server answered with HTTP status {says}"));
        talk.tells(": because");
        talk.nothing_left();
    }
}

#[test]
fn refusals_that_say_nothing_about_the_transport() {
    for status in [401, 403, 429, 500] {
        let (mut talk, initialize) = Talk::at_initialize(config(), http());
        talk.plain(&initialize, status, "");
        talk.tells(&format!("! closed: the handshake failed: the server answered with HTTP status {status}"));
        talk.nothing_left();
    }
}

#[test]
fn no_connection_says_nothing_either() {
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.breaks(probe.conn, "reset by peer");
    talk.tells("! closed: the connection broke: reset by peer");
    talk.nothing_left();
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.cut(&probe);
    talk.tells("! closed: the connection broke: the connection ended without an answer");
    talk.nothing_left();
}

#[test]
fn an_answer_that_breaks_off_says_nothing_either() {
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.stream(&probe);
    talk.lines(&probe, ": soon\nid: 1\ndata: \n\n");
    talk.breaks(probe.conn, "reset by peer");
    talk.tells("! closed: the connection broke: reset by peer");
    talk.nothing_left();
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.raw(probe.conn, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    talk.cut(&probe);
    talk.tells("! closed: the connection broke: the connection ended inside a message");
    talk.nothing_left();
    // A server that has no more to say has said enough.
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.stream(&probe);
    talk.lines(&probe, ": nothing\n\n");
    talk.end(&probe);
    assert_eq!(talk.request().says(), "initialize");
    talk.close_down();
}

#[test]
fn silence_says_nothing_either() {
    let mut talk = Talk::new(config(), http());
    talk.request();
    talk.pass(Duration::from_secs(29));
    assert!(!talk.transcript.contains("closed"));
    talk.pass(Duration::from_secs(1));
    talk.tells("! closed: the server did not answer the handshake within 30s");
    talk.nothing_left();
}

#[test]
fn a_modern_refusal_is_modern() {
    // The same version again is a legitimate proposal.
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.json(&probe, 400, &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32022,"message":"no","data":{{"supported":["2026-07-28"],"requested":"2026-07-28"}}}}}}"#, probe.id()));
    let again = talk.request();
    assert_eq!((again.says().as_str(), again.id()), ("server/discover", 2));
    talk.json(&again, 200, &again.result(crate::talk::DISCOVERED));
    talk.tells("! ready: 2026-07-28");
    talk.close_down();
    // Another modern refusal is no reason to try the legacy era.
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.json(&probe, 400, &probe.error(-32021, "sampling is needed"));
    talk.tells("! closed: the server refused the handshake: sampling is needed (code -32021)");
    talk.nothing_left();
}

#[test]
fn pinned_to_the_modern_era() {
    let mut config = config();
    config.negotiation = Negotiation::Pinned(ProtocolVersion::V2026_07_28);
    let mut talk = Talk::new(config, http());
    let probe = talk.request();
    talk.plain(&probe, 405, "");
    talk.tells("! closed: the server does not speak the modern protocol that this client is pinned to");
    talk.nothing_left();
}

#[test]
fn a_cached_verdict_that_is_wrong() {
    let mut config = config();
    config.negotiation = Negotiation::Cached(windlass::model::Era::Legacy);
    let mut talk = Talk::new(config, http());
    let initialize = talk.request();
    assert_eq!(initialize.says(), "initialize");
    talk.json(&initialize, 400, &initialize.error(-32020, "MCP-Protocol-Version is missing"));
    let probe = talk.request();
    assert_eq!(probe.says(), "server/discover");
    talk.json(&probe, 200, &probe.result(crate::talk::DISCOVERED));
    talk.tells("! ready: 2026-07-28");
    talk.close_down();
}

#[test]
fn the_oldest_transport_is_spoken_with_its_messages_on_one_stream() {
    let (mut talk, get) = Talk::at_the_oldest(config());
    talk.stream(&get);
    talk.lines(&get, "event: endpoint\ndata: /messages?sessionId=1\n\n");
    let initialize = talk.request();
    assert_eq!((initialize.head.target.as_str(), initialize.says().as_str()), ("/messages?sessionId=1", "initialize"));
    talk.plain(&initialize, 202, "Accepted");
    talk.lines(&get, &format!("event: message\ndata: {}\n\n", initialize.result(&initialize_result("2024-11-05"))));
    let announcement = talk.announcement();
    talk.plain(&announcement, 202, "Accepted");
    let (first, _) = talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    assert_eq!(list.header("mcp-protocol-version"), None, "2024-11-05 has no such header");
    // The answer may be faster than the word that the request arrived.
    talk.event(&get, &list.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(first).is_ok());
    talk.plain(&list, 202, "Accepted");
    let (refused, _) = talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    talk.plain(&list, 500, "oh dear");
    assert!(talk.failed(refused).contains("500 Internal Server Error: oh dear"));
    talk.event(&get, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    let pong = talk.request();
    assert_eq!(pong.body, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    talk.plain(&pong, 202, "");
    assert!(talk.client.is_idle());
    talk.close_and_expect("oldest_transport");
}

#[test]
fn the_oldest_transport_ends_with_its_stream() {
    let (mut talk, get) = Talk::at_the_oldest(config());
    talk.stream(&get);
    talk.begins_at_the_oldest(&get, "http://server:3000/messages");
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    talk.plain(&list, 202, "");
    talk.cut(&get);
    assert_eq!(talk.failed(number), "the peer closed the connection");
    talk.nothing_left();
}

#[test]
fn cancelling_on_the_oldest_transport_closes_the_request_too() {
    let (mut talk, get) = Talk::at_the_oldest(config());
    talk.stream(&get);
    talk.begins_at_the_oldest(&get, "http://server:3000/messages");
    let (cancelled, call) = talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    talk.client.cancel(call, "never mind", talk.now);
    talk.run();
    let notice = talk.request();
    assert!(!talk.is_open(list.conn), "nobody waits for its response");
    assert_eq!(notice.says(), "notifications/cancelled");
    talk.plain(&notice, 202, "");
    assert_eq!(talk.failed(cancelled), "the call was cancelled");
    assert!(talk.client.is_idle());
}

#[test]
fn an_endpoint_elsewhere_is_not_used() {
    for endpoint in ["http://elsewhere/messages", "https://server:3000/messages", "file:///x", "//elsewhere/x"] {
        let (mut talk, get) = Talk::at_the_oldest(config());
        talk.stream(&get);
        talk.lines(&get, &format!("event: endpoint\ndata: {endpoint}\n\n"));
        talk.tells("the server names an endpoint of another origin, or none");
        talk.nothing_left();
    }
}

#[test]
fn no_transport_at_all() {
    for status in [404, 405] {
        let (mut talk, get) = Talk::at_the_oldest(config());
        talk.plain(&get, status, "");
        talk.tells("! closed: the handshake failed: the server answered with HTTP status 405 Method Not Allowed");
        talk.nothing_left();
    }
    // A stream on which nothing comes.
    let (mut talk, get) = Talk::at_the_oldest(config());
    talk.stream(&get);
    talk.pass(Duration::from_secs(10));
    talk.tells("! closed: the handshake failed");
    talk.nothing_left();
    // An HTML page is not one.
    let (mut talk, get) = Talk::at_the_oldest(config());
    talk.say(&get, 200, "Content-Type: text/html\r\n", Some("<html>"));
    talk.tells("! closed: the handshake failed");
    talk.nothing_left();
}

#[test]
fn a_server_that_refuses_initialize_in_words() {
    let (mut talk, initialize) = Talk::at_initialize(config(), http());
    talk.json(&initialize, 400, &initialize.error(-32600, "no more sessions"));
    let get = talk.request();
    talk.plain(&get, 405, "");
    talk.tells("! closed: the server refused the handshake: no more sessions (code -32600)");
    talk.nothing_left();
}

/// A client of the oldest transport that is ready, and its stream.
fn at_the_oldest() -> (Talk, Request) {
    let (mut talk, get) = Talk::at_the_oldest(config());
    talk.stream(&get);
    talk.begins_at_the_oldest(&get, "/messages");
    (talk, get)
}

#[test]
fn a_request_of_the_oldest_transport_that_was_taken_waits_for_its_answer_on_the_stream() {
    let (mut talk, get) = at_the_oldest();
    let options = CallOptions::new().idle_timeout(Duration::from_secs(300));
    let (number, _) = talk.call_with::<ListTools>(&PaginatedParams::new(), &options);
    let list = talk.request();
    // The server has taken it, and does not come to the end of saying so.
    talk.raw(list.conn, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nAcce");
    talk.pass(Duration::from_secs(29));
    assert!(talk.is_open(list.conn));
    talk.pass(Duration::from_secs(1));
    assert!(!talk.is_open(list.conn), "nobody waits for the rest:\n{}", talk.transcript);
    assert!(!talk.outcomes.contains_key(&number), "the call is none the worse:\n{}", talk.transcript);
    talk.event(&get, &list.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();

    // One that the server never said it has taken has failed by then.
    let (mut talk, _get) = at_the_oldest();
    let (number, _) = talk.call_with::<ListTools>(&PaginatedParams::new(), &options);
    let list = talk.request();
    talk.pass(Duration::from_secs(30));
    assert!(talk.failed(number).contains("did not answer within 30s"), "{}", talk.failed(number));
    assert!(!talk.is_open(list.conn));
    talk.close_down();
}

#[test]
fn a_handshake_whose_time_is_up_while_the_oldest_transport_is_tried_is_over() {
    let mut config = config();
    config.handshake_timeout = Duration::from_secs(5);
    // Whether or not the stream has begun.
    for begins in [false, true] {
        let (mut talk, get) = Talk::at_the_oldest(config.clone());
        if begins {
            talk.stream(&get);
        }
        talk.pass(Duration::from_secs(5) - Duration::from_micros(1));
        assert!(talk.is_open(get.conn) && !talk.transcript.contains("closed"), "{}", talk.transcript);
        talk.pass(Duration::from_micros(1));
        talk.tells("! closed: the server did not answer the handshake within 5s");
        assert!(!talk.is_open(get.conn));
        talk.nothing_left();
    }
}
