//! The conversation over HTTP: with sessions and without, answers as streams and as single documents.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::adapter::client::{Negotiation, ServerNotification};
use super::adapter::model::*;
use super::adapter::{CallError, Client, CloseReason, Error, RpcError};
use crate::peer::{ERAS, HttpServer};

/// How the server is told to behave.
const MODES: [&[&str]; 3] = [&[], &["--stateless"], &["--stateless", "--json"]];

case!(tools_resources_and_prompts_are_there_in_every_mode, {
    for mode in MODES {
        let server = HttpServer::start(mode);
        for negotiation in ERAS {
            let client =
                wait!(Client::builder("caller", "1.0").negotiation(negotiation).connect(server.target())).unwrap();
            assert_eq!(wait!(client.list_tools()).unwrap().len(), 18, "{mode:?}");
            for length in [0, 1, 30_000] {
                let text = "é\n\"".repeat(length);
                let echoed = wait!(client.call_tool("echo", json!({"text": text}))).unwrap();
                assert!(echoed.text_content() == text, "{length} {mode:?}");
            }
            let sum = wait!(client.call_tool("add", json!({"a": 40, "b": 2}))).unwrap();
            assert_eq!(sum.structured_content.unwrap().decode::<serde_json::Value>().unwrap(), json!({"sum": 42}));
            let error = wait!(client.call_tool("juggle", json!({}))).unwrap_err();
            assert_eq!(error.remote().unwrap().code, -32602, "{error}");
            assert_eq!(wait!(client.list_resources()).unwrap().len(), 7);
            assert_eq!(wait!(client.read_resource("test://item")).unwrap().text_content(), "the item");
            let greeting = GetPromptParams::new("greeting").with_argument("name", "Ada");
            let greeting = wait!(client.get_prompt(greeting)).unwrap();
            assert_eq!(greeting.messages[0].content.as_text(), Some("Hello, Ada!"));
            assert_eq!(wait!(client.close()), CloseReason::Requested);
        }
    }
});

case!(progress_is_told_in_order_and_before_the_result_in_every_mode, {
    for mode in MODES {
        let server = HttpServer::start(mode);
        for negotiation in ERAS {
            let client =
                wait!(Client::builder("watcher", "1.0").negotiation(negotiation).connect(server.target())).unwrap();
            let told = Arc::new(Mutex::new(Vec::new()));
            let telling = told.clone();
            let watching = client.on_progress(move |step| telling.lock().unwrap().push(step.progress));
            assert_eq!(wait!(watching.call_tool("progress", json!({}))).unwrap().text_content(), "done");
            assert_eq!(*told.lock().unwrap(), [1.0, 2.0, 3.0], "{mode:?} {negotiation:?}");
            wait!(client.close());
        }
    }
});

case!(what_the_server_asks_is_answered_on_other_requests, {
    let server = HttpServer::start(&[]);
    for negotiation in ERAS {
        let builder = Client::builder("helper", "1.0")
            .negotiation(negotiation)
            .on_elicit(|_| {
                answer!({
                    let mut content = ElicitContent::new();
                    content.insert("name", "Ada").map_err(|error| RpcError::internal(error.to_string()))?;
                    Ok(ElicitResult::accept(content))
                })
            })
            .on_sample(|_| answer!({ Ok(CreateMessageResult::new("a-model", "windlass")) }));
        let client = wait!(builder.connect(server.target())).unwrap();
        for (tool, expected) in [
            ("ask_user", "Ada"),
            ("ask_model", "windlass by a-model"),
            ("ask_twice", "Ada: windlass by a-model"),
        ] {
            let result = wait!(client.call_tool(tool, json!({}))).unwrap();
            assert_eq!(result.text_content(), expected, "{tool} by {negotiation:?}");
        }
        wait!(client.close());
    }
});

case!(changes_are_told_on_a_stream_of_their_own, {
    for negotiation in ERAS {
        let server = HttpServer::start(&[]);
        let client =
            wait!(Client::builder("listener", "1.0").negotiation(negotiation).connect(server.target())).unwrap();
        let filter = SubscriptionFilter::new()
            .with_tools_list_changed(true)
            .with_resource_subscriptions(["test://item".to_owned()]);
        let mut changes = wait!(client.listen(filter)).unwrap();
        wait!(client.call_tool("add_tool", json!({}))).unwrap();
        assert_eq!(wait!(changes.next()), Some(ServerNotification::ToolsListChanged), "{negotiation:?}");
        wait!(client.call_tool("touch", json!({}))).unwrap();
        match wait!(changes.next()) {
            Some(ServerNotification::ResourceUpdated(updated)) => assert_eq!(updated.uri, "test://item"),
            other => panic!("{negotiation:?}: {other:?}"),
        }
        drop(changes);
        wait!(client.close());
    }
});

case!(a_call_that_times_out_is_cancelled_on_the_server, {
    for negotiation in ERAS {
        let server = HttpServer::start(&[]);
        let client =
            wait!(Client::builder("quitter", "1.0").negotiation(negotiation).connect(server.target())).unwrap();
        let impatient = client.with_idle_timeout(Duration::from_millis(50));
        let outcome = wait!(impatient.call_tool("never", json!({})));
        assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
        let seen = "started 1, cancelled 1";
        while !wait!(client.call_tool("counts", json!({}))).unwrap().text_content().starts_with(seen) {}
        wait!(client.close());
    }
});

case!(a_server_of_the_legacy_era_is_found_out, {
    let server = HttpServer::start(&["--legacy"]);
    let client = wait!(Client::connect(server.target())).unwrap();
    assert_eq!(client.peer().version, ProtocolVersion::V2025_11_25);
    wait!(client.close());
    for version in ProtocolVersion::LEGACY {
        let builder = Client::builder("pinned", "1.0").negotiation(Negotiation::Pinned(version));
        let client = wait!(builder.connect(server.target())).unwrap();
        assert_eq!(client.peer().version, version);
        assert_eq!(wait!(client.call_tool("echo", json!({"text": "ahoy"}))).unwrap().text_content(), "ahoy");
        wait!(client.close());
    }
});
