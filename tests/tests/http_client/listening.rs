//! The stream on which a legacy server speaks unasked.

use std::time::Duration;

use windlass::Seed;
use windlass::client::CallOptions;
use windlass::codec::http1::Headers;
use windlass::model::{EmptyParams, Ping, SubscriptionFilter};

use crate::talk::{Request, THOUGHT, Talk, config, http};

/// A client at the point where it wants to listen.
fn at_the_listener() -> (Talk, Request) {
    Talk::at_the_listener(config(), http(), Some("s1"))
}

#[test]
fn it_takes_no_connection_from_the_calls() {
    let mut http = http();
    http.connections = 1;
    let (mut talk, get) = Talk::at_the_listener(config(), http, Some("s1"));
    talk.stream(&get);
    talk.announced();
    // Long after what was opened for the handshake has been closed.
    talk.pass(Duration::from_secs(120));
    for _ in 0..3 {
        let (call, _) = talk.call::<Ping>(&EmptyParams::default());
        let request = talk.request();
        talk.json(&request, 200, &request.result("{}"));
        assert!(talk.outcome(call).is_ok());
    }
    // Calls wait for each other all the same.
    let (_, second) = (talk.call::<Ping>(&EmptyParams::default()), talk.call::<Ping>(&EmptyParams::default()));
    let request = talk.request();
    talk.no_request();
    talk.json(&request, 200, &request.result("{}"));
    let request = talk.request();
    talk.json(&request, 200, &request.result("{}"));
    assert!(talk.outcome(second.0).is_ok());
    talk.close_down();
}

#[test]
fn what_comes_unasked_is_told_and_answered_and_completes_no_call() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
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
        talk.announced();
        talk.pass(Duration::from_secs(1000));
        talk.no_request();
        assert!(!talk.transcript.contains("! not") && !talk.transcript.contains("challenged"));
        talk.close_down();
    }
    let (mut talk, get) = at_the_listener();
    talk.json(&get, 200, "{}");
    talk.announced();
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
    let (mut talk, get) = at_the_listener();
    // Once more on a fresh connection, and that is that.
    talk.breaks(get.conn, "reset");
    let get = talk.request();
    talk.breaks(get.conn, "reset");
    talk.announced();
    talk.close_down();
}

#[test]
fn it_is_not_waited_for_longer_than_a_call_may_take() {
    let mut hasty = config();
    hasty.idle_timeout = Duration::from_millis(200);
    let (mut talk, _) = Talk::at_the_listener(hasty, http(), Some("s1"));
    talk.pass(Duration::from_millis(199));
    talk.no_request();
    talk.pass(Duration::from_millis(1));
    talk.announced();
    talk.close_down();
    // Where a call may take for ever, so may this, until the stream is seen not to begin.
    let mut patient = config();
    patient.idle_timeout = Duration::ZERO;
    let (mut talk, _) = Talk::at_the_listener(patient, http(), Some("s1"));
    talk.pass(Duration::from_millis(9_999));
    talk.no_request();
    talk.pass(Duration::from_millis(1));
    talk.announced();
    talk.close_down();
}

#[test]
fn a_server_that_cannot_decide_is_waited_for_one_second() {
    let (mut talk, get) = at_the_listener();
    talk.pass(Duration::from_millis(999));
    talk.no_request();
    talk.pass(Duration::from_millis(1));
    talk.announced();
    // It may still come; after ten seconds it need not.
    talk.stream(&get);
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    talk.tells("! told notifications/tools/list_changed");
    talk.close_down();
    let (mut talk, get) = at_the_listener();
    talk.pass(Duration::from_secs(1));
    talk.announced();
    talk.pass(Duration::from_secs(9));
    talk.tells(&format!("@ 10s\nx {}", get.conn));
    talk.close_down();
}

#[test]
fn it_is_opened_again() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
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
    for wait in [300, 600, 1200, 2400, 4800] {
        talk.pass(Duration::from_millis(wait - 1));
        talk.no_request();
        talk.pass(Duration::from_millis(1));
        let again = talk.request();
        assert_eq!(again.header("last-event-id"), Some("6"));
        talk.stream(&again);
        talk.cut(&again);
    }
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// Opens the stream as often as the client wants to within a minute, each time with these lines and no more. Returns after
/// how long each time.
fn opened_in_a_minute(talk: &mut Talk, mut get: Request, lines: impl Fn(u32) -> String) -> Vec<Duration> {
    let end = talk.now + Duration::from_secs(60);
    let mut waits = Vec::new();
    for number in 0.. {
        talk.stream(&get);
        talk.lines(&get, &lines(number));
        talk.cut(&get);
        let wait = talk.deadline.unwrap().since(talk.now);
        if talk.now + wait > end {
            break;
        }
        talk.pass(wait);
        waits.push(wait);
        get = talk.request();
    }
    waits
}

