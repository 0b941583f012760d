//! What a GET begins: the stream for what belongs to no request, which a client of the legacy era may leave and come
//! back to.

use std::time::Duration;

use windlass::ConnId;
use windlass::model::{ElicitationComplete, ElicitationCompleteParams, Notice, Tool, ToolListChanged};

use crate::guest::{House, body, get, header, ids, initialize, messages, post, session, status};

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"slow","arguments":{}}}"#;

fn listen(house: &mut House, id: &str, more: &str) -> ConnId {
    let conn = house.connect();
    house.write(conn, get(id, more).as_bytes());
    conn
}

/// The client goes away, and the server finds out.
fn leave(house: &mut House, conn: ConnId) {
    house.hang_up(conn);
    house.wait(Duration::from_millis(25));
    house.wait(Duration::from_millis(50));
    assert!(!house.is_open(conn));
}

/// Something that belongs to no request: a tool is there that was not.
fn change(house: &mut House, tool: &str) {
    house.server.registry().add_tool(Tool::without_arguments(tool), "echo");
    house.settle();
}

/// The methods of all notifications on a stream.
fn told(house: &mut House, conn: ConnId) -> Vec<String> {
    let events = house.read(conn);
    let method = |message: &String| {
        let message: serde_json::Value = serde_json::from_str(message).ok()?;
        message["method"].as_str().map(ToOwned::to_owned)
    };
    messages(&body(&events)).iter().filter_map(method).collect()
}

#[test]
fn only_the_client_that_was_asked_is_told_that_it_is_complete() {
    let mut house = House::new();
    let visits =
        initialize("2025-11-25").replace(r#""capabilities":{}"#, r#""capabilities":{"elicitation":{"url":{}}}"#);
    let mut clients = Vec::new();
    for _ in 0..2 {
        let id = header(&house.post("", &visits), "Mcp-Session-Id").expect("a session");
        house.post(&session(&id), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let conn = listen(&mut house, &id, "");
        clients.push((id, conn));
    }
    house.post(&session(&clients[0].0), CALL);
    let key = house.slow[0].key();
    house.answer_slow();
    let done = ElicitationCompleteParams::new("login-7");
    assert!(house.server.notify::<ElicitationComplete>(None, &done).is_err());
    // The request is over, and still says whose it was.
    assert_eq!(house.server.notify::<ElicitationComplete>(Some(key), &done), Ok(()));
    assert_eq!(house.server.notify_raw(None, ToolListChanged::NAME, &()), Ok(()));
    house.settle();
    assert_eq!(told(&mut house, clients[0].1), [ElicitationComplete::NAME, ToolListChanged::NAME]);
    assert_eq!(told(&mut house, clients[1].1), [ToolListChanged::NAME]);
}

#[test]
fn it_is_primed_at_once_and_shows_that_it_lives() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = listen(&mut house, &id, "");
    let begun = house.read(conn);
    assert_eq!(header(&begun, "Content-Type").as_deref(), Some("text/event-stream"), "{begun}");
    assert!(body(&begun).starts_with("retry: 1000\nid: ") && body(&begun).contains("\n: \n"), "{begun}");
    let older = house.initialize("2025-06-18");
    let conn = listen(&mut house, &older, "");
    assert_eq!(body(&house.read(conn)), ": \n\n", "an older client is told of no ids, but it sees that it listens");
}

#[test]
fn who_left_it_is_told_what_it_missed_and_nothing_twice() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let conn = listen(&mut house, &id, "");
    change(&mut house, "first");
    let begun = house.read(conn);
    let seen = ids(&begun);
    assert_eq!(messages(&begun).len(), 1, "{begun}");
    leave(&mut house, conn);
    change(&mut house, "second");
    change(&mut house, "third");
    // From an event on.
    let conn = listen(&mut house, &id, &format!("Last-Event-ID: {}\r\n", seen.last().unwrap()));
    let resumed = house.read(conn);
    assert_eq!(messages(&resumed).len(), 2, "{resumed}");
    assert!(!resumed.ends_with("0\r\n\r\n"), "it stays open: {resumed}");
    // From wherever it was, without an event: all has been sent.
    leave(&mut house, conn);
    let conn = listen(&mut house, &id, "");
    assert!(messages(&house.read(conn)).is_empty(), "what was resumed is not told again");
    // What comes next while nobody listens is not lost, and what comes while somebody does is told at once.
    leave(&mut house, conn);
    change(&mut house, "fourth");
    let conn = listen(&mut house, &id, "");
    assert_eq!(messages(&house.read(conn)).len(), 1);
    change(&mut house, "fifth");
    assert_eq!(messages(&house.read(conn)).len(), 1);
    // From the beginning, if the client says so.
    let conn = listen(&mut house, &id, &format!("Last-Event-ID: {}\r\n", seen[0]));
    assert_eq!(messages(&house.read(conn)).len(), 5);
}

