//! What servers and clients have of their own, besides what the protocol has: methods, notifications, extensions; and what
//! helps with files.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::adapter::client::{CallOptions, Negotiation, ServerNotification};
use super::adapter::model::{
    CallToolResult, ElicitUrlParams, ElicitationComplete, ElicitationCompleteParams, EmptyParams, Meta, Method, Notice,
    ReadResourceParams, ReadResource, ReadResourceResult, ResourceContents, ResourceTemplate, Tool,
    TraceContext,
};
use super::adapter::{Endpoint, Error, RpcError, Server};
use super::eras::{ERAS, in_era};
use crate::peers::AMONG_US;

/// A notification that no specification has.
struct Echo;

impl Notice for Echo {
    const NAME: &'static str = "notifications/radar/echo";
    type Params = EmptyParams;
}

/// A request that no specification has.
struct Tune;

impl Method for Tune {
    const NAME: &'static str = "radar/tune";
    type Params = BTreeMap<String, u32>;
    type Output = BTreeMap<String, bool>;
}

/// A server of a radar, on a stream of its own.
fn radar() -> (Server, Endpoint) {
    let (ours, theirs) = AMONG_US.pair().unwrap();
    let server = Server::builder("radar", "1.0")
        .extension("com.example/radar", json!({"range": 7}))
        .unwrap()
        .experimental("clouds", json!({}))
        .unwrap()
        .method("radar/scan", |context, params: BTreeMap<String, u32>| {
            answer!({
                context.notify::<Echo>(&EmptyParams::default())?;
                Ok(json!({"echoes": params["from"] + 1}))
            })
        })
        .tool(Tool::without_arguments("slow"), |_, _: Value| {
            answer!({
                pause!(Duration::from_millis(200));
                Ok("at last")
            })
        })
        .tool(Tool::without_arguments("visit"), |context, _: Value| {
            answer!({
                if context.caller().version.as_str() == "2025-11-25" {
                    context.notify::<ElicitationComplete>(&ElicitationCompleteParams::new("login-7"))?;
                }
                let page = ElicitUrlParams::new("Log in.", "https://example.com/").with_elicitation_id("login-7");
                Err::<CallToolResult, _>(RpcError::url_elicitation_required("not logged in", [page]).into())
            })
        })
        .resource_template(ResourceTemplate::new("file:///notes/{name}", "notes"), |_, request| {
            answer!({
                let contents = ResourceContents::blob_bytes(&request.uri, request.path("name")?.as_bytes());
                Ok(ReadResourceResult::new([contents]))
            })
        })
        .unwrap()
        .start(Endpoint::try_from(theirs).unwrap())
        .unwrap();
    (server, Endpoint::try_from(ours).unwrap())
}

case!(methods_notifications_and_extensions_of_ones_own, {
    for negotiation in ERAS {
        let (server, endpoint) = radar();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = heard.clone();
        let builder = in_era(negotiation).on_notification(move |told: ServerNotification| {
            hearing.lock().unwrap().push(format!("{told:?}"));
        });
        let client = wait!(builder.connect(endpoint)).unwrap();
        let capabilities = client.peer().capabilities.clone();
        assert!(capabilities.supports_extension("com.example/radar"), "{capabilities:?}");
        assert!(capabilities.experimental.is_some_and(|experiments| experiments.contains_key("clouds")));
        let scanned = wait!(client.call_raw("radar/scan", &json!({"from": 6}))).unwrap();
        assert_eq!(scanned.decode::<Value>().unwrap()["echoes"], 7);
        eventually!("the echo is heard", heard.lock().unwrap().iter().any(|told| told.contains(Echo::NAME)));
        let wrong = wait!(client.call_raw("radar/scan", &json!({"from": "here"}))).unwrap_err();
        assert!(wrong.to_string().contains("-32602"), "{wrong}");
        server.add_method("radar/off", |_, _: Value| answer!({ Ok(json!({})) }));
        assert!(wait!(client.call_raw("radar/off", &json!({}))).is_ok());
        assert!(server.remove_method("radar/off"));
        assert!(wait!(client.call_raw("radar/off", &json!({}))).is_err());
        wait!(client.close());
        wait!(server.wait_closed()).unwrap();
    }
});

