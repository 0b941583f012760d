//! The client under test against a scripted modern server.

use std::time::Duration;

use windlass::RpcError;
use windlass::model::{
    CallTool, Discover, EmptyParams, ListTools, LoggingLevel, PaginatedParams, Ping, SetLevel, SetLevelParams,
    SubscriptionFilter,
};

use crate::common::{accept_name, answer_everything, modern_client, tell, tool};
use crate::{close_and_expect, expect};

const INPUT_REQUIRED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}},"requestState":"opaque"}}"#;

#[test]
fn every_call_says_who_asks_and_ends_with_its_answer() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("echo")).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":"hi"}]}}"#,
    );
    sim.client.call::<CallTool>(&tool("missing")).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool: missing"}}"#);
    close_and_expect(&mut sim, "client_modern_call");
}

#[test]
fn a_server_can_be_asked_again_what_it_is() {
    let mut sim = modern_client();
    let call = sim.client.call::<Discover>(&EmptyParams::new()).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}}}"#,
    );
    assert!(sim.client.result::<Discover>(call).unwrap().capabilities.prompts.is_some());
    close_and_expect(&mut sim, "client_modern_discover");
}

#[test]
fn a_call_that_needs_input_is_made_again_with_the_answers() {
    let mut sim = modern_client();
    answer_everything(&mut sim.client);
    sim.client.call::<CallTool>(&tool("ask")).unwrap();
    sim.settle();
    tell(&mut sim, INPUT_REQUIRED);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}"#);
    close_and_expect(&mut sim, "client_modern_input");
}

#[test]
fn state_without_questions_is_sent_back_at_once() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("poll")).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"come back"}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}"#);
    close_and_expect(&mut sim, "client_modern_state_only");
}

#[test]
fn an_input_that_fails_ends_the_call() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("ask")).unwrap();
    sim.settle();
    tell(&mut sim, INPUT_REQUIRED);
    assert!(sim.client.answer_input(1, Err(RpcError::internal("no window to ask in"))));
    sim.settle();
    close_and_expect(&mut sim, "client_modern_input_fails");
}

#[test]
fn a_call_is_cancelled_between_rounds() {
    let mut sim = modern_client();
    let call = sim.client.call::<CallTool>(&tool("ask")).unwrap();
    sim.settle();
    tell(&mut sim, INPUT_REQUIRED);
    sim.client.cancel(call, "changed my mind");
    sim.settle();
    assert!(!sim.client.answer_input(1, Ok(accept_name().into())));
    close_and_expect(&mut sim, "client_modern_cancel_between_rounds");
}

#[test]
fn requests_of_a_modern_server_are_not_answered() {
    let mut sim = modern_client();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(sim.client.counters().malformed, 2);
    close_and_expect(&mut sim, "client_modern_server_request");
}

#[test]
fn notifications_are_told_also_unknown_ones() {
    let mut sim = modern_client();
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/x-unknown"}"#);
    close_and_expect(&mut sim, "client_modern_notification");
}

#[test]
fn progress_is_told_for_its_own_call_and_going_forward_only() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("steps")).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1,"total":2}}"#,
    );
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"2","progress":2}}"#,
    );
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":2}}"#);
    // Progress that stands still, or goes back, is none.
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#);
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5}}"#,
    );
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":3}}"#);
    assert_eq!(sim.client.counters().stray_progress, 5);
    close_and_expect(&mut sim, "client_modern_progress");
}

#[test]
fn a_cancel_and_its_races() {
    let mut sim = modern_client();
    let call = sim.client.call::<CallTool>(&tool("slow")).unwrap();
    sim.settle();
    sim.client.cancel(call, "changed my mind");
    sim.settle();
    // The answer was on its way.
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#);
    assert_eq!(sim.client.counters().late_answers, 1);
    // The answer was faster.
    let call = sim.client.call::<CallTool>(&tool("quick")).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}"#);
    sim.client.cancel(call, "too late");
    sim.settle();
    close_and_expect(&mut sim, "client_modern_cancel");
}

#[test]
fn a_call_that_times_out_is_cancelled_and_its_late_answer_counted() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("slow")).unwrap();
    sim.run_for(Duration::from_secs(31));
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#);
    close_and_expect(&mut sim, "client_modern_timeout");
}

#[test]
fn a_subscription_begins_when_it_is_acknowledged_and_brings_what_was_asked_for() {
    let mut sim = modern_client();
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    let listen = sim.client.listen(filter).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}"#,
    );
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}"#,
    );
    // Once it is acknowledged it does not time out.
    sim.run_for(Duration::from_secs(3600));
    sim.client.cancel(listen, "enough");
    sim.settle();
    // The server ends the next one, in both ways at once.
    sim.client.listen(SubscriptionFilter::new()).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#,
    );
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#,
    );
    close_and_expect(&mut sim, "client_modern_listen");
}

#[test]
fn the_log_level_goes_with_every_request() {
    let mut sim = modern_client();
    sim.client.call::<SetLevel>(&SetLevelParams::new(LoggingLevel::Warning)).unwrap();
    sim.client.call::<ListTools>(&PaginatedParams::new()).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#,
    );
    close_and_expect(&mut sim, "client_modern_log_level");
}

#[test]
fn a_ping_asks_what_the_server_is() {
    let mut sim = modern_client();
    sim.client.call::<Ping>(&windlass::model::EmptyParams::new()).unwrap();
    sim.settle();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}"#,
    );
    close_and_expect(&mut sim, "client_modern_ping");
}

#[test]
fn malformed_lines_are_never_answered() {
    let mut sim = modern_client();
    for line in ["hello, I am a log line", "7", "[]", r#"{"jsonrpc":"1.0","id":2,"result":{}}"#, r#"{"id":true}"#] {
        tell(&mut sim, line);
    }
    sim.server.say_bytes(b"\xff\xfe\n\n\r\n");
    sim.settle();
    close_and_expect(&mut sim, "client_modern_malformed");
}

#[test]
fn wrong_answers_end_their_calls() {
    let mut sim = modern_client();
    for answer in [
        r#"{"jsonrpc":"2.0","id":2,"result":7}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"both"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"error":"no"}"#,
        r#"{"id":5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":6,"result":{"resultType":"task"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required"}}"#,
    ] {
        sim.client.call::<CallTool>(&tool("echo")).unwrap();
        sim.settle();
        tell(&mut sim, answer);
    }
    close_and_expect(&mut sim, "client_modern_wrong_answers");
}

#[test]
fn a_server_that_exits_ends_open_calls() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("slow")).unwrap();
    sim.settle();
    sim.server.exit();
    sim.run_until_idle();
    expect(&sim, "client_modern_server_closes");
    sim.assert_nothing_left();
}

#[test]
fn a_stream_that_breaks_ends_open_calls() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("slow")).unwrap();
    sim.settle();
    sim.cut();
    sim.run_until_idle();
    expect(&sim, "client_modern_cut");
    sim.assert_nothing_left();
}
