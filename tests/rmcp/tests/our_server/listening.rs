//! Changes: `subscriptions/listen` in the modern era, plain notifications in the legacy one.

use rmcp::model::*;
use rmcp::service::Subscription;

use crate::guest::{Heard, Program, call, connect, legacy, modern};

on_every_runtime! {
    a_legacy_client_hears_of_every_change
    a_modern_subscription_hears_of_every_change
    a_modern_subscription_hears_what_it_asked_for_and_nothing_else
}

async fn a_legacy_client_hears_of_every_change(server: Program) {
    let (client, mut heard) = connect(server, legacy()).await;
    let before = client.list_all_tools().await.unwrap().len();
    call(&client, "add_tool").await;
    assert_eq!(heard.recv().await, Some(Heard::ToolsChanged));
    assert_eq!(client.list_all_tools().await.unwrap().len(), before + 1);
    assert_eq!(call(&client, "added").await, "new");

    client.subscribe(SubscribeRequestParams::new("test://item")).await.unwrap();
    call(&client, "touch").await;
    assert_eq!(heard.recv().await, Some(Heard::ResourceUpdated("test://item".to_owned())));
    client.unsubscribe(UnsubscribeRequestParams::new("test://item")).await.unwrap();
    call(&client, "touch").await;

    call(&client, "change_lists").await;
    // rmcp handles every notification in a task of its own, so either may be first.
    let both = [heard.recv().await.unwrap(), heard.recv().await.unwrap()];
    assert!(both.contains(&Heard::PromptsChanged) && both.contains(&Heard::ResourcesChanged), "{both:?}");
    client.cancel().await.unwrap();
    assert_eq!(heard.recv().await, None);
}

async fn a_modern_subscription_hears_of_every_change(server: Program) {
    let (client, _) = connect(server, modern()).await;
    let everything = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .resource_subscription("test://item")
        .build();
    let mut changes = client.listen(everything.clone()).await.unwrap();
    assert_eq!(changes.acknowledged(), &everything);
    call(&client, "add_tool").await;
    assert_eq!(next_method(&mut changes).await, "notifications/tools/list_changed");
    assert_eq!(call(&client, "added").await, "new");
    call(&client, "touch").await;
    match changes.next().await.unwrap() {
        Some(ServerNotification::ResourceUpdatedNotification(updated)) => assert_eq!(updated.params.uri, "test://item"),
        other => panic!("{other:?}"),
    }
    call(&client, "change_lists").await;
    let mut both = [next_method(&mut changes).await, next_method(&mut changes).await];
    both.sort();
    assert_eq!(both, ["notifications/prompts/list_changed", "notifications/resources/list_changed"]);
    changes.cancel().await.unwrap();
    call(&client, "touch").await;
    client.cancel().await.unwrap();
}

async fn a_modern_subscription_hears_what_it_asked_for_and_nothing_else(server: Program) {
    let (client, mut heard) = connect(server, modern()).await;
    let mut changes = client.listen(SubscriptionFilter::builder().prompts_list_changed().build()).await.unwrap();
    for tool in ["add_tool", "touch", "change_lists"] {
        call(&client, tool).await;
    }
    assert_eq!(next_method(&mut changes).await, "notifications/prompts/list_changed");
    drop(changes);
    client.cancel().await.unwrap();
    assert_eq!(heard.recv().await, None, "nothing went past the subscription");
}

async fn next_method(changes: &mut Subscription) -> String {
    let notification = changes.next().await.unwrap().expect("the subscription is open");
    serde_json::to_value(notification).unwrap()["method"].as_str().unwrap().to_owned()
}
