//! Servers of the legacy era: sessions, requests of the server's, streams that are resumed.

use std::time::Duration;

use windlass::client::CallOptions;
use windlass::model::{
    CallTool, CallToolParams, ClientCapabilities, EmptyParams, ListRootsResult, ListTools, PaginatedParams, Ping,
    RootsListChanged, SubscriptionFilter,
};

use crate::talk::{Request, THOUGHT, Talk, config, http, without_listener};

const SAFE_TOOL: &str = r#"{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"do","inputSchema":{"type":"object"}}]}"#;

#[test]
fn a_session_from_beginning_to_end() {
    let mut talk = Talk::legacy_with(config(), http(), "2025-11-25", Some("abc"));
    talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    assert_eq!(call.header("mcp-session-id"), Some("abc"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!((call.header("mcp-method"), call.header("mcp-name")), (None, None));
    talk.json(&call, 200, &call.result(r#"{"content":[]}"#));
    talk.close_and_expect("legacy_session");
}

#[test]
fn the_header_came_with_its_revision() {
    for (version, header) in [
        ("2024-11-05", None),
        ("2025-03-26", None),
        ("2025-06-18", Some("2025-06-18")),
        ("2025-11-25", Some("2025-11-25")),
    ] {
        let mut talk = Talk::legacy_with(config(), http(), version, None);
        talk.call::<Ping>(&EmptyParams::new());
        let ping = talk.request();
        assert_eq!((ping.header("mcp-protocol-version"), ping.header("mcp-session-id")), (header, None));
        talk.json(&ping, 200, &ping.result("{}"));
        // Without a session there is nothing to delete.
        talk.close();
        talk.nothing_left();
    }
}

#[test]
fn a_session_id_that_cannot_be_one_is_none() {
    for headers in ["Mcp-Session-Id: a b\r\n", "Mcp-Session-Id: é\r\n", "Mcp-Session-Id: a\r\nMCP-SESSION-ID: b\r\n"] {
        let (mut talk, initialize) = Talk::at_initialize(config(), without_listener());
        let body = initialize.result(&crate::talk::initialize_result("2025-11-25"));
        talk.say(&initialize, 200, &format!("Content-Type: application/json\r\n{headers}"), Some(&body));
        let announcement = talk.announcement();
        assert_eq!(announcement.header("mcp-session-id"), None);
        talk.plain(&announcement, 202, "");
        talk.close();
        talk.nothing_left();
    }
}

#[test]
fn requests_of_the_server_are_answered_by_posts() {
    let mut config = config();
    config.capabilities = ClientCapabilities::new().with_roots(true);
    let mut talk = Talk::legacy_with(config, http(), "2025-11-25", Some("s1"));
    talk.call::<CallTool>(&CallToolParams::new("nosy"));
    let call = talk.request();
    talk.stream(&call);
    talk.event(&call, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#);
    talk.event(&call, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    let reply = talk.inputs.remove(0);
    talk.client.respond(reply, Ok(ListRootsResult::new([]).into()), talk.now);
    talk.run();
    let answer = talk.request();
    assert_eq!(answer.header("mcp-session-id"), Some("s1"));
    // What comes back for an answer or a notification is of no interest, as long as it is a success.
    talk.json(&answer, 200, r#"{"surprise":true}"#);
    talk.client.notify::<RootsListChanged>(&EmptyParams::new(), talk.now).unwrap();
    talk.run();
    let notice = talk.request();
    talk.plain(&notice, 204, "");
    talk.event(&call, &call.result(r#"{"content":[]}"#));
    talk.end(&call);
    talk.close_and_expect("legacy_server_requests");
}

#[test]
fn what_is_not_delivered_is_reported() {
    let mut talk = Talk::legacy();
    for _ in 0..3 {
        talk.client.notify::<RootsListChanged>(&EmptyParams::new(), talk.now).unwrap();
        talk.run();
    }
    let (refused, broken, _silent) = (talk.request(), talk.request(), talk.request());
    talk.plain(&refused, 400, "what?");
    talk.tells("! not delivered: the server answered with HTTP status 400 Bad Request: what?");
    talk.breaks(broken.conn, "reset");
    talk.tells("! not delivered: the connection broke: reset");
    talk.pass(Duration::from_secs(30));
    talk.tells("! not delivered: the peer did not answer within 30s");
    talk.close_down();
}

#[test]
fn cancelling_tells_the_server() {
    let mut talk = Talk::legacy();
    let (number, call) = talk.call::<CallTool>(&CallToolParams::new("slow"));
    let request = talk.request();
    talk.client.cancel(call, "never mind", talk.now);
    talk.run();
    let notice = talk.request();
    assert!(
        notice.body.contains(r#""method":"notifications/cancelled","params":{"requestId":2,"reason":"never mind"}"#)
    );
    talk.plain(&notice, 202, "");
    assert_eq!(talk.failed(number), "the call was cancelled");
    talk.tells(&format!("x {}", request.conn));
    talk.close_down();
}

#[test]
fn nothing_is_said_before_the_session_is_complete() {
    let (mut talk, announcement) = Talk::at_the_announcement(Some("s1"));
    // The program may call at once; the server is not bothered yet.
    talk.call::<Ping>(&EmptyParams::new());
    talk.no_request();
    talk.plain(&announcement, 202, "");
    assert_eq!(talk.request().says(), "ping");
    talk.close_down();
}

#[test]
fn an_announcement_that_fails_does_not_stop_anything() {
    let (mut talk, announcement) = Talk::at_the_announcement(None);
    talk.plain(&announcement, 500, "");
    talk.call::<Ping>(&EmptyParams::new());
    assert_eq!(talk.request().says(), "ping");
    talk.close_down();
}

#[test]
fn a_client_initializes_again_when_its_session_is_forgotten_and_repeats_what_is_safe() {
    let mut talk = Talk::legacy();
    talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    talk.json(&list, 200, &list.result(SAFE_TOOL));
    let (looks, _) = talk.call::<CallTool>(&CallToolParams::new("look"));
    let look = talk.request();
    let (does, _) = talk.call::<CallTool>(&CallToolParams::new("do"));
    let act = talk.request();
    talk.plain(&look, 404, "Session not found");
    let initialize = talk.request();
    assert_eq!((initialize.says().as_str(), initialize.header("mcp-session-id")), ("initialize", None));
    assert_eq!(initialize.header("mcp-protocol-version"), None);
    talk.plain(&act, 404, "Session not found");
    assert!(talk.failed(does).contains("the server has forgotten the session"));
    // Calls may be made meanwhile; they wait.
    let (waits, _) = talk.call::<Ping>(&EmptyParams::new());
    talk.no_request();
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    let announcement = talk.announcement();
    assert_eq!(announcement.header("mcp-session-id"), Some("s2"));
    talk.no_request();
    talk.plain(&announcement, 202, "");
    let again = talk.request_for("tools/call");
    assert_eq!(again.header("mcp-session-id"), Some("s2"));
    let ping = talk.request_for("ping");
    talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
    talk.json(&ping, 200, &ping.result("{}"));
    assert!(talk.outcome(looks).is_ok() && talk.outcome(waits).is_ok());
    talk.tells("! reinitialized: 2025-11-25");
    // The new one is deleted in the end.
    talk.close();
    let delete = talk.request();
    assert_eq!((delete.head.method.as_str(), delete.header("mcp-session-id")), ("DELETE", Some("s2")));
    talk.plain(&delete, 405, "");
    talk.nothing_left();
}

#[test]
fn late_news_of_the_old_session_does_not_end_the_new_one() {
    let mut talk = Talk::legacy();
    let (first, _) = talk.call::<Ping>(&EmptyParams::new());
    let (second, _) = talk.call::<Ping>(&EmptyParams::new());
    let (one, two) = (talk.request(), talk.request());
    talk.plain(&one, 404, "");
    talk.begins("2025-11-25", Some("s2"));
    let again = talk.request();
    talk.json(&again, 200, &again.result("{}"));
    talk.plain(&two, 404, "");
    let again = talk.request();
    assert_eq!((again.says().as_str(), again.header("mcp-session-id")), ("ping", Some("s2")));
    talk.json(&again, 200, &again.result("{}"));
    assert!(talk.outcome(first).is_ok() && talk.outcome(second).is_ok());
    talk.close_down();
}

#[test]
fn a_client_initializes_again_once_for_a_call() {
    let mut talk = Talk::legacy();
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    talk.begins("2025-11-25", Some("s2"));
    let again = talk.request();
    talk.plain(&again, 404, "");
    assert!(talk.failed(number).contains("the server has forgotten the session"));
    talk.close_down();
}

#[test]
fn calls_fail_if_the_client_cannot_initialize_again() {
    let mut talk = Talk::legacy();
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    let initialize = talk.request();
    talk.plain(&initialize, 503, "");
    assert!(talk.failed(number).contains("503 Service Unavailable"));
    // The next call tries again.
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    assert_eq!(ping.header("mcp-session-id"), Some("s1"));
    talk.plain(&ping, 404, "");
    talk.begins("2025-11-25", Some("s2"));
    let again = talk.request();
    talk.json(&again, 200, &again.result("{}"));
    assert!(talk.outcome(number).is_ok());
    // Silence is bounded too.
    let (number, _) = talk.call_with::<Ping>(
        &EmptyParams::new(),
        &CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO),
    );
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    talk.request();
    talk.pass(Duration::from_secs(30));
    assert!(talk.failed(number).contains("did not answer within 30s"));
    talk.close_down();
}

#[test]
fn subscriptions_move_to_the_new_session() {
    let mut talk = Talk::legacy();
    let filter = SubscriptionFilter::new().with_resource_subscriptions(vec!["file:///a".to_owned()]);
    talk.client.listen(filter, &CallOptions::new(), 9, talk.now).unwrap();
    talk.run();
    let subscribe = talk.request();
    talk.json(&subscribe, 200, &subscribe.result("{}"));
    talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    talk.begins("2025-11-25", Some("s2"));
    let again = talk.request();
    assert_eq!(again.says(), "ping");
    let subscribe = talk.request();
    assert_eq!((subscribe.says().as_str(), subscribe.header("mcp-session-id")), ("resources/subscribe", Some("s2")));
    talk.json(&again, 200, &again.result("{}"));
    talk.json(&subscribe, 200, &subscribe.result("{}"));
    talk.close_down();
}

#[test]
fn a_broken_stream_is_resumed_behind_its_last_event() {
    let mut talk = Talk::legacy_with(config(), http(), "2025-03-26", Some("s1"));
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("test_reconnection"));
    let call = talk.request();
    talk.stream(&call);
    talk.lines(&call, "id: e1\nretry: 500\ndata: \n\n");
    talk.end(&call);
    talk.pass(Duration::from_millis(499));
    talk.no_request();
    talk.pass(Duration::from_millis(1));
    let get = talk.request();
    assert_eq!((get.head.method.as_str(), get.header("last-event-id")), ("GET", Some("e1")));
    assert_eq!((get.header("mcp-session-id"), get.header("accept")), (Some("s1"), Some("text/event-stream")));
    talk.stream(&get);
    // An answer to another call does not belong here either.
    talk.event(&get, r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    talk.lines(&get, &format!("id: e2\ndata: {}\n\n", call.result(r#"{"content":[]}"#)));
    talk.end(&get);
    assert!(talk.outcome(number).is_ok());
    assert_eq!(talk.client.counters().unknown_answers, 1);
    talk.pass(Duration::from_secs(100));
    talk.no_request();
    talk.close_and_expect("legacy_resumed");
}

#[test]
fn streams_are_resumed_each_behind_its_own() {
    let mut talk = Talk::legacy();
    talk.call::<CallTool>(&CallToolParams::new("one"));
    talk.call::<CallTool>(&CallToolParams::new("two"));
    let (one, two) = (talk.request(), talk.request());
    talk.stream(&one);
    talk.stream(&two);
    talk.lines(&one, "id: a\ndata: \n\n");
    talk.lines(&two, "id: b\ndata: \n\n");
    talk.cut(&two);
    talk.cut(&one);
    talk.pass(Duration::from_secs(1));
    let (first, second) = (talk.request(), talk.request());
    assert_eq!((first.header("last-event-id"), second.header("last-event-id")), (Some("b"), Some("a")));
    talk.close_down();
}

#[test]
fn tries_are_further_and_further_apart_and_come_to_an_end() {
    let mut talk = Talk::legacy();
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    let (number, _) = talk.call_with::<CallTool>(&CallToolParams::new("echo"), &options);
    let call = talk.request();
    talk.stream(&call);
    talk.lines(&call, "id: e1\ndata: \n\n");
    talk.cut(&call);
    for wait in [1, 2, 4, 8, 16] {
        talk.pass(Duration::from_secs(wait) - Duration::from_millis(1));
        talk.no_request();
        talk.pass(Duration::from_millis(1));
        let get = talk.request();
        assert_eq!(get.header("last-event-id"), Some("e1"));
        talk.breaks(get.conn, "reset");
    }
    assert_eq!(
        talk.failed(number),
        "no response received for request ID 2: the connection broke: reset; whether the server carried it out is unknown"
    );
    talk.close_down();
}

#[test]
fn a_stream_that_brings_something_each_time_is_resumed_for_as_long_as_it_does() {
    let mut talk = Talk::legacy();
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    let (number, _) = talk.call_with::<CallTool>(&CallToolParams::new("echo"), &options);
    let call = talk.request();
    talk.stream(&call);
    talk.lines(&call, "id: 0\ndata: \n\n");
    talk.cut(&call);
    for id in 1..20 {
        talk.pass(Duration::from_secs(1));
        let get = talk.request();
        assert_eq!(get.header("last-event-id"), Some((id - 1).to_string().as_str()));
        talk.stream(&get);
        let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}"#;
        talk.lines(&get, &format!("id: {id}\ndata: {message}\n\n"));
        talk.end(&get);
    }
    talk.pass(Duration::from_secs(1));
    let get = talk.request();
    talk.stream(&get);
    talk.event(&get, &call.result(r#"{"content":[]}"#));
    talk.end(&get);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_server_that_does_not_resume() {
    for status in [400, 405, 404] {
        // With a session, the last would mean something else.
        let session = Some("s1").filter(|_| status != 404);
        let mut talk = Talk::legacy_with(config(), http(), "2025-11-25", session);
        let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
        let call = talk.request();
        talk.stream(&call);
        let event = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        talk.lines(&call, &format!("id: e1\ndata: {event}\n\n"));
        talk.cut(&call);
        talk.pass(Duration::from_secs(1));
        let get = talk.request();
        talk.json(&get, status, "no such stream");
        let failed = talk.failed(number);
        let expected = "no response received for request ID 2: the stream broke, and the server does not resume it";
        assert!(failed.starts_with(expected), "{failed}");
        assert!(failed.contains(": no such stream"), "what is told of the refusal is its own: {failed}");
        talk.close_down();
    }
}

/// A call whose stream broke, and the request for the rest of it.
fn at_the_resumption() -> (Talk, u32, Request, Request) {
    let mut talk = Talk::legacy();
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    let (number, _) = talk.call_with::<CallTool>(&CallToolParams::new("echo"), &options);
    let call = talk.request();
    talk.stream(&call);
    talk.lines(&call, "id: e1\ndata: \n\n");
    talk.cut(&call);
    talk.pass(Duration::from_secs(1));
    let get = talk.request();
    (talk, number, call, get)
}

#[test]
fn a_call_whose_quiet_stream_is_cut_by_a_proxy_is_resumed_for_as_long_as_it_takes() {
    let (mut talk, number, call, mut get) = at_the_resumption();
    for _ in 0..20 {
        talk.stream(&get);
        talk.pass(Duration::from_secs(60));
        talk.cut(&get);
        talk.pass(Duration::from_secs(1));
        get = talk.request();
        assert_eq!(get.header("last-event-id"), Some("e1"));
    }
    talk.stream(&get);
    talk.event(&get, &call.result(r#"{"content":[]}"#));
    talk.end(&get);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_server_that_cannot_resume_for_now() {
    for status in [408, 429, 500, 503] {
        let (mut talk, number, call, mut get) = at_the_resumption();
        for wait in [2, 4] {
            talk.pass(THOUGHT);
            talk.plain(&get, status, "{\"not\":\"now\"}");
            talk.pass(Duration::from_secs(wait) - Duration::from_millis(1));
            talk.no_request();
            talk.pass(Duration::from_millis(1));
            get = talk.request();
            assert_eq!((get.head.method.as_str(), get.header("last-event-id")), ("GET", Some("e1")));
        }
        talk.stream(&get);
        talk.event(&get, &call.result(r#"{"content":[]}"#));
        talk.end(&get);
        assert!(talk.outcome(number).is_ok());
        talk.close_down();
        // Not for ever.
        let (mut talk, number, _, mut get) = at_the_resumption();
        for wait in [2, 4, 8, 16] {
            talk.pass(THOUGHT);
            talk.plain(&get, status, "");
            talk.pass(Duration::from_secs(wait));
            get = talk.request();
        }
        talk.pass(THOUGHT);
        talk.plain(&get, status, "");
        assert!(
            talk.failed(number)
                .contains(&format!("the server does not resume it (the server answered with HTTP status {status}")),
            "{}",
            talk.failed(number)
        );
        talk.close_down();
    }
}

#[test]
fn a_server_that_has_forgotten_the_session_of_a_broken_stream() {
    let (mut talk, number, _, get) = at_the_resumption();
    talk.json(&get, 404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#);
    // Whether the call was carried out nobody knows.
    assert!(talk.failed(number).contains("whether the server carried it out is unknown"), "{}", talk.failed(number));
    talk.begins("2025-11-25", Some("s2"));
    talk.no_request();
    assert!(talk.client.is_idle());
    talk.close_down();
}

#[test]
fn a_message_that_finds_no_session_has_the_client_initialize_again() {
    let mut talk = Talk::legacy();
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.stream(&call);
    talk.event(&call, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    talk.event(&call, r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#);
    let (pong, late) = (talk.request(), talk.request());
    talk.plain(&pong, 404, "Session not found");
    talk.tells("! not delivered: the server answered with HTTP status 404 Not Found");
    talk.begins("2025-11-25", Some("s2"));
    // Late news of the old one is no news.
    talk.plain(&late, 404, "Session not found");
    talk.no_request();
    talk.event(&call, &call.result(r#"{"content":[]}"#));
    talk.end(&call);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_client_does_not_initialize_again_without_end_with_a_server_that_never_takes_the_announcement() {
    let (mut talk, announcement) = Talk::at_the_announcement(Some("s1"));
    talk.plain(&announcement, 404, "");
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_call_that_is_over_is_not_resumed() {
    let mut talk = Talk::legacy();
    let (number, call) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let request = talk.request();
    talk.stream(&request);
    talk.lines(&request, "id: e1\nretry: 100000\ndata: \n\n");
    talk.cut(&request);
    talk.client.cancel(call, "", talk.now);
    talk.run();
    assert!(talk.outcome(number).is_err());
    let notice = talk.request();
    talk.plain(&notice, 202, "");
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

#[test]
fn batches_where_the_revision_has_them() {
    let mut talk = Talk::legacy_with(config(), http(), "2025-03-26", None);
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    let batch = format!(r#"[{{"jsonrpc":"2.0","id":"p","method":"ping"}},7,{}]"#, ping.result("{}"));
    talk.json(&ping, 200, &batch);
    assert!(talk.outcome(number).is_ok());
    let pong = talk.request();
    assert_eq!(pong.body, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    talk.plain(&pong, 202, "");
    talk.close_down();
    let mut talk = Talk::legacy();
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.json(&ping, 200, &format!("[{}]", ping.result("{}")));
    assert!(talk.failed(number).contains("this protocol version has no batches"));
    talk.close_down();
}

#[test]
fn closing_does_not_wait_for_ever() {
    let mut talk = Talk::legacy();
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("slow"));
    talk.request();
    talk.close();
    assert!(talk.failed(number).contains("closed by this side"));
    // The server is told, but never answers; nor does it to the DELETE.
    assert_eq!(talk.request().says(), "notifications/cancelled");
    talk.pass(Duration::from_secs(2));
    assert_eq!(talk.request().head.method, "DELETE");
    talk.pass(Duration::from_secs(2));
    talk.nothing_left();
}
