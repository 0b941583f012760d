//! Our client and our server over HTTP: in both eras, with answers as JSON and as streams of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::adapter::client::{Negotiation, ServerNotification};
use super::adapter::model::{CallTool, CallToolParams, Era, ProtocolVersion, Tool};
use super::adapter::{CallError, Client, CloseReason, Error, HttpListener, HttpServerConfig, HttpTarget, Json, Server};
use super::eras::{ERAS, in_era};
use super::inputs::helpful;
use super::listening::tools_and_item;
use super::talking::use_every_feature;
use super::{served, swarm};
use crate::http_party::HttpParty;
use crate::peers::{OVER_HTTP, PARTIES};

/// Many times what a socket holds.
const LARGE: usize = 1 << 20;

/// 64 callers of 50 calls each.
const CALLS: usize = 64 * 50;

/// How the two talk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) negotiation: Negotiation,
    /// Whether answers are JSON where they can be.
    pub(super) json_answers: bool,
}

pub(super) fn every_way() -> impl Iterator<Item = Way> {
    let of_era = |negotiation| [true, false].map(|json_answers| Way { negotiation, json_answers });
    ERAS.into_iter().flat_map(of_era)
}

/// A server on this runtime, and where it is.
pub(super) fn serve(way: Way) -> (Server, HttpTarget) {
    serve_with(|config| config.json_answers = way.json_answers)
}

fn serve_with(change: impl FnOnce(&mut HttpServerConfig)) -> (Server, HttpTarget) {
    let (server, target, _) = serve_twice_known(change);
    (server, target)
}

/// The same, and where the server itself is when nobody listens in on the way.
fn serve_twice_known(change: impl FnOnce(&mut HttpServerConfig)) -> (Server, HttpTarget, HttpTarget) {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let own = HttpTarget::new(&listener.url("/mcp")).unwrap();
    let target = HttpTarget::new(&OVER_HTTP.tapped_url(&listener.url("/mcp"))).unwrap();
    let mut config = HttpServerConfig::on_loopback();
    change(&mut config);
    (served::start_http(listener, config).unwrap(), target, own)
}

case!(every_feature_works_over_http_in_every_way, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        assert_eq!(client.peer().version.era() == Era::Modern, way.negotiation == Negotiation::Automatic);
        wait!(use_every_feature(&client));
        assert_eq!(wait!(client.close()), CloseReason::Requested);
        wait!(server.close()).unwrap();
    }
});

case!(every_server_is_reached_over_http_in_both_eras, {
    for party in PARTIES {
        let server = HttpParty::start(party, "json");
        for negotiation in ERAS {
            let client = wait!(in_era(negotiation).connect(HttpTarget::new(server.url()).unwrap())).unwrap();
            wait!(use_every_feature(&client));
            wait!(client.close());
        }
    }
});

