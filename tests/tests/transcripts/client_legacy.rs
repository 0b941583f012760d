//! The client under test against a scripted legacy server.

use std::time::Duration;

use windlass::RpcError;
use windlass::model::{
    CallTool, EmptyParams, LoggingLevel, Ping, RootsListChanged, SetLevel, SetLevelParams, SubscriptionFilter,
};

use crate::common::{accept_name, answer_everything, legacy_client, tell, tool};
use crate::{close_and_expect, expect};

const ELICIT: &str = r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}"#;

#[test]
fn calls_are_asked_and_answered_as_the_revision_has_them() {
    let mut sim = legacy_client("2025-11-25");
    sim.client.call::<CallTool>(&tool("echo")).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}]}}"#);
    sim.client.call::<Ping>(&EmptyParams::new()).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    sim.client.call::<SetLevel>(&SetLevelParams::new(LoggingLevel::Warning)).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
    close_and_expect(&mut sim, "client_legacy_call");
}

#[test]
fn requests_of_the_server() {
    let mut sim = legacy_client("2025-11-25");
    answer_everything(&mut sim.client);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#);
    tell(&mut sim, ELICIT);
    // Neither of these was declared.
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
    );
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"x"}}"#,
    );
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":7}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":6,"method":"x/unknown"}"#);
    close_and_expect(&mut sim, "client_legacy_server_requests");
}

#[test]
fn the_server_cancels_its_request_and_the_races() {
    let mut sim = legacy_client("2025-11-25");
    tell(&mut sim, ELICIT);
    // A second request under the id of an open one is refused, and the first stays open.
    tell(&mut sim, ELICIT);
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"e1","reason":"never mind"}}"#,
    );
    assert!(!sim.client.answer_input(1, Ok(accept_name().into())));
    sim.settle();
    // Cancelled after it was answered: ignored.
    tell(&mut sim, ELICIT);
    assert!(sim.client.answer_input(2, Err(RpcError::internal("no window to ask in"))));
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"e1"}}"#);
    assert_eq!(sim.client.counters().stray_cancellations, 1);
    close_and_expect(&mut sim, "client_legacy_server_cancels");
}

#[test]
fn notifications_are_told_and_sent() {
    let mut sim = legacy_client("2025-11-25");
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    sim.client.notify::<RootsListChanged>(&EmptyParams::new()).unwrap();
    close_and_expect(&mut sim, "client_legacy_notification");
}

#[test]
fn a_cancel_and_its_races() {
    let mut sim = legacy_client("2025-11-25");
    let call = sim.client.call::<CallTool>(&tool("slow")).unwrap();
    sim.settle();
    sim.client.cancel(call, "changed my mind");
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
    let call = sim.client.call::<CallTool>(&tool("quick")).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#);
    sim.client.cancel(call, "too late");
    sim.settle();
    assert_eq!(sim.client.counters().late_answers, 1);
    close_and_expect(&mut sim, "client_legacy_cancel");
}

#[test]
fn a_call_that_times_out_is_cancelled() {
    let mut sim = legacy_client("2025-11-25");
    sim.client.call::<CallTool>(&tool("slow")).unwrap();
    sim.run_for(Duration::from_secs(31));
    close_and_expect(&mut sim, "client_legacy_timeout");
}

#[test]
fn a_subscription_is_one_subscribe_for_each_resource() {
    let mut sim = legacy_client("2025-11-25");
    let filter = SubscriptionFilter::new()
        .with_tools_list_changed(true)
        .with_resource_subscriptions(vec!["file:///a.txt".to_owned()]);
    let listen = sim.client.listen(filter).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a.txt"}}"#);
    sim.client.cancel(listen, "enough");
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
    close_and_expect(&mut sim, "client_legacy_listen");
}

#[test]
fn batches_where_the_revision_has_them() {
    let batch = r#"[{"jsonrpc":"2.0","id":2,"result":{"content":[]}},7,{"jsonrpc":"2.0","id":"p","method":"ping"}]"#;
    let mut sim = legacy_client("2025-03-26");
    sim.client.call::<CallTool>(&tool("echo")).unwrap();
    sim.settle();
    tell(&mut sim, batch);
    close_and_expect(&mut sim, "client_legacy_batch");

    let mut sim = legacy_client("2025-06-18");
    sim.client.call::<CallTool>(&tool("echo")).unwrap();
    sim.settle();
    tell(&mut sim, batch);
    close_and_expect(&mut sim, "client_legacy_batch_not_allowed");
}

#[test]
fn a_server_that_exits_ends_open_calls_and_inputs() {
    let mut sim = legacy_client("2025-11-25");
    sim.client.call::<CallTool>(&tool("slow")).unwrap();
    tell(&mut sim, ELICIT);
    sim.server.exit();
    sim.run_until_idle();
    expect(&sim, "client_legacy_server_closes");
    sim.assert_nothing_left();
}
