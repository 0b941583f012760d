//! Clients that are slow, greedy, in pieces or not clients at all.

use std::time::Duration;

use windlass::{ConnError, ConnErrorKind, Machine};

use crate::guest::{House, body, modern, post, status};

#[test]
fn bytes_may_come_in_any_pieces() {
    let mut conversation = Vec::new();
    for id in 0..3 {
        let (headers, request) = modern(id, "tools/call", r#""name":"echo","arguments":{}"#);
        conversation.extend_from_slice(post(&headers, &request).as_bytes());
    }
    let chunked = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: x\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\n{\"j\r\n1f\r\nsonrpc\":\"2.0\",\"method\":\"x\"}    \r\n0\r\n\r\n";
    conversation.extend_from_slice(chunked.as_bytes());
    let whole = {
        let mut house = House::new();
        let conn = house.connect();
        house.write(conn, &conversation);
        house.read(conn)
    };
    assert_eq!(whole.matches("HTTP/1.1 200 OK").count(), 3, "{whole}");
    assert_eq!(whole.matches("HTTP/1.1 202 Accepted").count(), 1, "{whole}");
    for chunk in [1, 2, 3, 7, 64, 1000] {
        let mut house = House::new();
        house.chunk = chunk;
        let conn = house.connect();
        house.write(conn, &conversation);
        assert_eq!(house.read(conn), whole, "in pieces of {chunk}");
    }
}

#[test]
fn whoever_sends_slowly_is_not_waited_for() {
    let mut house = House::new();
    let silent = house.connect();
    let halting = house.connect();
    house.write(halting, b"POST /mcp HTTP/1.1\r\nHost: loc");
    let stalled = house.connect();
    house.write(stalled, post("", "x").replace("Length: 1", "Length: 2").as_bytes());
    let late = house.connect();
    house.wait(Duration::from_secs(9));
    assert!(house.is_open(silent) && house.is_open(halting) && house.is_open(late));
    house.write(late, b"P");
    house.wait(Duration::from_secs(2));
    assert!(!house.is_open(silent) && house.read(silent).is_empty());
    assert_eq!(status(&house.read(halting)), 408);
    assert_eq!(status(&house.read(late)), 408, "it has not begun to wait anew");
    assert!(!house.is_open(halting) && !house.is_open(late) && house.is_open(stalled));
    house.wait(Duration::from_secs(50));
    assert_eq!(status(&house.read(stalled)), 408);
}

#[test]
fn whoever_has_asked_before_is_waited_for() {
    let mut house = House::new();
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/list", "");
    let request = post(&headers, &request);
    for _ in 0..3 {
        house.write(conn, request.as_bytes());
        assert_eq!(status(&house.read(conn)), 200);
        house.wait(Duration::from_secs(70));
    }
    // A head that has begun has its own time.
    house.write(conn, &request.as_bytes()[..10]);
    house.wait(Duration::from_secs(9));
    house.write(conn, &request.as_bytes()[10..]);
    assert_eq!(status(&house.read(conn)), 200);
    house.wait(Duration::from_secs(76));
    assert!(!house.is_open(conn) && house.read(conn).is_empty());
}

#[test]
fn too_much_is_refused_before_it_is_read() {
    let mut house = House::new();
    let huge = post("", "x").replace("Length: 1", "Length: 99999999999");
    let conn = house.connect();
    house.write(conn, huge.as_bytes());
    assert_eq!(status(&house.read(conn)), 413);
    assert!(!house.is_open(conn));
    let conn = house.connect();
    let long = format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    house.write(conn, long.as_bytes());
    assert_eq!(status(&house.read(conn)), 431);
    assert!(!house.is_open(conn));
}

#[test]
fn what_is_not_http_is_answered_once() {
    let mut house = House::new();
    for text in ["\x16\x03\x01\x02", "GET / HTTP/1.1\nHost: localhost\n\n", "{\"jsonrpc\":\"2.0\"}\r\n\r\n"] {
        let conn = house.connect();
        house.write(conn, text.as_bytes());
        house.wait(Duration::from_secs(11));
        assert!(matches!(status(&house.read(conn)), 400 | 408), "{text:?}");
        assert!(!house.is_open(conn));
    }
}

#[test]
fn pages_from_elsewhere_are_refused() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/list", "");
    let evil = post(&headers, &request).replace("Host: localhost", "Host: evil.example.com");
    let conn = house.connect();
    house.write(conn, evil.as_bytes());
    let answer = house.read(conn);
    assert_eq!(status(&answer), 403);
    assert!(body(&answer).contains("-32600"));
    assert_eq!(status(&house.post(&format!("{headers}Origin: http://evil.example.com\r\n"), &request)), 403);
    assert_eq!(status(&house.post(&format!("{headers}Origin: http://localhost:8080\r\n"), &request)), 200);
}

#[test]
fn too_many_connections_are_closed() {
    let mut house = House::with(|config| config.connections = 2);
    let (headers, request) = modern(1, "tools/call", r#""name":"slow""#);
    let busy = [house.connect(), house.connect()];
    for conn in busy {
        house.write(conn, post(&headers, &request).as_bytes());
    }
    let third = house.connect();
    assert!(house.is_open(busy[0]) && house.is_open(busy[1]) && !house.is_open(third));
    house.answer_slow();
    let fourth = house.connect();
    assert!(!house.is_open(busy[0]) && house.is_open(busy[1]) && house.is_open(fourth), "one that is idle makes room");
}

#[test]
fn a_connection_is_closed_once_however_often_it_breaks() {
    let mut house = House::with(|config| config.connections = 1);
    let conns = [house.server.accept(house.now), house.server.accept(house.now)];
    for conn in [conns[0], conns[0], conns[1]] {
        let why = ConnError::new(ConnErrorKind::Broken, "reset");
        house.server.conn_failed(conn, why, house.now);
    }
    house.settle();
    house.gone.sort();
    assert_eq!(house.gone, conns);
}
