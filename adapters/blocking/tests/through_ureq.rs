//! A client whose requests are made by ureq, against a server of ours on a real socket.

#![cfg(all(unix, feature = "ureq"))]

use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;
use windlass_blocking::client::{Negotiation, ServerNotification};
use windlass_blocking::model::*;
use windlass_blocking::ureq::Agent;
use windlass_blocking::{
    Client, Context, HandlerError, HttpListener, HttpServerConfig, HttpTarget, Server, through_ureq,
};

fn brew(context: Context, arguments: serde_json::Value) -> Result<CallToolResult, HandlerError> {
    let form = ElicitFormParams::new("How many cups?").with_required_property("cups", NumberSchema::integer());
    let cups: u32 = match arguments["cups"].as_u64() {
        Some(cups) => cups as u32,
        None => context.elicit("cups", form)?.content.and_then(|content| content.get("cups")).unwrap_or(1),
    };
    for cup in 1..=cups {
        context.progress(cup.into(), Some(cups.into()), None);
    }
    context.resource_updated("tea://ledger");
    Ok(CallToolResult::text(format!("{cups} cups")))
}

fn server(json_answers: bool) -> (Server, String) {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let url = listener.url("/mcp");
    let ledger = |_, request: windlass_blocking::ResourceRequest| Ok(ReadResourceResult::text(request.uri, "some"));
    let mut http = HttpServerConfig::on_loopback();
    http.json_answers = json_answers;
    let server = Server::builder("tea-house", "1")
        .tool(Tool::new("brew", json!({"type": "object"})), brew)
        .tool(Tool::new("sleep", json!({"type": "object"})), |_, _: serde_json::Value| {
            std::thread::sleep(Duration::from_millis(300));
            Ok("slept")
        })
        .resource(Resource::new("tea://ledger", "ledger"), ledger)
        .http(http)
        .start_http(listener)
        .unwrap();
    (server, url)
}

fn visit(json_answers: bool, negotiation: Negotiation, version: ProtocolVersion) {
    let (server, url) = server(json_answers);
    let target = through_ureq(HttpTarget::new(&url).unwrap(), Agent::config_builder());
    let client = Client::builder("guest", "1")
        .negotiation(negotiation)
        .on_elicit(|_| Ok(ElicitResult::accept([("cups".to_owned(), json!(2).into())].into_iter().collect())))
        .connect(target)
        .unwrap();
    assert_eq!(client.peer().version, version);
    assert_eq!(client.list_tools().unwrap().len(), 2);

    let filter = SubscriptionFilter::new().with_resource_subscriptions(["tea://ledger"]);
    let mut changes = client.listen(filter).unwrap();
    let (told, progress) = mpsc::channel();
    let watched = client.on_progress(move |it| told.send(it.progress).unwrap());
    assert_eq!(watched.call_tool("brew", json!({})).unwrap().text_content(), "2 cups");
    assert_eq!(progress.try_iter().collect::<Vec<_>>(), [1.0, 2.0]);
    assert!(matches!(changes.next(), Some(ServerNotification::ResourceUpdated(_))));
    drop(changes);

    assert_eq!(client.call_tool("brew", json!({"cups": 0})).unwrap().text_content(), "0 cups");
    assert!(client.call_tool("juggle", json!({})).unwrap_err().remote().is_some());
    let hasty = client.with_idle_timeout(Duration::from_millis(50));
    assert!(hasty.call_tool("sleep", json!({})).unwrap_err().to_string().contains("did not answer"));
    assert_eq!(client.call_tool("brew", json!({"cups": 3})).unwrap().text_content(), "3 cups");
    client.close();
    server.close().unwrap();
}

#[test]
fn the_modern_era_by_json_and_by_streams() {
    visit(true, Negotiation::Automatic, ProtocolVersion::LATEST);
    visit(false, Negotiation::Automatic, ProtocolVersion::LATEST);
}

#[test]
fn the_legacy_era_by_json_and_by_streams() {
    visit(true, Negotiation::Legacy, ProtocolVersion::V2025_11_25);
    visit(false, Negotiation::Legacy, ProtocolVersion::V2025_11_25);
}

#[test]
fn nobody_there_is_said() {
    let url = HttpListener::bind("127.0.0.1:0").unwrap().url("/mcp");
    let target = through_ureq(HttpTarget::new(&url).unwrap(), Agent::config_builder());
    let error = Client::connect(target).err().unwrap();
    assert!(error.to_string().contains("refused"), "{error}");
}
