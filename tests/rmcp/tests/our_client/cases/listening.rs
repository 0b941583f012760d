//! Changes: `subscriptions/listen` in the modern era, plain notifications in the legacy one.

use serde_json::json;

use super::adapter::Client;
use super::adapter::client::ServerNotification;
use super::adapter::model::SubscriptionFilter;
use crate::peer::{ERAS, rmcp_server};

fn everything() -> SubscriptionFilter {
    SubscriptionFilter::new()
        .with_tools_list_changed(true)
        .with_prompts_list_changed(true)
        .with_resources_list_changed(true)
        .with_resource_subscriptions(["test://item".to_owned()])
}

case!(every_kind_of_change_arrives, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("listener", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let mut changes = wait!(client.listen(everything())).unwrap();
        assert_eq!(changes.honoured(), &everything(), "{negotiation:?}");

        wait!(client.call_tool("add_tool", json!({}))).unwrap();
        assert_eq!(wait!(changes.next()), Some(ServerNotification::ToolsListChanged), "{negotiation:?}");
        assert_eq!(wait!(client.list_tools()).unwrap().len(), 19);
        assert_eq!(wait!(client.call_tool("added", json!({}))).unwrap().text_content(), "new");

        wait!(client.call_tool("touch", json!({}))).unwrap();
        match wait!(changes.next()) {
            Some(ServerNotification::ResourceUpdated(updated)) => assert_eq!(updated.uri, "test://item"),
            other => panic!("{negotiation:?}: {other:?}"),
        }
        wait!(client.call_tool("change_lists", json!({}))).unwrap();
        assert_eq!(wait!(changes.next()), Some(ServerNotification::PromptsListChanged));
        assert_eq!(wait!(changes.next()), Some(ServerNotification::ResourcesListChanged));
        drop(changes);
        wait!(client.close());
    }
});

case!(a_subscription_hears_what_it_asked_for_and_nothing_else, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("picky", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let prompts_only = SubscriptionFilter::new().with_prompts_list_changed(true);
        let mut changes = wait!(client.listen(prompts_only)).unwrap();
        for tool in ["add_tool", "touch", "change_lists"] {
            wait!(client.call_tool(tool, json!({}))).unwrap();
        }
        assert_eq!(wait!(changes.next()), Some(ServerNotification::PromptsListChanged), "{negotiation:?}");
        drop(changes);
        wait!(client.close());
    }
});

case!(a_subscription_that_is_dropped_ends_on_the_server_too, {
    let client = wait!(Client::connect(rmcp_server())).unwrap();
    let first = wait!(client.listen(everything())).unwrap();
    let mut second = wait!(client.listen(everything())).unwrap();
    while !wait!(client.call_tool("counts", json!({}))).unwrap().text_content().contains("listeners 2") {}
    drop(first);
    // The handler of the subscription needs a moment to see it.
    while !wait!(client.call_tool("counts", json!({}))).unwrap().text_content().contains("listeners 1") {}
    wait!(client.call_tool("add_tool", json!({}))).unwrap();
    assert_eq!(wait!(second.next()), Some(ServerNotification::ToolsListChanged));
    drop(second);
    while !wait!(client.call_tool("counts", json!({}))).unwrap().text_content().contains("listeners 0") {}
    wait!(client.close());
});