fn milliseconds(waits: &[Duration]) -> Vec<u128> {
    waits.iter().map(Duration::as_millis).collect()
}

#[test]
fn a_server_that_wants_no_pause_and_brings_nothing_gets_longer_and_longer_ones() {
    let bring_nothing: [fn(u32) -> String; 4] = [
        // Only that it is there.
        |number| format!("retry: 0\nid: {number}\ndata: \n\n"),
        // What it was said to have told already.
        |_| format!("retry: 0\nid: 7\ndata: {NEWS}\n\n"),
        // What is no message.
        |number| format!("retry: 0\nid: {number}\ndata: news\n\n"),
        // An answer to nobody.
        |number| format!("retry: 0\nid: {number}\ndata: {{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{{}}}}\n\n"),
    ];
    for lines in bring_nothing {
        let (mut talk, get) = at_the_listener();
        talk.stream(&get);
        talk.announced();
        talk.lines(&get, &format!("id: 7\ndata: {NEWS}\n\n"));
        talk.cut(&get);
        talk.pass(Duration::from_secs(1));
        let get = talk.request();
        let waits = opened_in_a_minute(&mut talk, get, lines);
        let waits = milliseconds(&waits);
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600], "{}", talk.transcript);
        // However often that was, it does not grow without end.
        assert_eq!(talk.deadline, Some(talk.now + Duration::from_secs(30)));
        talk.pass(Duration::from_secs(30));
        // Once something comes, it is as it was.
        let get = talk.request();
        talk.stream(&get);
        talk.lines(&get, &format!("id: more\ndata: {NEWS}\n\n"));
        talk.cut(&get);
        assert_eq!(talk.deadline, Some(talk.now + Duration::from_millis(50)));
        talk.close_down();
    }
}

#[test]
fn a_server_that_brings_something_each_time_is_asked_as_it_says() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
    talk.cut(&get);
    talk.pass(Duration::from_secs(1));
    let get = talk.request();
    let waits = opened_in_a_minute(&mut talk, get, |number| format!("retry: 4000\nid: {number}\ndata: {NEWS}\n\n"));
    assert_eq!(milliseconds(&waits), [4000; 15], "{}", talk.transcript);
    talk.close_down();
}

#[test]
fn another_session_does_not_make_it_shorter() {
    let (mut talk, mut get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
    // Each session costs two tries: one that is refused, and one that brings nothing.
    for wait in [50, 200, 800, 3200, 12_800] {
        talk.lines(&get, "retry: 0\ndata: \n\n");
        talk.cut(&get);
        assert_eq!(talk.deadline, Some(talk.now + Duration::from_millis(wait)), "{}", talk.transcript);
        talk.pass(Duration::from_millis(wait));
        let again = talk.request();
        talk.plain(&again, 404, "Session not found");
        let initialize = talk.request();
        talk.initialized(&initialize, "2025-11-25", Some("another"));
        get = talk.request();
        talk.stream(&get);
        talk.announced();
    }
    talk.close_down();
}

#[test]
fn a_crowd_of_clients_does_not_come_back_all_at_once() {
    let waits = |seed| {
        let mut http = http();
        http.seed = Some(Seed::from_number(seed));
        let (mut talk, get) = Talk::at_the_listener(config(), http, Some("s1"));
        talk.stream(&get);
        talk.announced();
        talk.lines(&get, "retry: 1000\ndata: \n\n");
        talk.cut(&get);
        assert_eq!(talk.deadline, Some(talk.now + Duration::from_secs(1)), "what the server says is obeyed");
        talk.pass(Duration::from_secs(1));
        let get = talk.request();
        let waits = opened_in_a_minute(&mut talk, get, |_| "data: \n\n".into());
        talk.close_down();
        waits
    };
    let (one, other) = (waits(1), waits(2));
    assert_eq!(one, waits(1), "the same seed gives the same waits");
    for (number, (one, other)) in one.iter().zip(&other).enumerate() {
        let least = Duration::from_secs(2 << number);
        for wait in [one, other] {
            assert!(*wait >= least && *wait < least * 5 / 4, "{wait:?} in place of {least:?}");
        }
        assert_ne!(one, other);
    }
}

#[test]
fn those_who_have_subscribed_are_told_when_it_is_given_up() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
    let subscribe = |talk: &mut Talk, token: u32| {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(true);
        talk.client.listen(filter, &CallOptions::new(), token, talk.now).unwrap();
        talk.run();
    };
    subscribe(&mut talk, 70);
    talk.unreachable = true;
    talk.cut(&get);
    talk.pass(Duration::from_secs(300));
    assert!(talk.failed(70).contains("could not be opened again"), "{}", talk.failed(70));
    // Whoever subscribes later has it opened again, and is told if that is in vain.
    subscribe(&mut talk, 71);
    talk.pass(Duration::from_secs(1));
    assert!(talk.failed(71).contains("could not be opened again"), "{}", talk.failed(71));
    talk.unreachable = false;
    subscribe(&mut talk, 72);
    let get = talk.request();
    assert_eq!(get.head.method, "GET");
    talk.stream(&get);
    talk.pass(Duration::from_secs(1000));
    assert!(!talk.outcomes.contains_key(&72));
    talk.close_down();
}

