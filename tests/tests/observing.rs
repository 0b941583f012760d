//! What an observer is told: everything that happens, in order, of both sides, and nothing of what was said.

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::client::{CallOptions, ClientConfig, PageError, PageLimits, Pages};
use windlass::link::http::{HttpClientConfig, HttpServerConfig};
use windlass::model::{
    CallTool, CallToolParams, Era, ListTools, PaginatedParams, ReadResource, ReadResourceParams, SubscriptionFilter,
};
use windlass::{Finished, Instant, Limits, Observation, Observer, Passed, SendError, SessionId};
use windlass_sim::{HttpSim, NetworkConditions, SimClientId, SimServer};

use common::{
    Sim, client_config, legacy_client_with, legacy_config, modern, modern_client_with, registry, server_config,
    server_with, tell, tool,
};

const SECOND: Duration = Duration::from_secs(1);

/// Writes down what it is told, a line each.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn observe(&self, observation: &Observation<'_>) {
        let line = match observation {
            Observation::Message(Passed { direction, kind, method, id, bytes, .. }) => {
                assert!(*bytes > 20, "no message is that short");
                format!("{direction:?} {kind:?} {method:?} {id:?}")
            }
            Observation::Finished(Finished { direction, id, method, name, latency, outcome, .. }) => {
                format!("{direction:?} {method} {id:?} {name:?} took {latency:?}: {outcome:?}")
            }
            Observation::Opened(_) => "opened".into(),
            Observation::Closed(_) => "closed".into(),
            Observation::Failed { phase, error } => format!("failed in {phase:?}: {error}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Notes {
    /// What was told since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Whether something was told since the last time.
    fn has(&self, line: &str) -> bool {
        self.take().iter().any(|told| told == line)
    }
}

#[test]
fn a_call_is_seen_by_both_sides() {
    let (ours, theirs) = (Arc::new(Notes::default()), Arc::new(Notes::default()));
    let mut config = client_config();
    config.observer = ours.clone().into();
    let observer = theirs.clone();
    let mut sim = Sim::new(1, NetworkConditions::ideal(), config, move || {
        let mut config = server_config();
        config.observer = observer.clone().into();
        server_with(config)
    });
    sim.settle();
    assert_eq!(
        ours.take(),
        [
            r#"Outgoing Request Some("server/discover") Some(1)"#,
            "opened",
            "Incoming Result None Some(1)",
            "Outgoing server/discover 1 None took 0ns: Result",
            "Negotiated(V2026_07_28)",
        ]
    );
    theirs.take();

    let patient = CallOptions::new().idle_timeout(90 * SECOND);
    let call = sim.client.call_with::<CallTool>(&tool("slow"), &patient).unwrap();
    sim.run_for(61 * SECOND);
    assert!(sim.client.outcome(call).is_some_and(Result::is_ok));
    assert_eq!(
        ours.take(),
        [
            r#"Outgoing Request Some("tools/call") Some(2)"#,
            "Incoming Result None Some(2)",
            r#"Outgoing tools/call 2 Some("slow") took 60s: Result"#,
        ]
    );
    assert_eq!(
        theirs.take(),
        [
            r#"Incoming Request Some("tools/call") Some(2)"#,
            "Outgoing Result None Some(2)",
            r#"Incoming tools/call 2 Some("slow") took 60s: Result"#,
        ]
    );

    let uri = ReadResourceParams::new("db://me:secret@host/table?token=secret");
    sim.client.call::<ReadResource>(&uri).unwrap();
    sim.client.close();
    sim.run_until_idle();
    let told = ours.take();
    assert_eq!(told.last().map(String::as_str), Some("closed"), "{told:?}");
    let read = r#"Outgoing resources/read 3 Some("db://…@host/table?token=…") took 0ns: Closed"#;
    assert!(told.contains(&read.to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("secret")), "{told:?}");
    sim.assert_nothing_left();
}

#[test]
fn what_comes_of_a_call_is_told() {
    let notes = Arc::new(Notes::default());
    let mut config = client_config();
    config.observer = notes.clone().into();
    config.limits = Limits::default();
    config.limits.pending_calls = 1;
    let mut sim = modern_client_with(config);

    let options = CallOptions::new().idle_timeout(SECOND).total_timeout(SECOND);
    sim.client.call_with::<CallTool>(&tool("late"), &options).unwrap();
    assert!(sim.client.call::<CallTool>(&tool("more")).is_err());
    assert!(notes.has(r#"LimitHit { limit: "pending_calls" }"#));
    sim.run_for(2 * SECOND);
    assert!(notes.has(r#"Outgoing tools/call 2 Some("late") took 1s: TimedOut"#));

    sim.client.call::<CallTool>(&tool("bad")).unwrap();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[],"isError":true}}"#);
    assert!(notes.has(r#"Outgoing tools/call 3 Some("bad") took 0ns: ToolError"#));

    sim.client.call::<ListTools>(&PaginatedParams::default()).unwrap();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"a secret"}}"#);
    let told = notes.take();
    assert!(told.contains(&"Outgoing tools/list 4 None took 0ns: Error(-32603)".to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("secret")), "contents are nobody's business");

    let call = sim.client.call::<CallTool>(&tool("off")).unwrap();
    sim.client.cancel(call, "changed my mind");
    sim.settle();
    assert!(notes.has(r#"Outgoing tools/call 5 Some("off") took 0ns: Cancelled"#));

    tell(&mut sim, "[1, 2");
    let told = notes.take();
    assert!(told.iter().any(|line| line.starts_with("failed in Reading")), "{told:?}");
    sim.client.close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_server_that_cannot_be_understood_fails_in_the_negotiation() {
    let notes = Arc::new(Notes::default());
    let mut config = legacy_config();
    config.observer = notes.clone().into();
    let mut sim = legacy_client_with("2025-06-18", config.clone());
    assert!(notes.has("Negotiated(V2025_06_18)"));
    sim.client.close();
    sim.run_until_idle();

    let mut sim = Sim::with_scripted_server(1, NetworkConditions::ideal(), config);
    sim.settle();
    tell(&mut sim, &common::initialize_answer(1, "1999-01-01"));
    let told = notes.take();
    assert!(told.iter().any(|line| line.starts_with("failed in Negotiation")), "{told:?}");
    sim.run_until_idle();
}

#[test]
fn over_http_connections_and_reconnections_are_told_too() {
    let (ours, theirs) = (Arc::new(Notes::default()), Arc::new(Notes::default()));
    let mut server = server_config();
    server.observer = theirs.clone().into();
    let server = SimServer::over_http(server, HttpServerConfig::on_loopback(), registry(), 1);
    let mut sim = HttpSim::new(1, NetworkConditions::ideal(), server);
    let mut config = legacy_config();
    config.observer = ours.clone().into();
    let http = HttpClientConfig::new("http://localhost/mcp").unwrap();
    let client = sim.add_client("ada", config, http);
    sim.settle();
    let told = ours.take();
    assert!(told.contains(&"Negotiated(V2025_11_25)".to_owned()) && told.contains(&"opened".to_owned()), "{told:?}");
    let told = theirs.take();
    assert!(told.contains(&"Negotiated(V2025_11_25)".to_owned()) && told.contains(&"opened".to_owned()), "{told:?}");

    let call = sim[client].call::<CallTool>(&CallToolParams::new("echo")).unwrap();
    sim.settle();
    assert!(sim[client].outcome(call).is_some_and(Result::is_ok));
    let finished = |side: &str| format!(r#"{side} tools/call 2 Some("echo") took 0ns: Result"#);
    assert!(ours.has(&finished("Outgoing")) && theirs.has(&finished("Incoming")));

    // The listening stream breaks, and is opened again.
    sim.reset_connections();
    sim.run_for(3 * SECOND);
    let told = ours.take();
    assert!(told.iter().any(|line| line.starts_with("Reconnect { after: ")), "{told:?}");
    sim[client].close();
    sim.run_until_idle();
    assert!(ours.has("closed") && theirs.has("closed"));
    sim.assert_nothing_left();
}

/// A client and a server over HTTP, both watched.
fn watched_over_http(mut config: ClientConfig) -> (HttpSim, SimClientId, [Arc<Notes>; 2]) {
    let (ours, theirs) = (Arc::new(Notes::default()), Arc::new(Notes::default()));
    let server = watched_server(&theirs);
    let mut sim = HttpSim::new(1, NetworkConditions::ideal(), server);
    config.observer = ours.clone().into();
    let client = sim.add_client("ada", config, HttpClientConfig::new("http://localhost/mcp").unwrap());
    sim.settle();
    (sim, client, [ours, theirs])
}

fn watched_server(notes: &Arc<Notes>) -> SimServer {
    let mut server = server_config();
    server.observer = notes.clone().into();
    SimServer::over_http(server, HttpServerConfig::on_loopback(), registry(), 1)
}

#[test]
fn a_request_that_is_made_again_is_told() {
    let (mut sim, client, [ours, theirs]) = watched_over_http(legacy_config());
    // It does not know the session any more, and the client initialises again.
    sim.restart_server(watched_server(&theirs));
    ours.take();
    let call = sim[client].call::<ListTools>(&PaginatedParams::new()).unwrap();
    sim.run_for(3 * SECOND);
    assert!(sim[client].outcome(call).is_some_and(Result::is_ok));
    let told = ours.take();
    let again = told.iter().find_map(|line| line.strip_prefix("Retry { id: "));
    let id = again.and_then(|again| again.strip_suffix(r#", method: "tools/list" }"#));
    let id = id.unwrap_or_else(|| panic!("{told:?}"));
    assert!(told.iter().any(|line| line.starts_with(&format!("Outgoing tools/list {id} None"))), "{told:?}");
    sim[client].close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn connections_that_fail_are_told_by_both_sides() {
    let (mut sim, client, [ours, theirs]) = watched_over_http(client_config());
    let patient = CallOptions::new().idle_timeout(90 * SECOND);
    sim[client].call_with::<CallTool>(&tool("slow"), &patient).unwrap();
    sim.run_for(SECOND);
    drop([&ours, &theirs].map(|notes| notes.take()));
    sim.refuse_connections(true);
    sim.reset_connections();
    sim.run_for(SECOND);
    for notes in [&ours, &theirs] {
        let told = notes.take();
        assert!(told.iter().any(|line| line.starts_with("failed in Transport: the connection broke")), "{told:?}");
        assert!(told.contains(&"closed".to_owned()), "{told:?}");
    }
    sim[client].call::<CallTool>(&tool("echo")).unwrap();
    sim.run_for(SECOND);
    let told = ours.take();
    assert!(told.iter().any(|line| line.starts_with("failed in Transport: the peer could not be")), "{told:?}");
    sim[client].close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

/// Takes note of the sessions that requests are made in.
#[derive(Default)]
struct Sessions(Mutex<Vec<(String, Option<String>)>>);

impl Observer for Sessions {
    fn observe(&self, observation: &Observation<'_>) {
        if let Observation::Finished(finished) = observation {
            let id = finished.session.map(SessionId::as_str);
            assert!(id.is_none_or(|id| !format!("{observation:?}").contains(id)), "it is shown to nobody by chance");
            self.0.lock().unwrap().push((finished.method.into(), id.map(Into::into)));
        }
    }
}

#[test]
fn requests_in_a_session_are_told_with_its_id_by_both_sides() {
    for (mut config, legacy) in [(legacy_config(), true), (client_config(), false)] {
        let (ours, theirs) = (Arc::new(Sessions::default()), Arc::new(Sessions::default()));
        let mut server = server_config();
        server.observer = theirs.clone().into();
        let server = SimServer::over_http(server, HttpServerConfig::on_loopback(), registry(), 1);
        let mut sim = HttpSim::new(1, NetworkConditions::ideal(), server);
        config.observer = ours.clone().into();
        let client = sim.add_client("ada", config, HttpClientConfig::new("http://localhost/mcp").unwrap());
        sim.settle();
        sim[client].call::<CallTool>(&tool("echo")).unwrap();
        sim[client].call::<ListTools>(&PaginatedParams::new()).unwrap();
        sim.settle();
        let [ours, theirs] = [ours, theirs].map(|side| std::mem::take(&mut *side.0.lock().unwrap()));
        assert_eq!(ours[1..], theirs[1..], "both tell the same");
        let ids: Vec<_> = ours[1..].iter().map(|(_, id)| id.as_deref()).collect();
        assert!(ids.len() == 2 && ids[0] == ids[1], "{ids:?}");
        assert_eq!(ids[0].is_some(), legacy, "modern requests are in no session");
        sim[client].close();
        sim.run_until_idle();
        sim.assert_nothing_left();
    }
}

#[test]
fn limits_that_clients_reach_are_told_by_their_names() {
    let notes = Arc::new(Notes::default());
    let hit = |limit: &str| notes.has(&format!("LimitHit {{ limit: {limit:?} }}"));
    let mut config = client_config();
    config.observer = notes.clone().into();
    config.limits.subscriptions = 1;
    config.limits.input_rounds = 1;
    config.limits.input_requests = 1;
    config.limits.pages = 2;
    config.limits.listing_bytes = 10;
    let mut sim = modern_client_with(config.clone());

    let two = SubscriptionFilter::new().with_resource_subscriptions(["file:///a".to_owned(), "file:///b".to_owned()]);
    assert_eq!(sim.client.listen(two), Err(SendError::Full));
    assert!(hit("subscriptions"));

    sim.client.call::<CallTool>(&tool("asks")).unwrap();
    let asks = |id: u64| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#)
    };
    tell(&mut sim, &asks(2));
    assert!(!hit("input_rounds"), "one is allowed");
    tell(&mut sim, &asks(3));
    assert!(hit("input_rounds"));

    sim.client.call::<CallTool>(&tool("asks")).unwrap();
    let root = r#"{"method":"roots/list"}"#;
    tell(
        &mut sim,
        &format!(
            r#"{{"jsonrpc":"2.0","id":4,"result":{{"resultType":"input_required","inputRequests":{{"a":{root},"b":{root}}}}}}}"#
        ),
    );
    assert!(hit("input_requests"));

    let pages = || Pages::new(PageLimits::of(&config), Era::Modern, CallOptions::new(), Instant::ZERO);
    assert_eq!(pages().next(11, None), Err(PageError::TooManyBytes));
    assert!(hit("listing_bytes"));
    let mut pages = pages();
    assert!(pages.next(1, Some("1".into())).is_ok());
    assert_eq!(pages.next(1, Some("2".into())), Err(PageError::TooManyPages));
    assert!(hit("pages"));
    sim.client.close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn limits_that_servers_reach_are_told_by_their_names() {
    let notes = Arc::new(Notes::default());
    let mut config = server_config();
    config.observer = notes.clone().into();
    config.limits.subscriptions = 1;
    let mut sim = Sim::with_scripted_client(1, NetworkConditions::ideal(), server_with(config));
    let listen = r#""notifications":{"resourceSubscriptions":["file:///a","file:///b"]}"#;
    sim.client.say(&modern(1, "subscriptions/listen", listen));
    sim.settle();
    let told = notes.take();
    assert!(told.contains(&r#"LimitHit { limit: "subscriptions" }"#.to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("Negotiated")), "a modern client negotiates nothing: {told:?}");
    sim.client.end();
    sim.run_until_idle();
}
