//! The stream on which a legacy server speaks unasked.

use std::time::Duration;

use windlass::model::{EmptyParams, Ping};

use crate::talk::{Request, Talk, config, http};

/// A client at the point where it wants to listen.
fn at_the_listener() -> (Talk, Request) {
    let mut config = config();
    config.negotiation = windlass::client::Negotiation::Legacy;
    let mut talk = Talk::new(config, http());
    let initialize = talk.request();
    talk.initialized(&initialize, "2025-11-25", Some("s1"));
    let get = talk.request();
    assert_eq!((get.head.method.as_str(), get.header("accept")), ("GET", Some("text/event-stream")));
    assert_eq!((get.header("mcp-session-id"), get.header("last-event-id")), (Some("s1"), None));
    talk.no_request();
    (talk, get)
}

#[track_caller]
fn announced(talk: &mut Talk) {
    let announcement = talk.request();
    assert_eq!(announcement.says(), "notifications/initialized", "{}", talk.transcript);
    talk.plain(&announcement, 202, "");
}

#[test]
fn what_comes_unasked() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    announced(&mut talk);
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    talk.event(&get, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    let pong = talk.request();
    talk.plain(&pong, 202, "");
    // Answers do not belong here.
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.event(&get, &ping.result("{}"));
    assert!(!talk.outcomes.contains_key(&number));
    talk.json(&ping, 200, &ping.result("{}"));
    assert!(talk.client.is_idle());
    // It may be silent for as long as it likes.
    talk.pass(Duration::from_secs(100_000));
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#);
    talk.tells("! told notifications/prompts/list_changed");
    talk.close_and_expect("listening");
}

#[test]
fn a_server_that_has_none() {
    for status in [400, 401, 404, 405, 409, 500] {
        let (mut talk, get) = at_the_listener();
        talk.plain(&get, status, "no");
        announced(&mut talk);
        talk.pass(Duration::from_secs(1000));
        talk.no_request();
        assert!(!talk.transcript.contains("! not") && !talk.transcript.contains("challenged"));
        talk.close_down();
    }
    let (mut talk, get) = at_the_listener();
    talk.json(&get, 200, "{}");
    announced(&mut talk);
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
    let (mut talk, get) = at_the_listener();
    // Once more on a fresh connection, and that is that.
    talk.breaks(get.conn, "reset");
    let get = talk.request();
    talk.breaks(get.conn, "reset");
    announced(&mut talk);
    talk.close_down();
}

#[test]
fn a_server_that_cannot_decide_is_waited_for_one_second() {
    let (mut talk, get) = at_the_listener();
    talk.pass(Duration::from_millis(999));
    talk.no_request();
    talk.pass(Duration::from_millis(1));
    announced(&mut talk);
    // It may still come; after ten seconds it need not.
    talk.stream(&get);
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    talk.tells("! told notifications/tools/list_changed");
    talk.close_down();
    let (mut talk, get) = at_the_listener();
    talk.pass(Duration::from_secs(1));
    announced(&mut talk);
    talk.pass(Duration::from_secs(9));
    talk.tells(&format!("@ 10s\nx {}", get.conn));
    talk.close_down();
}

#[test]
fn it_is_opened_again() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    announced(&mut talk);
    talk.lines(
        &get,
        "id: 5\nretry: 300\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
    );
    talk.cut(&get);
    talk.pass(Duration::from_millis(299));
    talk.no_request();
    talk.pass(Duration::from_millis(1));
    let again = talk.request();
    assert_eq!((again.header("last-event-id"), again.header("mcp-session-id")), (Some("5"), Some("s1")));
    talk.stream(&again);
    talk.lines(&again, "id: 6\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    talk.end(&again);
    // Five tries without an event in between are enough.
    for _ in 0..5 {
        talk.pass(Duration::from_millis(300));
        let again = talk.request();
        assert_eq!(again.header("last-event-id"), Some("6"));
        talk.stream(&again);
        talk.cut(&again);
    }
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

#[test]
fn it_moves_to_the_new_session() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    announced(&mut talk);
    talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    talk.tells(&format!("x {}", get.conn));
    let initialize = talk.request();
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    let get = talk.request();
    assert_eq!((get.head.method.as_str(), get.header("mcp-session-id")), ("GET", Some("s2")));
    assert_eq!(get.header("last-event-id"), None);
    talk.stream(&get);
    announced(&mut talk);
    let ping = talk.request();
    talk.json(&ping, 200, &ping.result("{}"));
    assert!(talk.client.is_idle());
    talk.close_down();
}

#[test]
fn a_server_that_wants_no_pause_gets_a_short_one() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    announced(&mut talk);
    talk.lines(&get, "retry: 0\n\n");
    talk.cut(&get);
    talk.no_request();
    assert_eq!(talk.deadline, Some(talk.now + Duration::from_millis(50)));
    talk.pass(Duration::from_millis(50));
    let again = talk.request();
    // Refused this time: that is that.
    talk.plain(&again, 405, "");
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}
