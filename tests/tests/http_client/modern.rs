//! Servers of the modern era.

use std::time::Duration;

use windlass::client::CallOptions;
use windlass::model::{
    CallTool, CallToolParams, GetPrompt, GetPromptParams, ListTools, PaginatedParams, ReadResource, ReadResourceParams,
    SubscriptionFilter,
};

use crate::talk::{Talk, config, http};

#[test]
fn a_call_answered_with_json() {
    let mut talk = Talk::modern();
    talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.json(&call, 200, &call.result(r#"{"resultType":"complete","content":[]}"#));
    // The connection is used again.
    talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    assert_eq!(list.conn, call.conn);
    talk.json(&list, 200, &list.result(r#"{"resultType":"complete","tools":[]}"#));
    talk.close_and_expect("modern_call");
}

#[test]
fn a_call_answered_with_a_stream() {
    let mut talk = Talk::modern();
    talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.stream(&call);
    talk.lines(&call, ": a comment\n\n");
    talk.event(
        &call,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#,
    );
    // An answer to somebody else's call, and one of the wrong type.
    talk.event(&call, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    talk.event(&call, r#"{"jsonrpc":"2.0","id":"2","result":{}}"#);
    talk.event(&call, &call.result(r#"{"resultType":"complete","content":[]}"#));
    // The stream is drained behind its answer.
    talk.event(&call, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"late"}}"#);
    talk.event(&call, &call.result(r#"{"again":true}"#));
    assert_eq!(talk.client.counters().unknown_answers, 3);
    talk.end(&call);
    assert!(talk.client.is_idle());
    talk.pass(Duration::from_secs(60));
    talk.close_and_expect("modern_stream");
}

#[test]
fn answers_do_not_cross_streams() {
    let mut talk = Talk::modern();
    let (first, _) = talk.call::<CallTool>(&CallToolParams::new("one"));
    let one = talk.request();
    let (second, _) = talk.call::<CallTool>(&CallToolParams::new("two"));
    let two = talk.request();
    assert_ne!(one.conn, two.conn);
    talk.stream(&one);
    talk.event(&one, &two.result(r#"{"forged":true}"#));
    // The same in a form that is no message but names the other call.
    talk.event(&one, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":7}}"#, two.id()));
    assert!(talk.outcomes.is_empty());
    talk.json(&two, 200, &two.result(r#"{"content":[]}"#));
    talk.event(&one, &one.result(r#"{"content":[]}"#));
    talk.end(&one);
    assert!(talk.outcome(first).is_ok() && talk.outcome(second).is_ok());
    assert_eq!(talk.client.counters().unknown_answers, 1);
    talk.close_down();
}

#[test]
fn a_stream_that_goes_on_behind_its_answer_is_closed_in_time() {
    let mut talk = Talk::modern();
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.stream(&call);
    talk.event(&call, &call.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok() && !talk.client.is_idle());
    talk.pass(Duration::from_secs(5));
    talk.tells("@ 5s\nx 1");
    assert!(talk.client.is_idle());
    talk.close_down();
}

#[test]
fn a_stream_that_ends_without_an_answer() {
    let mut talk = Talk::modern();
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.stream(&call);
    // Ids mean nothing in this era: there is nothing to resume.
    talk.lines(&call, "id: 7\nretry: 10\ndata: \n\n");
    talk.end(&call);
    assert!(talk.failed(number).starts_with("no response received for request ID 2: the stream ended without it"));
    talk.pass(Duration::from_secs(60));
    talk.no_request();
    talk.close_down();
}

#[test]
fn what_is_safe_is_asked_again_once_under_another_id() {
    let mut talk = Talk::modern();
    let (number, _) = talk.call::<ReadResource>(&ReadResourceParams::new("file:///a"));
    let read = talk.request();
    talk.stream(&read);
    talk.cut(&read);
    let again = talk.request();
    assert_eq!((read.id(), again.id()), (2, 3));
    assert_eq!(again.body, read.body.replacen("\"id\":2", "\"id\":3", 1));
    assert_eq!(again.header("mcp-name"), Some("file:///a"));
    // Progress still finds its call, and so does the answer.
    talk.stream(&again);
    talk.event(
        &again,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#,
    );
    talk.tells("! call 1 at");
    talk.cut(&again);
    assert!(talk.failed(number).starts_with("no response received for request ID 3: the connection broke"));
    talk.no_request();
    talk.close_down();
}

#[test]
fn cancelling_is_closing() {
    let mut talk = Talk::modern();
    let (cancelled, call) = talk.call::<CallTool>(&CallToolParams::new("slow"));
    let request = talk.request();
    talk.client.cancel(call, "never mind", talk.now);
    talk.run();
    // One that has begun to answer, one that times out, and one that is open when the client closes.
    let (streaming, call) = talk.call::<CallTool>(&CallToolParams::new("slow"));
    let stream = talk.request();
    talk.stream(&stream);
    talk.client.cancel(call, "never mind", talk.now);
    talk.run();
    let timed_out = talk.call::<CallTool>(&CallToolParams::new("slow")).0;
    let late = talk.request();
    talk.pass(Duration::from_secs(30));
    for request in [&request, &stream, &late] {
        assert!(!talk.is_open(request.conn), "{}", talk.transcript);
    }
    let closed = talk.call::<CallTool>(&CallToolParams::new("slow")).0;
    for number in [cancelled, streaming] {
        assert_eq!(talk.failed(number), "the call was cancelled");
    }
    assert!(talk.failed(timed_out).contains("did not answer within 30s"));
    assert_eq!(request.conn, 1);
    talk.close();
    assert_eq!(talk.failed(closed), "the connection was closed by this side");
    talk.nothing_left();
    assert!(!talk.transcript.contains("notifications/cancelled"));
}

#[test]
fn a_subscription_is_a_long_stream() {
    let mut talk = Talk::modern();
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    let listen = talk.client.listen(filter, &CallOptions::new(), 9, talk.now).unwrap();
    talk.run();
    let request = talk.request();
    assert_eq!(request.header("mcp-method"), Some("subscriptions/listen"));
    talk.stream(&request);
    talk.event(&request, r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{"toolsListChanged":true}}}"#);
    talk.pass(Duration::from_secs(3600));
    talk.event(&request, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}"#);
    talk.tells("! call 9 told notifications/tools/list_changed");
    talk.client.cancel(listen, "enough", talk.now);
    talk.run();
    talk.tells("x 1");
    // A stream that is lost is an error: what happened meanwhile is unknown.
    talk.client.listen(SubscriptionFilter::new(), &CallOptions::new(), 10, talk.now).unwrap();
    talk.run();
    let request = talk.request();
    talk.stream(&request);
    talk.cut(&request);
    assert!(talk.failed(10).starts_with("no response received for request ID 3"));
    talk.close_down();
}

#[test]
fn names_and_headers_of_the_body() {
    let http = http().header("X-Tenant", "7").unwrap().header("User-Agent", "mine").unwrap();
    let mut talk = Talk::modern_with(config(), http);
    talk.call::<CallTool>(&CallToolParams::new("grüß"));
    let call = talk.request();
    assert_eq!(call.header("mcp-name"), Some("=?base64?Z3LDvMOf?="));
    assert_eq!(call.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(call.header("content-type"), Some("application/json"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!((call.header("x-tenant"), call.header("user-agent")), (Some("7"), Some("mine")));
    talk.call::<ReadResource>(&ReadResourceParams::new("file:///path/to/file%20name.txt"));
    assert_eq!(talk.request().header("mcp-name"), Some("file:///path/to/file%20name.txt"));
    talk.call::<GetPrompt>(&GetPromptParams::new("p"));
    assert_eq!(talk.request().header("mcp-name"), Some("p"));
    talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    assert_eq!((list.header("mcp-name"), list.header("mcp-method")), (None, Some("tools/list")));
    talk.close_down();
}

#[test]
fn a_session_id_means_nothing() {
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    let body = probe.result(crate::talk::DISCOVERED);
    talk.say(&probe, 200, "Content-Type: application/json\r\nMcp-Session-Id: nonsense\r\n", Some(&body));
    talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    assert_eq!(list.header("mcp-session-id"), None);
    talk.json(&list, 200, &list.result(r#"{"tools":[]}"#));
    // No DELETE either.
    talk.close();
    talk.nothing_left();
}

#[test]
fn an_answer_that_does_not_say_what_it_is() {
    let mut talk = Talk::modern();
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.plain(&call, 200, &call.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn errors_of_the_server_are_errors_whatever_their_status() {
    let mut talk = Talk::modern();
    for status in [200, 400, 404, 500] {
        let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
        let call = talk.request();
        talk.json(&call, status, &call.error(-32602, "no such tool"));
        assert_eq!(talk.failed(number), "the peer answered with an error: no such tool (code -32602)");
    }
    // An error whose id could not be read belongs to the request all the same.
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.json(&call, 400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#);
    assert_eq!(talk.failed(number), "the peer answered with an error: what? (code -32700)");
    talk.close_down();
}

#[test]
fn input_is_asked_for_in_rounds() {
    use windlass::model::{ClientCapabilities, ElicitResult};
    let mut config = config();
    config.capabilities = ClientCapabilities::new().with_form_elicitation();
    let mut talk = Talk::modern_with(config, http());
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("ask"));
    let first = talk.request();
    talk.json(&first, 200, &first.result(r#"{"resultType":"input_required","inputRequests":{"n":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s"}"#));
    let reply = talk.inputs.remove(0);
    talk.client.respond(reply, Ok(ElicitResult::decline().into()), talk.now);
    talk.run();
    let second = talk.request();
    assert_eq!((first.id(), second.id(), second.header("mcp-name")), (2, 3, Some("ask")));
    assert!(second.body.contains(r#""requestState":"s""#));
    talk.json(&second, 200, &second.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}
