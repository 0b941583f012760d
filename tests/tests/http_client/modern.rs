//! Servers of the modern era.

use std::time::Duration;

use windlass::model::{CallTool, CallToolParams, ListTools, PaginatedParams};

use crate::talk::Talk;

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
    assert_eq!(talk.client.counters().unknown_answers, 2);
    talk.end(&call);
    assert!(talk.client.is_idle());
    talk.pass(Duration::from_secs(60));
    talk.close_and_expect("modern_stream");
}
