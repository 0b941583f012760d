//! One call without a handshake.

use std::time::Duration;

use windlass::client::{CallOptions, ClientEvent};
use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClientConfig, HttpOneShot};
use windlass::model::{ClientCapabilities, ListRootsResult, ProtocolVersion};
use windlass::{ConnError, ConnErrorKind, ConnId, Instant, JsonText, Machine, Output};

use crate::talk::{config, http};

fn shot(version: ProtocolVersion) -> (HttpOneShot<u8>, ConnId, String) {
    let params = JsonText::parse(r#"{"name":"now"}"#).unwrap();
    let options = CallOptions::new();
    let call = ("tools/call", &params, &options);
    let mut shot = HttpOneShot::new(config(), http(), version, call, 7, Instant::ZERO).unwrap();
    let Output::Open { conn, .. } = shot.poll() else { panic!("a connection comes first") };
    let sent = String::from_utf8(shot.write_buf(conn).to_vec()).unwrap();
    shot.write_done(conn, sent.len(), Instant::ZERO);
    (shot, conn, sent)
}

fn read(shot: &mut HttpOneShot<u8>, conn: ConnId, bytes: &str) {
    shot.read_buf(conn)[..bytes.len()].copy_from_slice(bytes.as_bytes());
    shot.read_done(conn, bytes.len(), Instant::ZERO);
}

/// Everything that is said until there is nothing more to say.
fn said(shot: &mut HttpOneShot<u8>) -> Vec<String> {
    let mut said = Vec::new();
    loop {
        said.push(match shot.poll() {
            Output::Idle { .. } => return said,
            Output::Event(ClientEvent::Completed { token, outcome, .. }) => format!("{token}: {outcome:?}"),
            Output::Event(ClientEvent::Closed(_)) => "closed".into(),
            Output::Close(_) => "x".into(),
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn an_answer_in_json() {
    let (mut shot, conn, sent) = shot(ProtocolVersion::LATEST);
    assert!(sent.contains("Mcp-Method: tools/call\r\nMcp-Name: now\r\n"), "{sent}");
    assert!(sent.contains("io.modelcontextprotocol/protocolVersion"));
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    read(
        &mut shot,
        conn,
        &format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
    );
    assert_eq!(said(&mut shot), [r#"7: Ok({"content":[]})"#, "x", "closed"]);
    assert!(shot.is_idle());
}

#[test]
fn an_answer_in_a_stream_that_does_not_end() {
    let (mut shot, conn, sent) = shot(ProtocolVersion::V2025_11_25);
    assert!(sent.contains("MCP-Protocol-Version: 2025-11-25\r\n") && !sent.contains("Mcp-Method"), "{sent}");
    read(&mut shot, conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    read(&mut shot, conn, "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n");
    assert!(said(&mut shot).is_empty());
    read(&mut shot, conn, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n");
    assert_eq!(said(&mut shot), [r#"7: Ok({"content":[]})"#, "x", "closed"]);
    assert!(shot.is_idle());
}

#[test]
fn a_call_that_is_refused_fails_and_closes() {
    let (mut shot, conn, _) = shot(ProtocolVersion::LATEST);
    read(&mut shot, conn, "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n");
    let said = said(&mut shot);
    assert!(said[0].contains("Http(HttpFailure { status: 503"), "{said:?}");
    assert_eq!(said[1..], ["x", "closed"]);
    assert!(shot.is_idle());
}

/// As a driver that is told what to do drives it: what is to be written, on the connections that it is told of.
fn written(shot: &mut HttpOneShot<u8>) -> String {
    let mut sent = String::new();
    while let Some(conn) = shot.next_to_move() {
        let bytes = shot.write_buf(conn).to_vec();
        shot.write_done(conn, bytes.len(), Instant::ZERO);
        sent += &String::from_utf8(bytes).unwrap();
    }
    sent
}

/// A call that can be asked back, as far as its connection.
fn asked_back(change: impl FnOnce(&mut HttpClientConfig)) -> (HttpOneShot<u8>, ConnId) {
    let mut config = config();
    config.capabilities = ClientCapabilities::new().with_roots(false);
    let mut http = http();
    change(&mut http);
    let params = JsonText::parse(r#"{"name":"now"}"#).unwrap();
    let call = ("tools/call", &params, &CallOptions::new());
    let mut shot = HttpOneShot::new(config, http, ProtocolVersion::LATEST, call, 7, Instant::ZERO).unwrap();
    let Output::Open { conn, .. } = shot.poll() else { panic!("a connection comes first") };
    assert!(written(&mut shot).contains("tools/call"), "the driver is told of what waits");
    (shot, conn)
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_call_that_is_asked_back() {
    let (mut shot, conn) = asked_back(|_| ());
    assert!(shot.reads(conn) && !shot.is_over());
    let needs = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}"#;
    read(&mut shot, conn, &answer("200 OK", needs));
    let Output::Event(ClientEvent::Input { reply, .. }) = shot.poll() else { panic!("it is asked") };
    shot.respond(reply, Ok(ListRootsResult::new([]).into()), Instant::ZERO);
    assert!(said(&mut shot).is_empty());
    let again = written(&mut shot);
    assert!(again.contains(r#""inputResponses":{"r":{"roots":[]}}"#), "{again}");
    read(&mut shot, conn, &answer("200 OK", r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#));
    assert_eq!(said(&mut shot), [r#"7: Ok({"content":[]})"#, "x", "closed"]);
    assert!(shot.is_idle() && shot.is_over() && !shot.reads(conn));
}

#[test]
fn a_call_that_needs_credentials() {
    let (mut shot, conn) = asked_back(|http| http.answers_challenges = true);
    read(&mut shot, conn, &answer("401 X\r\nWWW-Authenticate: Bearer", "who?"));
    let Output::Event(ClientEvent::Challenged { reply, .. }) = shot.poll() else { panic!("it is challenged") };
    let headers = Headers::from([("Authorization", "Bearer 1")]);
    shot.answer_challenge(reply, Some(&headers), Instant::ZERO).unwrap();
    assert!(said(&mut shot).is_empty());
    assert!(written(&mut shot).contains("Authorization: Bearer 1\r\n"));
    read(&mut shot, conn, &answer("200 OK", r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#));
    assert_eq!(said(&mut shot), [r#"7: Ok({"content":[]})"#, "x", "closed"]);
}

#[test]
fn a_call_whose_connection_ends_breaks_or_is_given_up() {
    let (mut shot, conn) = asked_back(|_| ());
    shot.read_eof(conn, Instant::ZERO);
    let ended = said(&mut shot);
    assert!(ended[1].starts_with("7: Err(Transport(") && ended[2..] == ["closed"], "{ended:?}");
    assert!(shot.is_idle() && shot.is_over());

    let (mut shot, conn) = asked_back(|_| ());
    shot.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, "reset"), Instant::ZERO);
    let broke = said(&mut shot);
    assert!(broke.iter().any(|said| said.starts_with("7: Err(") && said.contains("reset")), "{broke:?}");
    assert!(shot.is_idle() && shot.is_over());

    let (mut shot, _) = asked_back(|_| ());
    shot.close(Instant::ZERO);
    let given_up = said(&mut shot);
    assert!(given_up.iter().any(|said| said.starts_with("7: Err(Closed(")), "{given_up:?}");
    assert!(shot.is_idle() && shot.is_over());
}

#[test]
fn a_call_that_takes_too_long() {
    let (mut shot, _) = asked_back(|_| ());
    let Output::Idle { deadline: Some(deadline) } = shot.poll() else { panic!("it waits for its answer") };
    assert_eq!(deadline, Instant::ZERO + Duration::from_secs(30));
    shot.handle_timeout(deadline);
    let late = said(&mut shot);
    assert_eq!(late, ["x", "7: Err(TimedOut { after: 30s })", "closed"]);
    assert!(shot.is_idle() && shot.is_over());
}