case!(progress_arrives_before_the_result, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let heard = Arc::new(AtomicUsize::new(0));
        let hearing = heard.clone();
        let reporting = client.on_progress(move |progress| {
            assert_eq!(progress.message.as_deref(), Some("waiting"));
            hearing.fetch_add(1, Ordering::SeqCst);
        });
        // The tool waits for what is only done when its progress has been heard.
        let waiting = start!({ wait!(reporting.call_tool("wait_for_gate", json!({}))).unwrap().text_content() });
        eventually!("the progress is heard", heard.load(Ordering::SeqCst) == 1);
        wait!(client.call_tool("open_gate", json!({}))).unwrap();
        assert_eq!(join!(waiting), "the gate was opened", "{way:?}");
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(every_kind_of_input_is_given_over_http, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(helpful(way.negotiation).connect(target)).unwrap();
        for (tool, expected) in
            [("ask_user", "Ada"), ("ask_model", "windlass by a-model"), ("ask_roots", "file:///one file:///two")]
        {
            let result = wait!(client.call_tool(tool, json!({}))).unwrap();
            assert_eq!(result.text_content(), expected, "{tool} by {way:?}");
        }
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(changes_are_told_to_all_who_listen_over_http, {
    for way in every_way() {
        let (server, target) = serve(way);
        let changing = wait!(in_era(way.negotiation).connect(target.clone())).unwrap();
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
        for _ in 0..3 {
            wait!(changing.call_tool("add_tool", json!({}))).unwrap();
            assert_eq!(wait!(subscription.next()), Some(ServerNotification::ToolsListChanged), "{way:?}");
            assert_eq!(wait!(client.call_tool("added", json!({}))).unwrap().text_content(), "new");
            wait!(changing.call_tool("touch", json!({}))).unwrap();
            let told = wait!(subscription.next());
            assert!(matches!(told, Some(ServerNotification::ResourceUpdated(_))), "{told:?} by {way:?}");
            wait!(changing.call_tool("remove_tool", json!({}))).unwrap();
            assert_eq!(wait!(subscription.next()), Some(ServerNotification::ToolsListChanged), "{way:?}");
        }
        wait!(client.close());
        assert_eq!(wait!(subscription.next()), None);
        wait!(changing.close());
        wait!(server.close()).unwrap();
    }
});

case!(a_call_over_http_that_times_out_cancels_its_handler, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let outcome = wait!(client.with_idle_timeout(Duration::from_millis(50)).call_tool("never", json!({})));
        assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?} by {way:?}");
        while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(large_messages_pass_in_both_directions_at_once_over_http, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let callers: Vec<_> = (0..4)
            .map(|caller: u8| {
                let client = client.clone();
                start!({
                    let text = String::from(char::from(b'a' + caller)).repeat(LARGE);
                    let echoed = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
                    assert!(echoed.text_content() == text, "{} bytes", echoed.text_content().len());
                })
            })
            .collect();
        for caller in callers {
            join!(caller);
        }
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(every_one_of_many_callers_gets_its_own_answers_over_http, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        wait!(swarm::call_at_once(&client, CALLS));
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(a_call_whose_stream_is_closed_is_taken_up_again, {
    for way in every_way() {
        let (server, target) = serve_with(|config| {
            config.json_answers = way.json_answers;
            config.retry = Duration::from_millis(20);
        });
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let started = Instant::now();
        let outcome = wait!(client.call_tool("interrupt", json!({}))).unwrap();
        assert_eq!(outcome.text_content(), "after the interruption", "{way:?}");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?} by {way:?}", started.elapsed());
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(a_client_that_closes_ends_its_session, {
    let (server, target) = serve_with(|_| ());
    for _ in 0..3 {
        let client = wait!(in_era(Negotiation::Legacy).connect(target.clone())).unwrap();
        let other = wait!(in_era(Negotiation::Legacy).connect(target.clone())).unwrap();
        assert_eq!(server.sessions(), 2);
        wait!(client.ping()).unwrap();
        assert_eq!(wait!(client.close()), CloseReason::Requested);
        assert_eq!(server.sessions(), 1);
        wait!(other.ping()).unwrap();
        assert_eq!(wait!(other.close()), CloseReason::Requested);
        assert_eq!(server.sessions(), 0);
    }
    wait!(server.close()).unwrap();
});

case!(a_server_that_closes_answers_what_is_quick_and_ends_the_rest, {
    for way in every_way() {
        let listener = HttpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = HttpTarget::new(&listener.url("/mcp")).unwrap();
        let mut config = HttpServerConfig::on_loopback();
        config.json_answers = way.json_answers;
        config.drain = Duration::from_secs(1);
        let server = served::start_http(listener, config).unwrap();
        let (taken_in, may_go_on) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (told, waits) = (taken_in.clone(), may_go_on.clone());
        server.add_tool(Tool::without_arguments("quick"), move |_, _: Json| {
            let (told, waits) = (told.clone(), waits.clone());
            answer!({
                told.store(true, Ordering::SeqCst);
                while !waits.load(Ordering::SeqCst) {
                    pause!(Duration::from_millis(2));
                }
                Ok("in time")
            })
        });
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let (quick, endless) = (client.clone(), client.clone());
        let quick = start!({ wait!(quick.call_tool("quick", json!({}))) });
        let endless = start!({ wait!(endless.call_tool("never", json!({}))) });
        eventually!("the quick call is taken in", taken_in.load(Ordering::SeqCst));
        while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 0" {}
        let started = Instant::now();
        let closing = start!({ wait!(server.close()) });
        eventually!("nobody is let in any more", std::net::TcpStream::connect(address).is_err());
        may_go_on.store(true, Ordering::SeqCst);
        assert_eq!(join!(quick).unwrap().text_content(), "in time", "{way:?}");
        join!(closing).unwrap();
        assert!(started.elapsed() < Duration::from_secs(3), "{:?} by {way:?}", started.elapsed());
        let ended = join!(endless).unwrap_err();
        assert!(matches!(ended, Error::Call(_)), "{ended} by {way:?}");
        let refused = wait!(client.call_tool("counts", json!({}))).unwrap_err().to_string();
        assert!(refused.contains("refused"), "{refused} by {way:?}");
        wait!(client.close());
    }
});

case!(clients_over_http_come_and_go_at_once, {
    let (server, target) = serve_with(|_| ());
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let target = target.clone();
            start!({
                for negotiation in [ERAS, ERAS].concat() {
                    let client = wait!(in_era(negotiation).connect(target.clone())).unwrap();
                    assert_eq!(wait!(client.call_tool("add", json!({"a": 1, "b": 1}))).unwrap().text_content(), "2");
                    wait!(client.close());
                }
            })
        })
        .collect();
    for task in tasks {
        join!(task);
    }
    wait!(server.close()).unwrap();
});

case!(a_client_that_is_dropped_leaves_no_session_behind, {
    let (server, target) = serve_with(|_| ());
    let client = wait!(in_era(Negotiation::Legacy).connect(target)).unwrap();
    assert_eq!(server.sessions(), 1);
    drop(client);
    eventually!("the session is over", server.sessions() == 0);
    wait!(server.close()).unwrap();
});

case!(a_server_that_is_not_there_is_told_at_once, {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let target = HttpTarget::new(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
    let started = Instant::now();
    let refused = wait!(Client::connect(target)).err().unwrap().to_string();
    assert!(refused.contains("refused") && refused.contains("127.0.0.1"), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
});

case!(one_call_needs_no_handshake, {
    for json_answers in [true, false] {
        let (server, target, own) = serve_twice_known(|config| config.json_answers = json_answers);
        let sum = CallToolParams::new("add").with_arguments(Json::of(&json!({"a": 2, "b": 3})).unwrap());
        for _ in 0..3 {
            let call = Client::builder("one", "1").call_once::<CallTool>(target.clone(), ProtocolVersion::LATEST, &sum);
            assert_eq!(wait!(call).unwrap().text_content(), "5");
        }
        let unknown = CallToolParams::new("no such tool");
        let call = Client::builder("one", "1").call_once::<CallTool>(target.clone(), ProtocolVersion::LATEST, &unknown);
        assert!(matches!(wait!(call), Err(Error::Call(CallError::Remote(_)))));
        let never = CallToolParams::new("never");
        let hasty = Client::builder("one", "1").idle_timeout(Duration::from_millis(100));
        let call = hasty.call_once::<CallTool>(target.clone(), ProtocolVersion::LATEST, &never);
        assert!(matches!(wait!(call), Err(Error::Call(CallError::TimedOut { .. }))));
        wait!(server.close()).unwrap();
        let call = Client::builder("one", "1").call_once::<CallTool>(own, ProtocolVersion::LATEST, &sum);
        let nobody = wait!(call).unwrap_err().to_string();
        assert!(nobody.contains("refused"), "{nobody}");
    }
});