#[test]
fn who_comes_back_takes_it_from_whoever_had_it() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    let old = listen(&mut house, &id, "");
    let seen = ids(&house.read(old));
    let new = listen(&mut house, &id, &format!("Last-Event-ID: {}\r\n", seen[0]));
    assert!(house.read(old).ends_with("0\r\n\r\n"), "the old connection has nothing more to say");
    change(&mut house, "tool");
    assert_eq!(messages(&house.read(new)).len(), 1);
    assert_eq!(house.read(old), "");
    // The old connection is as good as any other.
    house.write(old, post(&session(&id), r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).as_bytes());
    assert_eq!(status(&house.read(old)), 200);
}

#[test]
fn its_events_are_not_those_of_calls() {
    let mut house = House::with(|config| config.json_answers = false);
    let id = house.initialize("2025-11-25");
    let before = house.post(&session(&id), r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    let standalone = listen(&mut house, &id, "");
    let call = house.connect();
    house.write(call, post(&session(&id), CALL).as_bytes());
    change(&mut house, "tool");
    house.answer_slow();
    let (told, answered) = (house.read(standalone), house.read(call));
    assert!(told.contains("list_changed") && !told.contains("result"), "{told}");
    assert!(answered.contains(r#""id":2,"result""#) && !answered.contains("list_changed"), "{answered}");
    let streams = [&before, &told, &answered].map(|events| ids(events)[0].split('-').next().unwrap().to_owned());
    assert!(streams[0] != streams[1] && streams[1] != streams[2] && streams[0] != streams[2], "{streams:?}");
    let again = listen(&mut house, &id, &format!("Last-Event-ID: {}\r\n", ids(&answered)[0]));
    let again = house.read(again);
    assert!(again.contains(r#""id":2,"result""#) && !again.contains("list_changed"), "{again}");
}

#[test]
fn what_is_said_while_nobody_listens_does_not_delay_a_call() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    change(&mut house, "early");
    // The stream that waits for a listener has a name of its own.
    let call = house.connect();
    house.write(call, post(&session(&id), CALL).as_bytes());
    house.server.progress(house.slow[0].key(), 1.0, None, None);
    house.settle();
    let begun = house.read(call);
    assert!(messages(&begun).len() == 1 && begun.contains("notifications/progress"), "{begun}");
    let conn = listen(&mut house, &id, "");
    let told = house.read(conn);
    assert!(messages(&told).len() == 1 && told.contains("list_changed"), "{told}");
    house.answer_slow();
    assert!(house.read(call).contains(r#""id":2,"result""#));
    assert_eq!(house.read(conn), "");
}

#[test]
fn it_ends_with_its_session_and_no_other_does() {
    let mut house = House::new();
    let (one, two) = (house.initialize("2025-11-25"), house.initialize("2025-11-25"));
    let (first, second) = (listen(&mut house, &one, ""), listen(&mut house, &two, ""));
    let call = house.connect();
    house.write(call, post(&session(&one), CALL).as_bytes());
    let key = house.slow[0].key();
    let seen = ids(&house.read(first));
    house.read(second);
    let conn = house.connect();
    house.write(conn, format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}\r\n", session(&one)).as_bytes());
    assert_eq!(status(&house.read(conn)), 204);
    assert_eq!(house.read(first), "0\r\n\r\n", "the stream is over");
    let cut = house.read(call);
    assert!(messages(&cut).is_empty() && cut.ends_with("0\r\n\r\n"), "so is that of the call: {cut}");
    assert_eq!(house.cancelled, [key], "and the handler is told");
    change(&mut house, "tool");
    assert_eq!(house.read(first), "");
    assert_eq!(messages(&house.read(second)).len(), 1, "the other session goes on");
    let conn = listen(&mut house, &one, &format!("Last-Event-ID: {}\r\n", seen[0]));
    assert_eq!(status(&house.read(conn)), 404, "nobody comes back to it");
    assert_eq!(house.server.sessions(), 1);
    house.slow.clear();
    assert!(house.server.is_idle());
}

#[test]
fn only_so_much_is_kept_for_who_is_away() {
    let mut house = House::with(|config| config.replay_events = 3);
    let id = house.initialize("2025-11-25");
    for tool in ["a", "b", "c", "d", "e"] {
        change(&mut house, tool);
    }
    let conn = listen(&mut house, &id, "");
    assert_eq!(messages(&house.read(conn)).len(), 3);
}
