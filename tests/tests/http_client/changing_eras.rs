//! Servers that are restarted in another era, behind the same address.

use std::time::Duration;

use windlass::Machine;
use windlass::client::{CallOptions, ClientConfig, Negotiation};
use windlass::model::{
    CallTool, CallToolParams, EmptyParams, ListTools, PaginatedParams, Ping, ProtocolVersion, SubscriptionFilter,
};

use crate::talk::{DISCOVERED, Request, Talk, config, http, without_listener};

const TOOLS: &str = r#"{"resultType":"complete","tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"do","inputSchema":{"type":"object"}}]}"#;

fn list(talk: &mut Talk) -> (u32, Request) {
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    (number, talk.request())
}

fn call(talk: &mut Talk, tool: &str) -> (u32, Request) {
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new(tool));
    (number, talk.request())
}

/// A client of a modern server that has listed its tools.
fn modern() -> Talk {
    let mut talk = Talk::modern_with(config(), without_listener());
    let (_, listing) = list(&mut talk);
    talk.json(&listing, 200, &listing.result(TOOLS));
    talk
}

/// A client of either era, whose server speaks the legacy one and has told its tools.
fn legacy() -> Talk {
    legacy_with(config())
}

fn legacy_with(config: ClientConfig) -> Talk {
    let mut talk = Talk::new(config, without_listener());
    let probe = talk.request();
    talk.plain(&probe, 404, "");
    talk.begins("2025-11-25", Some("s1"));
    let (_, listing) = list(&mut talk);
    talk.json(&listing, 200, &listing.result(TOOLS));
    talk
}

/// The probe is refused as a legacy server refuses it, and the handshake is gone through.
#[track_caller]
fn becomes_legacy(talk: &mut Talk, session: Option<&str>) {
    let probe = talk.request_for("server/discover");
    assert_eq!(probe.header("mcp-session-id"), None);
    talk.plain(&probe, 400, "Mcp-Session-Id is missing");
    talk.begins("2025-06-18", session);
}

