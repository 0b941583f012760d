//! One call without a handshake.

use windlass::client::{CallOptions, ClientEvent};
use windlass::link::http::HttpOneShot;
use windlass::model::ProtocolVersion;
use windlass::{ConnId, Instant, JsonText, Machine, Output};

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
fn no_answer() {
    let (mut shot, conn, _) = shot(ProtocolVersion::LATEST);
    read(&mut shot, conn, "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n");
    let said = said(&mut shot);
    assert!(said[0].contains("Http(HttpFailure { status: 503"), "{said:?}");
    assert_eq!(said[1..], ["x", "closed"]);
    assert!(shot.is_idle());
}
