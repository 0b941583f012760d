//! Callbacks that misbehave harm nobody else.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::Client;
use super::adapter::model::{ListRootsResult, LoggingLevel, Root};
use crate::peers::{scripted, server};

case!(a_callback_for_progress_that_panics_does_not_end_the_connection, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let panicking = client.on_progress(|_| panic!("a callback's mistake, which is part of the test"));
    for number in 0..3 {
        let sum = wait!(panicking.call_tool("add", json!({"a": number, "b": 1}))).unwrap();
        assert_eq!(sum.text_content(), (number + 1).to_string());
    }
    wait!(client.ping()).unwrap();
    wait!(client.close());
});

case!(callbacks_for_notifications_and_lines_that_panic_do_not_end_the_connection, {
    let builder = Client::builder("clumsy", "1.0");
    let builder = builder.on_notification(|_| panic!("a callback's mistake, which is part of the test"));
    let client = wait!(builder.connect(server(OWN_SERVER))).unwrap();
    wait!(client.set_log_level(LoggingLevel::Debug)).unwrap();
    for _ in 0..3 {
        wait!(client.call_tool("log", json!({}))).unwrap();
    }
    wait!(client.close());
    let builder = Client::builder("clumsy", "1.0");
    let builder = builder.on_malformed(|_| panic!("a callback's mistake, which is part of the test"));
    let client = wait!(builder.connect(scripted("garbage"))).unwrap();
    assert_eq!(wait!(client.call_tool("echo", json!({"text": "fine"}))).unwrap().text_content(), "fine");
    wait!(client.close());
});

case!(an_input_handler_may_call_the_server_that_asks, {
    let (tell, told) = sync_channel::<Client>(1);
    let told = Arc::new(Mutex::new(told));
    let builder = Client::builder("busy", "1.0").on_roots(move || {
        let told = told.clone();
        answer!({
            let client = told.lock().unwrap().recv().unwrap();
            let sum = wait!(client.call_tool("add", json!({"a": 20, "b": 3}))).unwrap().text_content();
            Ok(ListRootsResult::new([Root::new(format!("file:///{sum}"))]))
        })
    });
    let client = wait!(builder.connect(server(OWN_SERVER))).unwrap();
    tell.send(client.clone()).unwrap();
    assert_eq!(wait!(client.call_tool("ask_roots", json!({}))).unwrap().text_content(), "file:///23");
    wait!(client.close());
});
