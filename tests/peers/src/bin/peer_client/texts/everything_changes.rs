//! What the reference server tells without being asked.

use serde_json::json;

use super::adapter::client::ServerNotification;
use super::adapter::model::*;

scene!(updates, |client, _heard| {
    let uri = "demo://resource/dynamic/text/1";
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    let mut subscription = wait!(client.listen(filter.clone())).unwrap();
    assert_eq!(subscription.honoured(), &filter);
    wait!(client.call_tool("toggle-subscriber-updates", json!({}))).unwrap();
    let told = wait!(subscription.next());
    assert!(matches!(&told, Some(ServerNotification::ResourceUpdated(params)) if params.uri == uri), "{told:?}");
    wait!(client.call_tool("toggle-subscriber-updates", json!({}))).unwrap();
});

scene!(list_changed, |client, _heard| {
    let mut filter = SubscriptionFilter::new();
    filter.resources_list_changed = Some(true);
    let mut subscription = wait!(client.listen(filter)).unwrap();
    let arguments = json!({ "name": "hello.gz", "data": "data:text/plain,hello", "outputType": "resourceLink" });
    let result = wait!(client.call_tool("gzip-file-as-resource", arguments)).unwrap();
    let [ContentBlock::ResourceLink(link)] = result.content.as_slice() else { panic!("{result:?}") };
    assert_eq!(wait!(subscription.next()), Some(ServerNotification::ResourcesListChanged));
    let resources = wait!(client.list_resources()).unwrap();
    assert!(resources.iter().any(|resource| resource.uri == link.uri));
    let read = wait!(client.read_resource(&link.uri)).unwrap();
    assert!(matches!(read.contents[0], ResourceContents::Blob(_)), "{read:?}");
});

scene!(logging, |client, heard| {
    wait!(client.set_log_level(LoggingLevel::Debug)).unwrap();
    heard.take_log();
    // The first message comes at once, at a level that is left to chance.
    wait!(client.call_tool("toggle-simulated-logging", json!({}))).unwrap();
    let mut log = heard.take_log();
    // Over HTTP it comes on a stream of its own, beside the result.
    while log.is_empty() {
        wait!(client.ping()).unwrap();
        log = heard.take_log();
    }
    assert!(matches!(log.as_slice(), [(_, message)] if message.contains("message")), "{log:?}");
    wait!(client.call_tool("toggle-simulated-logging", json!({}))).unwrap();
});