#[test]
fn a_modern_server_that_is_legacy_now_is_followed() {
    let not_initialized = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required; send initialize first"}}"#;
    let unsupported = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}}"#;
    for (status, body) in [
        (400, ""),
        (404, "Not Found"),
        (405, ""),
        (406, ""),
        (415, ""),
        (422, "{}"),
        (400, not_initialized),
        (400, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Missing session ID"}}"#),
        (400, unsupported),
    ] {
        let mut talk = modern();
        let (looks, look) = call(&mut talk, "look");
        let (does, act) = call(&mut talk, "do");
        talk.json(&look, status, body);
        // Calls may be made meanwhile; they wait, and so does the verdict on those that were refused.
        let (waits, _) = talk.call::<Ping>(&EmptyParams::new());
        talk.json(&act, status, body);
        assert!(!talk.outcomes.contains_key(&does) && !talk.outcomes.contains_key(&looks));
        becomes_legacy(&mut talk, Some("s1"));
        talk.tells("! reinitialized: 2025-06-18");
        assert!(talk.failed(does).contains("speaks another revision now"), "{}", talk.failed(does));
        let again = talk.request_for("tools/call");
        assert_eq!(again.header("mcp-session-id"), Some("s1"));
        assert_eq!(again.header("mcp-protocol-version"), Some("2025-06-18"));
        assert_eq!((again.header("mcp-method"), again.header("mcp-name")), (None, None));
        assert!(again.body.contains("progressToken") && !again.body.contains("io.modelcontextprotocol"));
        talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
        let ping = talk.request_for("ping");
        assert!(!ping.body.contains("_meta"), "{}", ping.body);
        talk.json(&ping, 200, &ping.result("{}"));
        assert!(talk.outcome(looks).is_ok() && talk.outcome(waits).is_ok());
        assert_eq!(talk.client.peer().unwrap().version, ProtocolVersion::V2025_06_18);
        talk.no_request();
        // From here on it is a session like any other.
        let (number, listing) = list(&mut talk);
        assert_eq!(listing.header("mcp-session-id"), Some("s1"));
        talk.json(&listing, 200, &listing.result(r#"{"tools":[]}"#));
        assert!(talk.outcome(number).is_ok());
        talk.close_down();
    }
}

#[test]
fn a_modern_server_that_refuses_to_be_asked_stays_what_it_was() {
    for code in [-32020, -32021] {
        let mut talk = modern();
        let (looks, look) = call(&mut talk, "look");
        talk.plain(&look, 400, "out of order");
        let probe = talk.request_for("server/discover");
        // Only a modern server knows this error.
        talk.json(&probe, 400, &probe.error(code, "not for you"));
        assert!(talk.failed(looks).contains("HTTP status 400"), "{}", talk.failed(looks));
        assert!(talk.client.peer().is_some() && !talk.transcript.contains("! reinitialized"), "{}", talk.transcript);
        let (number, request) = call(&mut talk, "look");
        assert!(request.body.contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#), "{}", request.body);
        talk.json(&request, 200, &request.result(r#"{"content":[]}"#));
        assert!(talk.outcome(number).is_ok());
        talk.close_down();
    }
}

#[test]
fn what_is_refused_late_is_not_asked_about_again() {
    let mut talk = modern();
    let ((looks, look), (does, act)) = (call(&mut talk, "look"), call(&mut talk, "do"));
    let (looks_too, look_too) = call(&mut talk, "look");
    talk.plain(&look, 400, "");
    becomes_legacy(&mut talk, None);
    let again = talk.request();
    talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
    talk.plain(&act, 400, "");
    assert!(talk.failed(does).contains("speaks another revision now"));
    talk.plain(&look_too, 404, "");
    let again = talk.request();
    assert!(!again.body.contains("io.modelcontextprotocol"), "{}", again.body);
    talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
    assert!(talk.outcome(looks).is_ok() && talk.outcome(looks_too).is_ok());
    assert_eq!(talk.transcript.matches("! reinitialized").count(), 1);
    talk.close_down();
}

#[test]
fn a_false_alarm_changes_nothing_and_is_not_repeated_at_once() {
    let mut talk = modern();
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "not this one");
    let (waits, _) = talk.call::<CallTool>(&CallToolParams::new("do"));
    assert_eq!(talk.requests_left(), 1, "nothing but the question");
    talk.still_modern();
    assert!(talk.failed(number).contains("404 Not Found: not this one"));
    let act = talk.request();
    assert!(act.body.contains("io.modelcontextprotocol/protocolVersion"));
    talk.json(&act, 200, &act.result(r#"{"content":[]}"#));
    assert!(talk.outcome(waits).is_ok());
    assert!(!talk.transcript.contains("! reinitialized"));
    // It refuses the next in the same way.
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "nor this one");
    assert!(talk.failed(number).contains("404 Not Found: nor this one"));
    talk.no_request();
    // But it may change later.
    talk.pass(Duration::from_secs(10));
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "");
    becomes_legacy(&mut talk, None);
    let again = talk.request();
    talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn refusals_that_say_nothing_about_the_era_are_no_reason_to_ask() {
    let mut talk = modern();
    for (status, code) in [(404, -32601), (400, -32602), (400, -32021), (400, -32700)] {
        let (number, look) = call(&mut talk, "look");
        talk.json(&look, status, &look.error(code, "no"));
        assert!(talk.failed(number).contains(&format!("(code {code})")));
        talk.no_request();
    }
    for status in [401, 403, 429, 500, 502, 503] {
        let (number, look) = call(&mut talk, "look");
        talk.plain(&look, status, "");
        assert!(talk.failed(number).contains(&status.to_string()));
        talk.no_request();
    }
    talk.close_down();
}

#[test]
fn a_server_that_cannot_be_asked_now_is_asked_by_the_next_call() {
    for status in [401, 403, 429, 500, 503] {
        let mut talk = modern();
        let (number, look) = call(&mut talk, "look");
        talk.plain(&look, 404, "gone");
        let (waits, _) = talk.call::<CallTool>(&CallToolParams::new("do"));
        let probe = talk.request();
        talk.plain(&probe, status, "");
        assert!(talk.failed(number).contains("404 Not Found: gone"));
        // Whatever waited is none the worse for it.
        let act = talk.request();
        talk.json(&act, 200, &act.result(r#"{"content":[]}"#));
        assert!(talk.outcome(waits).is_ok());
        talk.close_down();
    }
    // Silence is bounded, and so is a server that refuses everything.
    let mut talk = modern();
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    let (number, _) = talk.call_with::<CallTool>(&CallToolParams::new("look"), &options);
    let look = talk.request();
    talk.plain(&look, 404, "gone");
    talk.request();
    talk.pass(Duration::from_secs(30));
    assert!(talk.failed(number).contains("404 Not Found: gone"));
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "still gone");
    for says in ["server/discover", "initialize", "server/discover", "initialize"] {
        let request = talk.request();
        assert_eq!(request.says(), says);
        talk.plain(&request, 404, "");
    }
    assert!(talk.failed(number).contains("404 Not Found: still gone"));
    talk.no_request();
    // It is back.
    let (number, look) = call(&mut talk, "look");
    talk.json(&look, 200, &look.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn calls_that_are_made_between_two_questions_wait_for_the_answer() {
    let mut talk = modern();
    let (looks, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "");
    let probe = talk.request();
    // It refuses, and takes too long to say why.
    talk.say(&probe, 400, "", None);
    talk.now = talk.now + Duration::from_secs(5);
    talk.client.handle_timeout(talk.now);
    let (waits, _) = talk.call::<CallTool>(&CallToolParams::new("do"));
    let initialize = talk.request();
    assert_eq!(initialize.says(), "initialize");
    talk.no_request();
    talk.initialized(&initialize, "2025-11-25", None);
    talk.announced();
    for _ in 0..2 {
        let request = talk.request_for("tools/call");
        assert!(!request.body.contains("io.modelcontextprotocol"), "{}", request.body);
        talk.json(&request, 200, &request.result(r#"{"content":[]}"#));
    }
    assert!(talk.outcome(looks).is_ok() && talk.outcome(waits).is_ok());
    talk.close_down();
}

#[test]
fn a_program_that_wants_one_era_only_is_not_led_into_the_other() {
    let mut config = config();
    config.negotiation = Negotiation::Pinned(ProtocolVersion::V2026_07_28);
    let mut talk = Talk::modern_with(config, http());
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 400, "send initialize first");
    assert!(talk.failed(number).contains("400 Bad Request: send initialize first"));
    talk.no_request();
    talk.close_down();
}

#[test]
fn inputs_and_subscriptions_of_the_old_session_end_with_it() {
    let mut config = config();
    config.capabilities = windlass::model::ClientCapabilities::new().with_roots(false);
    let mut talk = Talk::modern_with(config, without_listener());
    // One call waits for the program's answer, another is a subscription.
    let (asks, nosy) = call(&mut talk, "nosy");
    let needs = r#"{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"x"}"#;
    talk.json(&nosy, 200, &nosy.result(needs));
    assert_eq!(talk.inputs.len(), 1);
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 400, "");
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    talk.client.listen(filter, &CallOptions::new(), 9, talk.now).unwrap();
    talk.run();
    becomes_legacy(&mut talk, None);
    for number in [asks, number, 9] {
        assert!(talk.failed(number).contains("speaks another revision now"), "{}", talk.failed(number));
    }
    talk.tells("! input is not needed any more");
    // It can be subscribed to as usual.
    let filter = SubscriptionFilter::new().with_resource_subscriptions(vec!["file:///a".to_owned()]);
    talk.client.listen(filter, &CallOptions::new(), 10, talk.now).unwrap();
    talk.run();
    let subscribe = talk.request();
    assert_eq!(subscribe.says(), "resources/subscribe");
    talk.json(&subscribe, 200, &subscribe.result("{}"));
    talk.close_down();
}

#[test]
fn a_legacy_server_that_is_modern_now_is_followed() {
    let without_header = |request: &Request| request.error(-32020, "MCP-Protocol-Version is missing");
    let refusals: [fn(&mut Talk, &Request); 4] = [
        |talk, request| talk.json(request, 400, &request.error(-32020, "MCP-Protocol-Version is missing")),
        |talk, request| talk.json(request, 404, &request.error(-32601, "no such method")),
        |talk, request| talk.plain(request, 400, ""),
        |talk, request| talk.plain(request, 405, ""),
    ];
    for (at, refuse) in refusals.into_iter().enumerate() {
        let mut talk = legacy();
        let filter = SubscriptionFilter::new().with_tools_list_changed(true);
        talk.client.listen(filter, &CallOptions::new(), 9, talk.now).unwrap();
        talk.run();
        let ((looks, look), (does, act)) = (call(&mut talk, "look"), call(&mut talk, "do"));
        // A modern server knows no sessions, or says at once that it is modern.
        if at == 0 {
            talk.json(&look, 400, &without_header(&look));
        } else {
            talk.plain(&look, 404, "");
        }
        let initialize = talk.request();
        assert_eq!(initialize.says(), "initialize");
        let (waits, _) = talk.call::<Ping>(&EmptyParams::new());
        refuse(&mut talk, &initialize);
        let probe = talk.request();
        assert_eq!((probe.says().as_str(), probe.header("mcp-session-id")), ("server/discover", None));
        talk.json(&probe, 200, &probe.result(DISCOVERED));
        talk.tells("! reinitialized: 2026-07-28");
        let again = talk.request_for("tools/call");
        assert_eq!((again.header("mcp-method"), again.header("mcp-name")), (Some("tools/call"), Some("look")));
        assert_eq!(again.header("mcp-session-id"), None);
        assert!(again.body.contains("io.modelcontextprotocol/protocolVersion"), "{}", again.body);
        talk.json(&again, 200, &again.result(r#"{"resultType":"complete","content":[]}"#));
        let ping = talk.request_for("server/discover");
        talk.json(&ping, 200, &ping.result(DISCOVERED));
        talk.plain(&act, 400, "");
        for number in [does, 9] {
            assert!(talk.failed(number).contains("speaks another revision now"));
        }
        assert!(talk.outcome(looks).is_ok() && talk.outcome(waits).is_ok());
        talk.no_request();
        // There is no session to delete any more.
        talk.close();
        talk.nothing_left();
    }
}

#[test]
fn a_call_that_was_carried_over_can_be_asked_back() {
    let mut config = config();
    config.capabilities = windlass::model::ClientCapabilities::new().with_roots(false);
    let mut talk = legacy_with(config);
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "");
    let initialize = talk.request();
    talk.plain(&initialize, 400, "");
    let probe = talk.request();
    talk.json(&probe, 200, &probe.result(DISCOVERED));
    let again = talk.request();
    let needs = r#"{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"x"}"#;
    talk.json(&again, 200, &again.result(needs));
    let reply = talk.inputs.remove(0);
    talk.client.respond(reply, Ok(windlass::model::ListRootsResult::new([]).into()), talk.now);
    talk.run();
    let round = talk.request();
    assert!(round.body.contains(r#""requestState":"x""#) && round.body.contains(r#""name":"look""#), "{}", round.body);
    talk.json(&round, 200, &round.result(r#"{"resultType":"complete","content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_legacy_server_that_only_spoke_like_a_modern_one_stays_legacy() {
    let mut talk = legacy();
    let (looks, look) = call(&mut talk, "look");
    talk.json(&look, 400, &look.error(-32020, "what?"));
    talk.begins("2025-11-25", Some("s2"));
    // It is another session, so what is safe is made again in it.
    let again = talk.request();
    assert_eq!((again.says().as_str(), again.header("mcp-session-id")), ("tools/call", Some("s2")));
    // It is not asked again so soon.
    talk.json(&again, 400, &again.error(-32020, "what?"));
    assert!(talk.failed(looks).contains("what? (code -32020)"), "{}", talk.failed(looks));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_legacy_server_that_wants_no_session_any_more_gets_none() {
    // It is not modern either, and says so: there is nothing left to try.
    let mut talk = legacy();
    let (number, look) = call(&mut talk, "look");
    talk.plain(&look, 404, "");
    let initialize = talk.request();
    talk.json(&initialize, 400, &initialize.error(-32000, "no more sessions"));
    let probe = talk.request();
    talk.plain(&probe, 400, "");
    let initialize = talk.request();
    talk.json(&initialize, 400, &initialize.error(-32000, "no more sessions"));
    assert!(talk.failed(number).contains("no more sessions"), "{}", talk.failed(number));
    let delete = talk.request();
    talk.plain(&delete, 404, "");
    talk.tells("! closed: the server refused the handshake: no more sessions (code -32000)");
    talk.nothing_left();
}

#[test]
fn what_is_made_again_is_made_in_the_words_of_now() {
    // Three reasons to make a call again, each of which comes when the server has become another meanwhile.
    for reason in ["broken", "late", "busy"] {
        let mut talk = modern();
        let (looks, look) = call(&mut talk, "look");
        if reason == "busy" {
            talk.say(&look, 503, "Retry-After: 5\r\n", Some(""));
        } else if reason == "broken" {
            talk.stream(&look);
        }
        let (other, refused) = call(&mut talk, "look");
        talk.plain(&refused, 400, "");
        becomes_legacy(&mut talk, Some("s1"));
        let again = talk.request_for("tools/call");
        talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
        assert!(talk.outcome(other).is_ok());
        match reason {
            "broken" => talk.cut(&look),
            "late" => talk.plain(&look, 408, ""),
            _ => talk.pass(Duration::from_secs(5)),
        }
        let again = talk.request_for("tools/call");
        assert_eq!(again.header("mcp-session-id"), Some("s1"), "{reason}");
        assert_eq!(again.header("mcp-protocol-version"), Some("2025-06-18"), "{reason}");
        assert!(!again.body.contains("io.modelcontextprotocol"), "{reason}: {}", again.body);
        talk.json(&again, 200, &again.result(r#"{"content":[]}"#));
        assert!(talk.outcome(looks).is_ok(), "{reason}");
        talk.close_down();
    }
}
