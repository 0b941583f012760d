//! Servers that are not careful with what they print.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::Client;
use crate::peers::{PARTIES, scripted, server};

case!(lines_that_are_no_messages_are_skipped_and_reported, {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let reporting = reported.clone();
    let builder = Client::builder("reader", "1.0");
    let builder = builder.on_malformed(move |detail| reporting.lock().unwrap().push(detail));
    let client = wait!(builder.connect(scripted("garbage"))).unwrap();
    for word in ["one", "two"] {
        assert_eq!(wait!(client.call_tool("echo", json!({"text": word}))).unwrap().text_content(), word);
    }
    // Four lines before each of four answers: to the probe, the handshake and two calls.
    assert_eq!(reported.lock().unwrap().len(), 16, "{reported:?}");
    assert!(client.closed().is_none());
    wait!(client.close());
});

case!(what_a_handler_prints_does_not_reach_the_stream, {
    for party in PARTIES {
        let malformed = Arc::new(AtomicUsize::new(0));
        let (counting, printed) = (malformed.clone(), Arc::new(AtomicUsize::new(0)));
        let printing = printed.clone();
        let command = server(party).on_stderr(move |line| {
            printing.fetch_add(usize::from(line == r#"{"jsonrpc":"2.0"}"#), Ordering::SeqCst);
        });
        let builder = Client::builder("reader", "1.0").on_malformed(move |_| {
            counting.fetch_add(1, Ordering::SeqCst);
        });
        let client = wait!(builder.connect(command)).unwrap();
        for _ in 0..3 {
            wait!(client.call_tool("print", json!({"text": r#"{"jsonrpc":"2.0"}"#}))).unwrap();
        }
        eventually!("what was printed shows up on standard error", printed.load(Ordering::SeqCst) == 3);
        assert_eq!(malformed.load(Ordering::SeqCst), 0);
        wait!(client.close());
    }
});

case!(much_on_standard_error_blocks_nothing, {
    let lines = Arc::new(AtomicUsize::new(0));
    let counting = lines.clone();
    let command = server(OWN_SERVER).on_stderr(move |_| {
        counting.fetch_add(1, Ordering::SeqCst);
    });
    let client = wait!(Client::connect(command)).unwrap();
    wait!(client.call_tool("complain", json!({"bytes": 200_000}))).unwrap();
    assert_eq!(wait!(client.call_tool("add", json!({"a": 1, "b": 1}))).unwrap().text_content(), "2");
    eventually!("every line was told", lines.load(Ordering::SeqCst) == 2_000);
    wait!(client.close());
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    wait!(client.call_tool("complain", json!({"bytes": 200_000}))).unwrap();
    wait!(client.close());
});

case!(much_on_standard_error_before_the_handshake_blocks_nothing, {
    let bytes = Arc::new(AtomicUsize::new(0));
    let counting = bytes.clone();
    let command = scripted("stderr=200000").on_stderr(move |piece| {
        counting.fetch_add(piece.len(), Ordering::SeqCst);
    });
    let client = wait!(Client::connect(command)).unwrap();
    assert_eq!(wait!(client.call_tool("echo", json!({"text": "loud"}))).unwrap().text_content(), "loud");
    wait!(client.close());
    eventually!("everything was told, in pieces", bytes.load(Ordering::SeqCst) == 200_000);
});
