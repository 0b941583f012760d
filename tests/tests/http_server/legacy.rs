//! The legacy era: sessions, streams that outlive their connections, a stream for what belongs to no request.

use std::time::Duration;

use windlass::model::Tool;

use crate::guest::{House, body, get, header, ids, initialize, messages, post, session, status};

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"slow","arguments":{}}}"#;

#[test]
fn a_session_from_its_beginning_to_its_end() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()));
    let answer = house.post(&session(&id), r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert!(body(&answer).contains(r#""id":2,"result":{"tools":[{"#), "{answer}");
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {id}\r\n\r\n");
    let conn = house.connect();
    house.write(conn, delete.as_bytes());
    assert_eq!(status(&house.read(conn)), 204);
    assert_eq!(status(&house.post(&session(&id), r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#)), 404);
    assert_eq!(house.server.sessions(), 0);
}

#[test]
fn a_session_begins_in_a_version_that_there_is() {
    let mut house = House::new();
    for unknown in ["2099-01-01", "1999", ""] {
        let answer = house.post(&format!("MCP-Protocol-Version: {unknown}\r\n"), &initialize("2025-11-25"));
        assert!(status(&answer) == 400 && body(&answer).contains("MCP-Protocol-Version"), "{unknown}: {answer}");
        assert_eq!(header(&answer, "Mcp-Session-Id"), None);
    }
    assert_eq!(house.server.sessions(), 0);
    // What the body asks for is negotiated, and need not be what the header says.
    for headers in ["", "MCP-Protocol-Version: 2025-11-25\r\n", "MCP-Protocol-Version: 2025-06-18\r\n"] {
        assert_eq!(status(&house.post(headers, &initialize("2099-01-01"))), 200, "{headers}");
    }
}

#[test]
fn sessions_are_asked_for_and_are_their_own() {
    let mut house = House::new();
    let (one, two) = (house.initialize("2025-06-18"), house.initialize("2025-11-25"));
    assert_ne!(one, two);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(status(&house.post("", ping)), 400);
    assert_eq!(status(&house.post(&session("nobody"), ping)), 404);
    assert_eq!(status(&house.post(&format!("{}MCP-Protocol-Version: 2025-11-25\r\n", session(&one)), ping)), 400);
    assert_eq!(status(&house.post(&format!("{}MCP-Protocol-Version: 2025-06-18\r\n", session(&one)), ping)), 200);
    assert_eq!(status(&house.post(&format!("{}MCP-Protocol-Version: 1999\r\n", session(&one)), ping)), 400);
    assert_eq!(status(&house.post(&session(&one), &initialize("2025-06-18"))), 400);
    // The same id is open in both.
    for id in [&one, &two] {
        let conn = house.connect();
        house.write(conn, post(&session(id), CALL).as_bytes());
    }
    assert_eq!(house.slow.len(), 2);
}

#[test]
fn a_client_that_goes_away_comes_back_for_the_answer() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, post(&session(&id), CALL).as_bytes());
    let key = house.slow[0].key();
    house.server.progress(key, 1.0, None, None);
    house.settle();
    let begun = house.read(conn);
    assert!(body(&begun).starts_with("retry: 1000\nid: "), "it is told at once how to resume: {begun}");
    let seen = ids(&begun);
    house.hang_up(conn);
    assert!(house.cancelled.is_empty());
    house.server.progress(key, 2.0, None, None);
    house.answer_slow();
    let resumed = |house: &mut House, event: &str| {
        let conn = house.connect();
        house.write(conn, get(&id, &format!("Last-Event-ID: {event}\r\n")).as_bytes());
        house.read(conn)
    };
    let rest = resumed(&mut house, &seen[1]);
    assert_eq!(messages(&rest).len(), 2, "{rest}");
    assert!(rest.contains(r#""progress":2"#) && rest.contains(r#""id":2,"result""#) && rest.ends_with("0\r\n\r\n"));
    assert_eq!(messages(&resumed(&mut house, &seen[0])).len(), 3, "all of it");
    assert_eq!(status(&resumed(&mut house, "999-1")), 400);
    let other = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, get(&other, &format!("Last-Event-ID: {}\r\n", seen[0])).as_bytes());
    assert_eq!(status(&house.read(conn)), 400, "another session's events are not told");
}

#[test]
fn older_clients_are_not_primed() {
    let mut house = House::new();
    let id = house.initialize("2025-06-18");
    let conn = house.connect();
    house.write(conn, post(&session(&id), CALL).as_bytes());
    house.server.progress(house.slow[0].key(), 1.0, None, None);
    house.settle();
    assert!(!house.read(conn).contains("retry"));
}

#[test]
fn the_server_may_let_go_of_a_connection_in_the_middle_of_a_call() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, post(&session(&id), CALL).as_bytes());
    house.server.interrupt(house.slow[0].key());
    house.settle();
    let begun = house.read(conn);
    assert!(begun.ends_with("0\r\n\r\n") && begun.contains("retry: 1000"), "{begun}");
    let conn = house.connect();
    house.write(conn, get(&id, &format!("Last-Event-ID: {}\r\n", ids(&begun)[0])).as_bytes());
    assert!(messages(&house.read(conn)).is_empty());
    house.answer_slow();
    let rest = house.read(conn);
    assert!(messages(&rest)[0].contains(r#""id":2,"result""#) && rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn what_belongs_to_no_request_goes_to_the_listener() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    house.server.registry().add_tool(Tool::without_arguments("early"), "echo");
    house.settle();
    let conn = house.connect();
    house.write(conn, get(&id, "").as_bytes());
    let begun = house.read(conn);
    assert_eq!(messages(&begun).len(), 1, "what came before it listened: {begun}");
    house.server.registry().add_tool(Tool::without_arguments("late"), "echo");
    house.settle();
    assert!(house.read(conn).contains("notifications/tools/list_changed"));
    // Another connection takes over.
    let other = house.connect();
    house.write(other, get(&id, "").as_bytes());
    assert!(house.read(conn).ends_with("0\r\n\r\n"));
    house.server.registry().remove_tool("late");
    house.settle();
    assert_eq!(messages(&house.read(other)).len(), 1);
    assert_eq!(house.read(conn), "");
}

#[test]
fn a_cancelled_request_gets_no_answer() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, post(&session(&id), CALL).as_bytes());
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(status(&house.post(&session(&id), cancel)), 202);
    assert_eq!(house.cancelled.len(), 1);
    let answer = house.read(conn);
    assert!(answer.ends_with("0\r\n\r\n") && messages(&answer).is_empty(), "{answer}");
    house.answer_slow();
    assert!(house.server.is_idle());
}

#[test]
fn batches_where_the_revision_has_them() {
    let mut house = House::new();
    let id = house.initialize("2025-03-26");
    let batch = r#"[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"bad":1},{"jsonrpc":"2.0","id":3,"method":"tools/list"}]"#;
    let answer = house.post(&session(&id), batch);
    assert_eq!(header(&answer, "Content-Type").as_deref(), Some("text/event-stream"));
    assert_eq!(messages(&answer).len(), 3, "{answer}");
    assert!(answer.ends_with("0\r\n\r\n"));
    assert_eq!(status(&house.post(&session(&id), r#"[{"jsonrpc":"2.0","method":"x"}]"#)), 202);
    let newer = house.initialize("2025-11-25");
    assert_eq!(status(&house.post(&session(&newer), batch)), 400);
}

#[test]
fn an_answer_without_an_outcome_fails_what_waits_for_it() {
    for (more, says) in [
        ("", "the response has neither a result nor an error"),
        (r#","result":{},"error":{"code":1,"message":"m"}"#, "a response has one id and either a result or an error"),
    ] {
        let mut house = House::new();
        let begun = house.post("", &initialize("2025-11-25").replace("{}", r#"{"elicitation":{}}"#));
        let id = header(&begun, "Mcp-Session-Id").unwrap();
        house.post(&session(&id), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let conn = house.connect();
        house.write(conn, post(&session(&id), &CALL.replace("slow", "ask")).as_bytes());
        assert!(messages(&house.read(conn))[0].contains(r#""id":1,"method":"elicitation/create""#));
        let refused = house.post(&session(&id), &format!(r#"{{"jsonrpc":"2.0","id":1{more}}}"#));
        assert!(status(&refused) == 400 && refused.contains(says), "{refused}");
        let rest = house.read(conn);
        assert!(messages(&rest)[0].contains(says) && rest.ends_with("0\r\n\r\n"), "{rest}");
    }
}

#[test]
fn an_idle_session_ends_and_a_listening_one_does_not() {
    let mut house = House::with(|config| config.session_idle = Duration::from_secs(60));
    let (idle, listening) = (house.initialize("2025-11-25"), house.initialize("2025-11-25"));
    let conn = house.connect();
    house.write(conn, get(&listening, "").as_bytes());
    for _ in 0..10 {
        house.wait(Duration::from_secs(10));
    }
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(status(&house.post(&session(&idle), ping)), 404);
    assert_eq!(status(&house.post(&session(&listening), ping)), 200);
}

#[test]
fn what_is_added_later_is_there_for_every_session() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    house.server.registry().add_prompt(windlass::model::Prompt::new("greet"), "echo");
    house.server.registry().add_prompt_completion("greet", "who", "slow");
    house.settle();
    let complete = r#"{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}}"#;
    let conn = house.connect();
    house.write(conn, post(&session(&id), complete).as_bytes());
    assert_eq!(house.slow.len(), 1, "the handler of the completion is asked: {}", house.read(conn));
}
