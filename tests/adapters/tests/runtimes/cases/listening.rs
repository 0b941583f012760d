//! Subscriptions in both eras.

use serde_json::json;

use super::adapter::client::{Negotiation, ServerNotification};
use super::adapter::model::{ResourceUpdatedParams, SubscriptionFilter};
use super::adapter::{CallError, Client, CloseReason, Endpoint, Error, HttpListener, HttpServerConfig, HttpTarget};
use super::eras::{ERAS, in_era};
use super::{OWN_SERVER, served};
use crate::peers::{AMONG_US, PARTIES, server};
use crate::processes;

/// What the tests listen for.
pub(super) fn tools_and_item() -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    filter.resource_subscriptions = Some(vec![served::ITEM.to_owned()]);
    filter
}

case!(changes_at_run_time_arrive_from_every_server, {
    for party in PARTIES {
        for negotiation in ERAS {
            let client = wait!(in_era(negotiation).connect(server(party))).unwrap();
            let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
            assert_eq!(subscription.honoured(), &tools_and_item());
            let before = wait!(client.list_tools()).unwrap().len();

            assert_eq!(wait!(client.call_tool("add_tool", json!({}))).unwrap().text_content(), "added");
            let told = wait!(subscription.next());
            assert_eq!(told, Some(ServerNotification::ToolsListChanged), "{party} by {negotiation:?}");
            assert_eq!(wait!(client.list_tools()).unwrap().len(), before + 1);
            assert_eq!(wait!(client.call_tool("added", json!({}))).unwrap().text_content(), "new");

            wait!(client.call_tool("touch", json!({}))).unwrap();
            match wait!(subscription.next()) {
                Some(ServerNotification::ResourceUpdated(ResourceUpdatedParams { uri, .. })) => {
                    assert_eq!(uri, served::ITEM);
                }
                other => panic!("{party} by {negotiation:?}: {other:?}"),
            }
            assert_eq!(wait!(client.call_tool("remove_tool", json!({}))).unwrap().text_content(), "true");
            assert_eq!(wait!(subscription.next()), Some(ServerNotification::ToolsListChanged));
            wait!(client.close());
            assert_eq!(wait!(subscription.next()), None);
        }
    }
});

case!(a_subscription_that_is_dropped_hears_nothing_and_the_others_go_on, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let dropped = wait!(client.listen(tools_and_item())).unwrap();
        let mut kept = wait!(client.listen(tools_and_item())).unwrap();
        drop(dropped);
        for _ in 0..3 {
            wait!(client.call_tool("touch", json!({}))).unwrap();
            assert!(matches!(wait!(kept.next()), Some(ServerNotification::ResourceUpdated(_))));
        }
        drop(kept);
        wait!(client.call_tool("touch", json!({}))).unwrap();
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});

case!(a_waiting_subscriber_is_woken_by_changes_that_others_make, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
        let waiting = start!({
            let mut heard = 0;
            while heard < 50 {
                assert!(matches!(wait!(subscription.next()), Some(ServerNotification::ResourceUpdated(_))));
                heard += 1;
            }
        });
        for _ in 0..50 {
            wait!(client.call_tool("touch", json!({}))).unwrap();
        }
        join!(waiting);
        wait!(client.close());
    }
});

case!(a_subscription_to_what_is_not_there_is_refused, {
    let client = wait!(in_era(Negotiation::Legacy).connect(server(OWN_SERVER))).unwrap();
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec!["test://nowhere".to_owned()]);
    match wait!(client.listen(filter)) {
        Err(Error::Call(_)) => {}
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("there is no such resource"),
    }
    wait!(client.close());
});

case!(what_has_come_is_taken_without_waiting, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
        assert_eq!(subscription.try_next(), None);
        for _ in 0..3 {
            wait!(client.call_tool("touch", json!({}))).unwrap();
            let mut told;
            eventually!("the change is told", {
                told = subscription.try_next();
                told.is_some()
            });
            assert!(matches!(told, Some(ServerNotification::ResourceUpdated(_))), "{told:?}");
        }
        assert_eq!((subscription.try_next(), subscription.ended(), subscription.missed()), (None, None, 0));
        wait!(client.close());
        assert_eq!(subscription.try_next(), None);
        assert_eq!(subscription.ended(), Some(Err(Error::Call(CallError::Closed(CloseReason::Requested)))));
    }
});

case!(a_subscription_that_the_server_ends_tells_so, {
    let (ours, theirs) = AMONG_US.pair().unwrap();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let target = HttpTarget::new(&listener.url("/mcp")).unwrap();
    let on_stream = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
    let over_http = served::start_http(listener, HttpServerConfig::on_loopback()).unwrap();
    let clients = [
        (wait!(Client::connect(Endpoint::try_from(ours).unwrap())).unwrap(), on_stream),
        (wait!(Client::connect(target)).unwrap(), over_http),
    ];
    for (client, server) in clients {
        let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
        // Whoever has no thread of its own hears of the end while it waits for it.
        let waiting = start!({
            let told = wait!(subscription.next());
            (told, subscription.ended())
        });
        wait!(server.close()).unwrap();
        assert_eq!(join!(waiting), (None, Some(Ok(()))));
        wait!(client.close());
    }
});

case!(a_subscription_that_breaks_tells_why, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
        let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
        wait!(client.call_tool("touch", json!({}))).unwrap();
        processes::kill(pid);
        wait!(client.wait_closed());
        // What was told before is heard before.
        assert_eq!(subscription.ended(), None);
        assert!(matches!(wait!(subscription.next()), Some(ServerNotification::ResourceUpdated(_))));
        assert_eq!(wait!(subscription.next()), None);
        assert_eq!(subscription.ended(), Some(Err(Error::Call(CallError::Closed(CloseReason::PeerClosed)))));
    }
});

case!(changes_that_nobody_takes_are_counted, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
    for _ in 0..1030 {
        wait!(client.call_tool("touch", json!({}))).unwrap();
    }
    eventually!("the last change has come", {
        wait!(client.ping()).unwrap();
        subscription.missed() == 6
    });
    let mut kept = 0;
    while subscription.try_next().is_some() {
        kept += 1;
    }
    assert_eq!(kept, 1024);
    wait!(client.close());
});
