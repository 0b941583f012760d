//! Headers that are there twice, and what they say of the connection.

use crate::guest::{House, body, get, header, modern, post, session, status};

#[test]
fn what_is_said_twice_is_not_chosen_from() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/list", "");
    let twice = |line: &str| format!("{headers}{line}\r\n{line}\r\n");
    let answer = house.post(&twice("Origin: http://localhost"), &request);
    assert_eq!(status(&answer), 403, "{answer}");
    let answer = house.post(&twice("MCP-Protocol-Version: 2026-07-28"), &request);
    assert!(status(&answer) == 400 && body(&answer).contains("-32020"), "{answer}");
    let id = house.initialize("2025-11-25");
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let answer = house.post(&format!("{0}{0}", session(&id)), ping);
    assert!(status(&answer) == 400 && body(&answer).contains("twice"), "{answer}");
    let version = "MCP-Protocol-Version: 2025-11-25\r\n";
    for request in [get(&id, &format!("{version}{version}")), get(&id, &session(&id))] {
        for request in [request.clone(), request.replace("GET ", "DELETE ")] {
            let conn = house.connect();
            house.write(conn, request.as_bytes());
            assert_eq!(status(&house.read(conn)), 400, "{request}");
        }
    }
    assert_eq!(status(&house.post(&session(&id), ping)), 200, "the session has not suffered");
}

#[test]
fn the_modern_era_has_neither_get_nor_delete() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    for session in [session(&id), String::new()] {
        for (verb, hint) in [("GET", "subscriptions/listen"), ("DELETE", "no sessions")] {
            let request = format!(
                "{verb} /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{session}MCP-Protocol-Version: 2026-07-28\r\n\r\n"
            );
            let conn = house.connect();
            house.write(conn, request.as_bytes());
            let answer = house.read(conn);
            assert_eq!(status(&answer), 405, "{answer}");
            assert_eq!(header(&answer, "Allow").as_deref(), Some("POST, GET, DELETE"), "{answer}");
            assert!(body(&answer).contains(hint), "{answer}");
            assert!(house.is_open(conn), "the connection is good for other requests");
        }
    }
    assert_eq!(house.server.sessions(), 1);
}

#[test]
fn get_and_delete_need_a_session() {
    let mut house = House::new();
    for verb in ["GET", "DELETE"] {
        let conn = house.connect();
        let request = format!("{verb} /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
        house.write(conn, request.as_bytes());
        let answer = house.read(conn);
        assert!(status(&answer) == 400 && body(&answer).contains("Mcp-Session-Id"), "{answer}");
    }
}

#[test]
fn a_connection_is_kept_unless_somebody_wants_it_closed() {
    let mut house = House::with(|config| config.json_answers = false);
    let (headers, listing) = modern(1, "tools/list", "");
    let (other, nothing) = modern(1, "no/such", "");
    // As a stream of events, and as JSON.
    for (headers, request, expected) in [(&headers, &listing, 200), (&other, &nothing, 404)] {
        for (more, kept) in [("", true), ("Connection: keep-alive\r\n", true), ("Connection: close\r\n", false)] {
            let conn = house.connect();
            house.write(conn, post(&format!("{headers}{more}"), request).as_bytes());
            let answer = house.read(conn);
            assert_eq!(status(&answer), expected, "{answer}");
            let closes = header(&answer, "Connection");
            assert_eq!(closes.as_deref(), (!kept).then_some("close"), "after {more:?}: {answer}");
            assert_eq!(house.is_open(conn), kept, "after {more:?}");
        }
    }
    // What cannot be read to its end ends the connection, and the client is told.
    let conn = house.connect();
    house.write(conn, b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
    let answer = house.read(conn);
    assert_eq!(header(&answer, "Connection").as_deref(), Some("close"), "{answer}");
    assert!(!house.is_open(conn));
}

#[test]
fn whatever_a_request_is_about_is_named_in_a_header() {
    let mut house = House::new();
    let (headers, request) = modern(1, "resources/read", r#""uri":"test://one""#);
    assert!(headers.contains("Mcp-Name: test://one"));
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    assert_eq!((house.slow.len(), house.read(conn).as_str()), (1, ""), "its handler is asked");
    let other = headers.replace("test://one", "test://two");
    let answer = house.post(&other, &request);
    assert!(status(&answer) == 400 && body(&answer).contains("-32020"), "{answer}");
    // Methods that are about nothing in particular need no name.
    let (headers, request) = modern(1, "resources/list", "");
    assert_eq!(status(&house.post(&headers, &request)), 200);
}

#[test]
fn the_modern_era_has_no_batches() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/list", "");
    let answer = house.post(&headers, &format!("[{request}]"));
    assert!(status(&answer) == 400 && body(&answer).contains("-32600"), "{answer}");
    assert!(house.server.is_idle());
}