case!(traces_and_notifications_reach_the_server, {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for negotiation in ERAS {
        let (ours, theirs) = AMONG_US.pair().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = heard.clone();
        let server = Server::builder("traced", "1.0")
            .on_notification(move |method, params| {
                hearing.lock().unwrap().push(format!("{method} {params:?}"));
            })
            .tool(Tool::without_arguments("where"), |context, (): ()| {
                answer!({
                    let own = context.meta().and_then(|meta| meta.get::<u32>("com.example/own"));
                    Ok(format!("{:?} {own:?}", context.trace().map(|trace| trace.traceparent)))
                })
            })
            .start(Endpoint::try_from(theirs).unwrap())
            .unwrap();
        let traced = Arc::new(AtomicBool::new(false));
        let tracing = traced.clone();
        let builder = in_era(negotiation)
            .trace_context(move || TraceContext::new(TRACE).filter(|_| tracing.load(Ordering::Relaxed)));
        let client = wait!(builder.connect(Endpoint::try_from(ours).unwrap())).unwrap();
        let said = |outcome: CallToolResult| outcome.content[0].as_text().unwrap().to_owned();
        assert_eq!(said(wait!(client.call_tool("where", json!({}))).unwrap()), "None None");
        traced.store(true, Ordering::Relaxed);
        assert_eq!(said(wait!(client.call_tool("where", json!({}))).unwrap()), format!("Some({TRACE:?}) None"));
        // What a call says itself goes before; what the engine says stays as it is.
        let other = TRACE.replace("4bf9", "4bf8");
        let mut meta = Meta::new();
        meta.insert("com.example/own", &7).unwrap();
        meta.insert("io.modelcontextprotocol/protocolVersion", "1999-01-01").unwrap();
        meta.insert("progressToken", "mine").unwrap();
        let options = CallOptions::new().meta(meta).trace(&TraceContext::new(other.as_str()).unwrap());
        let outcome = wait!(client.with_options(options).call_tool("where", json!({}))).unwrap();
        assert_eq!(said(outcome), format!("Some({other:?}) Some(7)"));
        wait!(client.notify::<Echo>(&EmptyParams::default())).unwrap();
        wait!(client.notify_raw(Echo::NAME, &json!({"from": 6}))).unwrap();
        wait!(client.ping()).unwrap();
        let wanted = format!("{} Some({{\"from\":6}})", Echo::NAME);
        eventually!("the notification is heard", heard.lock().unwrap().contains(&wanted));
        wait!(client.close());
        wait!(server.wait_closed()).unwrap();
    }
});

case!(a_server_calls_what_only_its_client_has, {
    let (server, endpoint) = radar();
    let builder = in_era(Negotiation::Legacy)
        .on_request(Tune::NAME, |params: BTreeMap<String, u32>| answer!({ Ok(json!({"tuned": params["to"] == 4})) }));
    let client = wait!(builder.connect(endpoint)).unwrap();
    wait!(client.ping()).unwrap();
    let calling = server.clone();
    let called = start!({ wait!(calling.call::<Tune>(&BTreeMap::from([("to".into(), 4)]))) });
    // Whoever has no thread of its own hears the call while it waits for something.
    wait!(client.call_tool("slow", json!({}))).unwrap();
    let tuned = join!(called).unwrap();
    assert!(tuned["tuned"]);
    server.notify::<Echo>(&EmptyParams::default()).unwrap();
    assert!(server.notify_raw("notifications/initialized", &json!({})).is_err());
    wait!(client.close());
    wait!(server.wait_closed()).unwrap();
});

case!(pages_are_required_and_paths_stay_below, {
    let (server, endpoint) = radar();
    let builder = in_era(Negotiation::Legacy)
        .on_elicit_with_urls(|_| answer!({ Err(RpcError::internal("nobody asks by itself")) }));
    let client = wait!(builder.connect(endpoint)).unwrap();
    let outcome = wait!(client.call_tool("visit", json!({})));
    assert!(matches!(&outcome, Err(Error::Call(error)) if error.to_string().contains("-32042")), "{outcome:?}");
    let note = wait!(client.call::<ReadResource>(&ReadResourceParams::new("file:///notes/a.txt"))).unwrap();
    assert_eq!(note.contents[0].bytes().unwrap(), b"a.txt");
    let outside = ReadResourceParams::new("file:///notes/..%2Fpasswd");
    let refused = wait!(client.call::<ReadResource>(&outside)).unwrap_err();
    assert!(refused.to_string().contains("leads upwards"), "{refused}");
    wait!(client.close());
    wait!(server.wait_closed()).unwrap();
});
