//! Threads that share a connection: one of them drives it for all, and callbacks may call.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::Client;
use super::adapter::client::ServerNotification;
use super::adapter::model::{LoggingLevel, SubscriptionFilter};
use crate::peers::server;
use crate::processes;

case!(a_callback_may_make_calls_of_its_own, {
    let client = Client::connect(server(OWN_SERVER)).unwrap();
    let (calling, sums) = (client.clone(), Arc::new(Mutex::new(Vec::new())));
    let summing = sums.clone();
    let watching = client.on_progress(move |progress| {
        let arguments = json!({"a": progress.progress as i64, "b": 100});
        // Meanwhile the next progress may come, and the callback be called within itself.
        let sum = calling.call_tool("add", arguments).unwrap().text_content();
        summing.lock().unwrap().push(sum);
    });
    assert_eq!(watching.call_tool("add", json!({"a": 1, "b": 2})).unwrap().text_content(), "3");
    // A callback that calls lets the connection go on, and so its own call may be done before it is.
    eventually!("every callback is done", sums.lock().unwrap().len() == 3);
    let mut sums = std::mem::take(&mut *sums.lock().unwrap());
    sums.sort();
    assert_eq!(sums, ["101", "102", "103"]);
    client.ping().unwrap();
});

case!(callers_come_and_go_while_others_wait_long, {
    let client = Client::connect(server(OWN_SERVER)).unwrap();
    let patient: Vec<_> = (1..=4)
        .map(|number| {
            let client = client.with_idle_timeout(Duration::from_millis(150 * number));
            std::thread::spawn(move || client.call_tool("never", json!({})).unwrap_err())
        })
        .collect();
    let busy: Vec<_> = (0..8)
        .map(|caller| {
            let client = client.clone();
            std::thread::spawn(move || {
                for call in 0..100 {
                    let text = format!("{caller}.{call}");
                    let echoed = client.call_tool("echo", json!({ "text": text })).unwrap();
                    assert_eq!(echoed.text_content(), text);
                }
            })
        })
        .collect();
    for thread in busy {
        thread.join().unwrap();
    }
    for thread in patient {
        thread.join().unwrap();
    }
    client.close();
});

case!(subscriptions_are_dropped_while_others_call, {
    let client = Client::connect(server(OWN_SERVER)).unwrap();
    let callers: Vec<_> = (0..4)
        .map(|caller: usize| {
            let client = client.clone();
            std::thread::spawn(move || {
                for call in 0..100 {
                    if caller % 2 == 0 {
                        let mut filter = SubscriptionFilter::new();
                        filter.tools_list_changed = Some(true);
                        drop(client.listen(filter).unwrap());
                    }
                    let sum = client.call_tool("add", json!({"a": caller, "b": call})).unwrap();
                    assert_eq!(sum.text_content(), (caller + call).to_string());
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    client.close();
});

case!(connections_are_usable_from_the_first_moment_on, {
    // The thread that drives a connection, where there is one, may be late.
    for _ in 0..20 {
        let client = Client::connect(server(OWN_SERVER)).unwrap();
        for number in 0..20 {
            let sum = client.call_tool("add", json!({"a": number, "b": 1})).unwrap();
            assert_eq!(sum.text_content(), (number + 1).to_string());
        }
        client.close();
    }
});

case!(notifications_are_heard_while_a_client_is_driven, {
    let (tell, told) = channel();
    let builder = Client::builder("driver", "1.0").on_notification(move |notification| {
        if let ServerNotification::Message(_) = notification {
            tell.send(()).unwrap();
        }
    });
    let client = builder.connect(server(OWN_SERVER)).unwrap();
    client.set_log_level(LoggingLevel::Debug).unwrap();
    let started = Instant::now();
    let calling = client.clone();
    let caller = std::thread::spawn(move || calling.call_tool("log", json!({})).unwrap());
    client.drive_for(Duration::from_millis(100));
    assert!(started.elapsed() >= Duration::from_millis(100));
    caller.join().unwrap();
    assert_eq!(told.try_iter().count(), 2);
    client.close();
});

case!(driving_for_ever_ends_with_the_connection, {
    let client = Client::connect(server(OWN_SERVER)).unwrap();
    let pid: u32 = client.call_tool("pid", json!({})).unwrap().text_content().parse().unwrap();
    let driving = client.clone();
    let driver = std::thread::spawn(move || driving.drive_for(Duration::MAX));
    client.ping().unwrap();
    processes::kill(pid);
    driver.join().unwrap();
    client.wait_closed();
    eventually!("it is reaped", !processes::exists(pid));
});

case!(a_subscriber_waits_as_long_as_it_says, {
    let client = Client::connect(server(OWN_SERVER)).unwrap();
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec![super::served::ITEM.to_owned()]);
    let mut subscription = client.listen(filter).unwrap();
    let started = Instant::now();
    assert_eq!(subscription.next_timeout(Duration::from_millis(50)), None);
    assert!(started.elapsed() >= Duration::from_millis(50));
    assert_eq!(subscription.next_timeout(Duration::ZERO), None);
    assert_eq!(subscription.ended(), None);
    let touching = client.clone();
    let toucher = std::thread::spawn(move || touching.call_tool("touch", json!({})).unwrap());
    let told = subscription.next_timeout(Duration::MAX);
    assert!(matches!(told, Some(ServerNotification::ResourceUpdated(_))), "{told:?}");
    toucher.join().unwrap();
    client.close();
    assert_eq!(subscription.next_timeout(Duration::MAX), None);
    assert!(subscription.ended().is_some());
});
