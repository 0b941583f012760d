//! What is refused, and that a refusal is no more than that.

use std::time::Duration;

use windlass::Machine;

use crate::guest::{House, body, header, ids, messages, modern, post, status};

/// A server that answers with streams wherever it may.
fn streaming() -> House {
    House::with(|config| config.json_answers = false)
}

#[test]
fn a_refusal_is_json_with_its_status_even_where_answers_are_streams() {
    let mut house = streaming();
    let version = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let (listing, list) = modern(1, "tools/list", "");
    let (unknown, unheard) = modern(1, "no/such", "");
    let other = listing.replace("Mcp-Method: tools/list", "Mcp-Method: tools/call");
    let future = (listing.replace("2026-07-28", "2030-01-01"), list.replace("2026-07-28", "2030-01-01"));
    for (headers, request, expected, code) in [
        (version, bare, 400, "-32602"),
        (&other, &list, 400, "-32020"),
        (&future.0, &future.1, 400, "-32022"),
        (&unknown, &unheard, 404, "-32601"),
    ] {
        let answer = house.post(headers, request);
        assert_eq!(status(&answer), expected, "{answer}");
        assert_eq!(header(&answer, "Content-Type").as_deref(), Some("application/json"), "{answer}");
        assert!(body(&answer).contains(code), "{answer}");
    }
    let answer = house.post(&listing, &list);
    assert_eq!(header(&answer, "Content-Type").as_deref(), Some("text/event-stream"), "what succeeds is a stream");
    assert!(answer.ends_with("0\r\n\r\n") && house.server.is_idle(), "{answer}");
}