#[test]
fn it_moves_to_the_new_session() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
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
    talk.announced();
    let ping = talk.request();
    talk.json(&ping, 200, &ping.result("{}"));
    assert!(talk.client.is_idle());
    talk.close_down();
}

#[test]
fn a_proxy_that_cuts_quiet_streams_does_not_end_it() {
    let (mut talk, mut get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
    for _ in 0..20 {
        talk.pass(Duration::from_secs(60));
        talk.cut(&get);
        talk.pass(Duration::from_secs(1));
        get = talk.request();
        talk.stream(&get);
    }
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    talk.tells("! told notifications/tools/list_changed");
    talk.cut(&get);
    // Streams that do not last are not counted as such.
    for wait in [1, 2, 4, 8, 16] {
        talk.pass(Duration::from_secs(wait));
        get = talk.request();
        talk.stream(&get);
        talk.pass(Duration::from_millis(9999));
        talk.cut(&get);
    }
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

/// A listener that was open and is asked for again.
fn at_the_second_try() -> (Talk, Request) {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
    talk.lines(&get, "id: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    talk.cut(&get);
    talk.pass(Duration::from_secs(1));
    let again = talk.request();
    (talk, again)
}

#[test]
fn a_server_that_is_not_well_is_asked_again() {
    for status in [408, 429, 500, 502, 503] {
        let (mut talk, mut again) = at_the_second_try();
        for wait in [2, 4, 8, 16] {
            talk.pass(THOUGHT);
            talk.plain(&again, status, "not now");
            talk.pass(Duration::from_secs(wait) - Duration::from_millis(1));
            talk.no_request();
            talk.pass(Duration::from_millis(1));
            again = talk.request();
            assert_eq!((again.header("last-event-id"), again.header("mcp-session-id")), (Some("5"), Some("s1")));
        }
        talk.stream(&again);
        talk.lines(&again, "id: 6\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}\n\n");
        talk.tells("! told notifications/prompts/list_changed");
        talk.cut(&again);
        // Not for ever.
        for wait in [1, 2, 4, 8, 16] {
            talk.pass(Duration::from_secs(wait));
            again = talk.request();
            assert_eq!(again.header("last-event-id"), Some("6"));
            talk.pass(THOUGHT);
            talk.plain(&again, status, "not now");
        }
        talk.pass(Duration::from_secs(1000));
        talk.no_request();
        talk.close_down();
    }
}

#[test]
fn a_server_that_does_not_answer_is_asked_again() {
    let (mut talk, again) = at_the_second_try();
    talk.pass(Duration::from_secs(10));
    assert!(!talk.is_open(again.conn));
    talk.pass(Duration::from_secs(2));
    let again = talk.request();
    assert_eq!(again.header("last-event-id"), Some("5"));
    talk.stream(&again);
    talk.close_down();
}

#[test]
fn a_client_initializes_again_when_its_session_is_not_known_for_listening() {
    let (mut talk, again) = at_the_second_try();
    talk.plain(&again, 404, "Session not found");
    let initialize = talk.request();
    assert_eq!((initialize.says().as_str(), initialize.header("mcp-session-id")), ("initialize", None));
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    talk.tells("! reinitialized: 2025-11-25");
    let get = talk.request();
    assert_eq!((get.header("mcp-session-id"), get.header("last-event-id")), (Some("s2"), None));
    talk.stream(&get);
    talk.announced();
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#);
    talk.tells("! told notifications/prompts/list_changed");
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    assert!(talk.client.is_idle());
    talk.close_down();
}

#[test]
fn a_session_that_could_not_be_initialized_again_is_tried_again_with_the_listener() {
    let (mut talk, again) = at_the_second_try();
    talk.plain(&again, 404, "Session not found");
    let initialize = talk.request();
    talk.plain(&initialize, 503, "");
    talk.no_request();
    talk.pass(Duration::from_secs(2));
    let again = talk.request();
    assert_eq!((again.header("mcp-session-id"), again.header("last-event-id")), (Some("s1"), Some("5")));
    talk.plain(&again, 404, "Session not found");
    let initialize = talk.request();
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    let get = talk.request();
    talk.stream(&get);
    talk.announced();
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_server_without_sessions_that_does_not_let_it_listen_again() {
    let (mut talk, get) = Talk::at_the_listener(config(), http(), None);
    talk.stream(&get);
    talk.announced();
    talk.cut(&get);
    talk.pass(Duration::from_secs(1));
    let again = talk.request();
    talk.plain(&again, 404, "");
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

fn answering() -> windlass::link::http::HttpClientConfig {
    let mut http = http();
    http.answers_challenges = true;
    http
}

/// A client at the point where it wants to listen, and answers challenges.
fn at_the_challenging_listener() -> (Talk, Request) {
    Talk::at_the_listener(config(), answering(), Some("s1"))
}

/// The server wants other credentials for a call, and gets them.
fn challenge(talk: &mut Talk, credentials: &str) -> Request {
    talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 401, "");
    let reply = talk.challenges.remove(0);
    let headers = Headers::from([("Authorization", credentials)]);
    talk.client.answer_challenge(reply, Some(&headers), talk.now).unwrap();
    talk.run();
    talk.request_for("ping")
}

#[test]
fn other_credentials_open_it_again() {
    for status in [401, 403] {
        let (mut talk, get) = at_the_challenging_listener();
        talk.plain(&get, status, "no");
        talk.announced();
        talk.pass(Duration::from_secs(1000));
        // Nobody is asked for its sake.
        talk.no_request();
        assert!(talk.challenges.is_empty() && talk.client.is_idle());
        let ping = challenge(&mut talk, "Bearer 1");
        let get = talk.request();
        assert_eq!((get.head.method.as_str(), get.header("authorization")), ("GET", Some("Bearer 1")));
        // Not good enough for listening.
        talk.plain(&get, status, "no");
        talk.json(&ping, 200, &ping.result("{}"));
        talk.no_request();
        let ping = challenge(&mut talk, "Bearer 2");
        let get = talk.request();
        assert_eq!((get.header("authorization"), get.header("mcp-session-id")), (Some("Bearer 2"), Some("s1")));
        talk.stream(&get);
        talk.json(&ping, 200, &ping.result("{}"));
        talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        talk.tells("! told notifications/tools/list_changed");
        // And once is enough.
        let ping = challenge(&mut talk, "Bearer 3");
        talk.json(&ping, 200, &ping.result("{}"));
        talk.no_request();
        talk.close_down();
    }
}

#[test]
fn it_goes_on_behind_its_last_event_with_other_credentials() {
    let (mut talk, get) = at_the_challenging_listener();
    talk.stream(&get);
    talk.announced();
    talk.lines(&get, "id: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    talk.cut(&get);
    talk.pass(Duration::from_secs(1));
    let again = talk.request();
    talk.plain(&again, 401, "expired");
    let ping = challenge(&mut talk, "Bearer 1");
    let get = talk.request();
    assert_eq!((get.header("authorization"), get.header("last-event-id")), (Some("Bearer 1"), Some("5")));
    talk.stream(&get);
    talk.json(&ping, 200, &ping.result("{}"));
    talk.close_down();
}

#[test]
fn a_refusal_of_outdated_credentials_is_no_refusal() {
    let (mut talk, get) = at_the_challenging_listener();
    // The server takes its time to refuse; meanwhile it is given other credentials.
    talk.pass(Duration::from_secs(1));
    talk.announced();
    let ping = challenge(&mut talk, "Bearer 1");
    talk.no_request();
    talk.plain(&get, 401, "");
    let get = talk.request();
    assert_eq!((get.head.method.as_str(), get.header("authorization")), ("GET", Some("Bearer 1")));
    talk.plain(&get, 401, "");
    talk.no_request();
    talk.json(&ping, 200, &ping.result("{}"));
    talk.close_down();
}

#[test]
fn one_that_was_refused_is_not_kept_for_another_session() {
    let (mut talk, get) = at_the_challenging_listener();
    talk.plain(&get, 401, "no");
    talk.announced();
    talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    let initialize = talk.request();
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    let get = talk.request();
    talk.stream(&get);
    talk.announced();
    let ping = talk.request();
    talk.json(&ping, 200, &ping.result("{}"));
    let ping = challenge(&mut talk, "Bearer 1");
    talk.no_request();
    talk.json(&ping, 200, &ping.result("{}"));
    talk.close_down();
}

#[test]
fn a_subscription_of_the_modern_era_is_asked_for_again_with_other_credentials() {
    let mut talk = Talk::modern_with(config(), answering());
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    talk.client.listen(filter, &CallOptions::new(), 9, talk.now).unwrap();
    talk.run();
    let listen = talk.request();
    talk.plain(&listen, 401, "");
    let reply = talk.challenges.remove(0);
    talk.pass(Duration::from_secs(100));
    let headers = Headers::from([("Authorization", "Bearer 1")]);
    talk.client.answer_challenge(reply, Some(&headers), talk.now).unwrap();
    talk.run();
    let again = talk.request();
    assert_eq!((again.header("authorization"), again.body.as_str()), (Some("Bearer 1"), listen.body.as_str()));
    talk.stream(&again);
    let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}"#, again.id());
    let tells =
        |method: &str, params: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{params}{meta}}}}}"#);
    talk.event(
        &again,
        &tells("notifications/subscriptions/acknowledged", r#""notifications":{"toolsListChanged":true},"#),
    );
    talk.pass(Duration::from_secs(1000));
    talk.event(&again, &tells("notifications/tools/list_changed", ""));
    talk.tells("notifications/tools/list_changed");
    assert!(!talk.outcomes.contains_key(&9));
    // Refused for good, it says so.
    talk.client.listen(SubscriptionFilter::new(), &CallOptions::new(), 10, talk.now).unwrap();
    talk.run();
    let listen = talk.request();
    talk.plain(&listen, 401, "");
    let reply = talk.challenges.remove(0);
    talk.client.answer_challenge(reply, None, talk.now).unwrap();
    talk.run();
    assert!(talk.failed(10).contains("401 Unauthorized"));
    talk.close_down();
}

#[test]
fn a_server_that_wants_no_pause_gets_a_short_one() {
    let (mut talk, get) = at_the_listener();
    talk.stream(&get);
    talk.announced();
    talk.lines(&get, "retry: 0\n\n");
    talk.cut(&get);
    talk.no_request();
    assert_eq!(talk.deadline, Some(talk.now + Duration::from_millis(50)));
    talk.pass(Duration::from_millis(50));
    let again = talk.request();
    // Refused for good this time: that is that.
    talk.plain(&again, 405, "");
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_listening_stream_that_cannot_be_had_again_ends_its_subscriptions_and_is_not_asked_for_without_end() {
    for (status, headers) in [(405, ""), (401, ""), (403, ""), (200, "Content-Type: text/html\r\n")] {
        let (mut talk, get) = at_the_listener();
        talk.stream(&get);
        talk.announced();
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(true);
        for number in [20, 21] {
            talk.client.listen(filter.clone(), &CallOptions::new(), number, talk.now).unwrap();
        }
        talk.run();
        talk.lines(&get, "retry: 0\n\n");
        talk.cut(&get);
        talk.pass(Duration::from_millis(50));
        let again = talk.request();
        talk.say(&again, status, headers, Some("<p>"));
        for number in [20, 21] {
            assert!(talk.failed(number).contains("could not be opened again"), "{status}: {}", talk.failed(number));
        }
        talk.no_request();
        // Whoever subscribes later is a reason to try once more, and only once.
        talk.client.listen(filter, &CallOptions::new(), 22, talk.now).unwrap();
        talk.run();
        let once_more = talk.request();
        talk.say(&once_more, 200, "Content-Type: text/html\r\n", Some("<p>"));
        assert!(talk.failed(22).contains("could not be opened again"), "{status}");
        talk.pass(Duration::from_secs(100));
        talk.no_request();
        talk.close_down();
    }
}
