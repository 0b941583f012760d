//! No process is left behind.

use serde_json::json;

use super::adapter::{Client, CloseReason};
use crate::peer::{ERAS, exists, rmcp_server};

case!(closing_returns_when_the_server_is_gone, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("ender", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
        assert!(exists(pid));
        assert_eq!(wait!(client.close()), CloseReason::Requested);
        assert!(!exists(pid));
    }
});

case!(a_server_that_lingers_is_ended_all_the_same, {
    // At the end of its input rmcp waits up to five seconds for handlers that still run, and tells them nothing.
    let client = wait!(Client::connect(rmcp_server())).unwrap();
    let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
    let filter = super::adapter::model::SubscriptionFilter::new().with_tools_list_changed(true);
    let mut changes = wait!(client.listen(filter)).unwrap();
    assert_eq!(wait!(client.close()), CloseReason::Requested);
    assert!(!exists(pid));
    assert_eq!(wait!(changes.next()), None);
});