#[test]
fn a_request_with_too_many_values_is_refused_and_the_next_is_served() {
    let mut house = House::with_both(|config, _| config.limits.message_values = 1000);
    let (headers, request) = modern(1, "tools/call", &format!(r#""name":"echo","x":[{}]"#, vec!["[]"; 1000].join(",")));
    let answer = house.post(&headers, &request);
    assert_eq!(status(&answer), 400, "{answer}");
    assert!(body(&answer).contains("the message has too many values: 1000 are allowed"), "{answer}");
    assert_eq!(status(&house.call("echo")), 200);
}

#[test]
fn only_the_exact_name_of_a_member_counts() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"echo""#);
    let session = format!("Mcp-Session-Id: {}\r\n", house.initialize("2025-11-25"));
    let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
    for (name, other, modern, of_a_session) in [
        ("jsonrpc", "JsonRpc", (400, "-32600"), (400, "-32600")),
        ("method", "Method", (400, "-32600"), (400, "-32600")),
        ("params", "paramſ", (400, "-32602"), (200, "-32602")),
        ("name", "Name", (200, "-32602"), (200, "-32602")),
        // Without an id it is a notification, which nobody answers.
        ("id", "ID", (202, ""), (202, "")),
        ("id", "ıd", (202, ""), (202, "")),
    ] {
        let (name, other) = (format!("\"{name}\":"), format!("\"{other}\":"));
        for (headers, request, (expected, says)) in [(&headers, &request[..], modern), (&session, legacy, of_a_session)]
        {
            let answer = house.post(headers, &request.replacen(&name, &other, 1));
            assert_eq!(status(&answer), expected, "{other} {answer}");
            assert!(body(&answer).contains(says), "{other} {answer}");
        }
    }
    // What has another name is not there twice, and does not take the place of the right one.
    let more = r#""ID":2,"METHOD":"ping","Params":{"name":"slow"},"paramſ":7,"Result":{},"Error":7,"id":"#;
    for (headers, request) in [(&headers, &request[..]), (&session, legacy)] {
        let answer = house.post(headers, &request.replacen("\"id\":", more, 1));
        assert_eq!(status(&answer), 200, "{answer}");
        assert!(body(&answer).contains(r#""id":1,"result""#) && body(&answer).contains("echo"), "{answer}");
    }
    assert!(house.slow.is_empty() && house.server.is_idle());
}

#[test]
fn an_id_that_no_integer_is_is_refused_and_the_next_is_served() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"echo""#);
    let session = format!("Mcp-Session-Id: {}\r\n", house.initialize("2025-11-25"));
    let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
    let huge = "9".repeat(400);
    for (headers, request) in [(&headers, &request[..]), (&session, legacy)] {
        let conn = house.connect();
        let mut asking = |id: &str| {
            let request = request.replacen("\"id\":1", &format!("\"id\":{id}"), 1);
            house.write(conn, post(headers, &request).as_bytes());
            house.read(conn)
        };
        for id in ["18446744073709551616", "9223372036854775808", "-0", "1.0", "1e0", "1e2", "1e9999", &huge] {
            let answer = asking(id);
            assert_eq!(status(&answer), 400, "{id}: {answer}");
            assert!(body(&answer).contains("-32600") && !body(&answer).contains(r#""id":1"#), "{id}: {answer}");
            // On the same connection.
            let answer = asking("9223372036854775807");
            assert_eq!(status(&answer), 200, "{id}: {answer}");
            assert!(body(&answer).contains(r#""id":9223372036854775807,"result""#), "{id}: {answer}");
        }
    }
    assert!(house.server.is_idle());
}

#[test]
fn whoever_was_refused_and_leaves_takes_nobody_along() {
    for mut house in [House::new(), streaming()] {
        let refused = house.connect();
        let version = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
        house.write(refused, post(version, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).as_bytes());
        let other = house.connect();
        let (headers, call) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
        house.write(other, post(&headers, &call).as_bytes());
        house.hang_up(refused);
        house.wait(Duration::from_secs(1));
        assert_eq!(house.cancelled, []);
        house.answer_slow();
        assert!(house.read(other).contains("done"), "the other call is answered");
        assert!(house.server.is_idle());
    }
}

#[test]
fn a_batch_with_an_entry_that_is_refused_comes_to_an_end() {
    let mut house = House::new();
    let id = house.initialize("2025-03-26");
    let conn = house.connect();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}"#;
    let batch = format!(r#"[{call},{{"jsonrpc":"2.0","id":2,"method":"ping"}}]"#);
    house.write(conn, post(&format!("Mcp-Session-Id: {id}\r\n"), &batch).as_bytes());
    house.answer_slow();
    let answer = house.read(conn);
    assert_eq!(messages(&answer).len(), 2, "{answer}");
    assert!(answer.ends_with("0\r\n\r\n") && house.server.is_idle(), "{answer}");
}

#[test]
fn pages_are_refused_by_a_server_with_any_name() {
    let mut house = House::with(|config| config.allowed_hosts = None);
    let (headers, request) = modern(1, "tools/list", "");
    let mut status_from = |origin: &str| status(&house.post(&format!("{headers}Origin: {origin}\r\n"), &request));
    for origin in ["http://localhost", "http://evil.example", "http://localhost.evil.example", "null", "localhost"] {
        assert_eq!(status_from(origin), 403, "{origin}");
    }
    let (headers, request) = modern(1, "tools/list", "");
    let rebound = post(&format!("{headers}Origin: http://evil.example\r\n"), &request);
    let conn = house.connect();
    house.write(conn, rebound.replace("Host: localhost", "Host: evil.example").as_bytes());
    assert_eq!(status(&house.read(conn)), 403, "a name that was made to lead here");
    assert_eq!(status(&house.post(&headers, &request)), 200, "who is no page is served");
    let mut house = House::with(|config| config.allowed_origins = Some(vec!["https://app.example".into()]));
    let mut status_from = |origin: &str| status(&house.post(&format!("{headers}Origin: {origin}\r\n"), &request));
    assert_eq!((status_from("https://app.example"), status_from("http://localhost")), (200, 403));
    let mut house = House::with(|config| config.allowed_hosts = Some(vec!["mcp.example".into()]));
    assert_eq!(status(&house.post(&headers, &request)), 403, "localhost is not among the names");
}

#[test]
fn a_whole_url_is_as_good_as_a_path() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/list", "");
    let mut asking = |target: &str| {
        let conn = house.connect();
        house.write(conn, post(&headers, &request).replace("POST /mcp ", &format!("POST {target} ")).as_bytes());
        status(&house.read(conn))
    };
    assert_eq!(asking("http://localhost/mcp?x=1"), 200);
    assert_eq!(asking("http://localhost"), 404);
    assert_eq!(asking("http://evil.example/mcp"), 403);
    assert_eq!(asking("/x?http://localhost/mcp"), 404);
}

#[test]
fn whoever_asks_for_a_head_gets_no_body() {
    let mut house = House::new();
    let conn = house.connect();
    house.write(conn, b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let answer = house.read(conn);
    assert!(status(&answer) == 405 && answer.ends_with("\r\n\r\n"), "{answer}");
    assert_ne!(header(&answer, "Content-Length").as_deref(), Some("0"));
}

#[test]
fn a_session_is_not_ended_in_another_revision() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let mut delete = |version: &str| {
        let conn = house.connect();
        let head = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {id}\r\n{version}\r\n");
        house.write(conn, head.as_bytes());
        status(&house.read(conn))
    };
    assert_eq!(delete("MCP-Protocol-Version: 1999-01-01\r\n"), 400);
    assert_eq!(delete("MCP-Protocol-Version: 2025-11-25\r\n"), 204);
}

#[test]
fn a_body_in_chunks_is_refused_at_the_limit_too() {
    let mut house = House::new();
    let conn = house.connect();
    let head = post("", "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    house.write(conn, head.as_bytes());
    let chunk = [b"10000\r\n", &[b' '; 0x10000][..], b"\r\n"].concat();
    let mut sent = 0;
    while house.is_open(conn) && sent < 1 << 30 {
        house.write(conn, &chunk);
        sent += 0x10000;
    }
    assert_eq!(status(&house.read(conn)), 413);
}

#[test]
fn who_expects_to_be_asked_for_the_body_is_asked() {
    let mut house = House::new();
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/list", "");
    let whole = post(&format!("{headers}Expect: 100-continue\r\n"), &request);
    let (head, rest) = whole.split_at(whole.len() - request.len());
    house.write(conn, head.as_bytes());
    assert_eq!(house.read(conn), "HTTP/1.1 100 Continue\r\n\r\n");
    house.write(conn, rest.as_bytes());
    assert_eq!(status(&house.read(conn)), 200);
}

#[test]
fn clients_of_http_1_0_get_streams_that_end_with_the_connection() {
    let mut house = streaming();
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/list", "");
    house.write(conn, post(&headers, &request).replace("HTTP/1.1", "HTTP/1.0").as_bytes());
    let answer = house.read(conn);
    assert_eq!(header(&answer, "Transfer-Encoding"), None);
    assert_eq!(header(&answer, "Connection").as_deref(), Some("close"));
    assert!(messages(&answer).len() == 1 && !house.is_open(conn), "{answer}");
}

#[test]
fn a_stream_that_is_resumed_often_pushes_no_other_out() {
    let mut house = House::with(|config| {
        config.json_answers = false;
        config.replay_streams = 2;
    });
    let id = house.initialize("2025-11-25");
    let session = format!("Mcp-Session-Id: {id}\r\n");
    let mut last_event = |number: u32| {
        let answer = house.post(&session, &format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"ping"}}"#));
        ids(&answer).first().cloned().unwrap()
    };
    let (first, second) = (last_event(2), last_event(3));
    let mut resume = |event: &str| {
        let conn = house.connect();
        let get = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{session}Last-Event-ID: {event}\r\n\r\n"
        );
        house.write(conn, get.as_bytes());
        house.read(conn)
    };
    for _ in 0..5 {
        assert_eq!(messages(&resume(&second)).len(), 1);
    }
    let again = resume(&first);
    assert_eq!(messages(&again).len(), 1, "{again}");
    assert_eq!(ids(&again).first(), Some(&first), "the client is told where it is");
}

#[test]
fn what_is_kept_for_clients_that_come_back_is_bounded_over_all() {
    let mut house = House::with(|config| {
        config.json_answers = false;
        config.replay_total_bytes = 2000;
    });
    let sessions: Vec<_> = (0..20).map(|_| house.initialize("2025-11-25")).collect();
    let resumable = |house: &mut House, session: &str, event: &str| {
        let conn = house.connect();
        let get = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\nLast-Event-ID: {event}\r\n\r\n"
        );
        house.write(conn, get.as_bytes());
        let answer = house.read(conn);
        status(&answer) == 200
    };
    let mut events = Vec::new();
    for session in &sessions {
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        let answer = house.post(&format!("Mcp-Session-Id: {session}\r\n"), list);
        events.push(ids(&answer).first().cloned().unwrap());
    }
    let kept = sessions.iter().zip(&events).filter(|(session, event)| resumable(&mut house, session, event)).count();
    assert!((1..10).contains(&kept), "{kept} of 20 answers of 500 bytes fit into 2000");
    assert!(resumable(&mut house, &sessions[19], &events[19]), "the newest is among them");
}

#[test]
fn a_server_that_closes_does_not_wait_for_a_client_that_never_reads() {
    let mut house = House::new();
    house.reads = false;
    let (headers, request) = modern(1, "tools/list", "");
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    house.server.close(house.now);
    house.settle();
    assert!(!house.closed, "the client may still read");
    for _ in 0..12 {
        house.wait(Duration::from_secs(1));
    }
    assert!(house.closed && !house.is_open(conn));
    assert!(house.server.write_buf(conn).is_empty());
}

#[test]
fn a_client_that_takes_a_byte_now_and_then_is_left() {
    let mut house = House::new();
    house.reads = false;
    let (headers, request) = modern(1, "tools/list", "");
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    let mut taken = 0;
    while house.is_open(conn) && taken < 1000 {
        house.wait(Duration::from_secs(10));
        if !house.server.write_buf(conn).is_empty() {
            house.server.write_done(conn, 1, house.now);
            taken += 1;
        }
    }
    assert!(taken < 10, "{taken}");
}

#[test]
fn who_asks_to_be_asked_for_the_body_and_neither_reads_nor_sends_it_is_left() {
    let mut house = House::new();
    house.reads = false;
    let (headers, request) = modern(1, "tools/list", "");
    let whole = post(&format!("{headers}Expect: 100-continue\r\n"), &request);
    let conn = house.connect();
    house.write(conn, &whole.as_bytes()[..whole.len() - request.len()]);
    house.stop_sending(conn);
    for _ in 0..12 {
        house.wait(Duration::from_secs(10));
    }
    assert!(!house.is_open(conn));
}
