//! The ordinary conversation, in both eras.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::adapter::Client;
use super::adapter::client::{Negotiation, ServerNotification};
use super::adapter::model::*;
use crate::peer::{ERAS, rmcp_server};

case!(all_pages_of_every_listing_are_followed, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("lister", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let tools = wait!(client.list_tools()).unwrap();
        assert_eq!(tools.len(), 18);
        assert_eq!(tools[0].name, "echo");
        assert_eq!(tools[0].annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert!(tools[1].output_schema.as_ref().unwrap().as_str().contains("sum"));
        let first = wait!(client.list_tools_page(None)).unwrap();
        assert_eq!((first.tools.len(), first.next_cursor.as_deref()), (3, Some("3")));

        let resources = wait!(client.list_resources()).unwrap();
        assert_eq!(resources.len(), 7);
        assert_eq!((resources[0].uri.as_str(), resources[0].size), ("test://item", Some(8)));
        let templates = wait!(client.list_resource_templates()).unwrap();
        assert_eq!(templates[0].uri_template, "test://number/{number}");
        let prompts = wait!(client.list_prompts()).unwrap();
        assert_eq!(prompts[0].arguments.as_ref().unwrap()[0].required, Some(true));
        assert_eq!(prompts[1].title.as_deref(), Some("Asks the user first"));
        wait!(client.close());
    }
});

case!(every_kind_of_result_is_understood, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("caller", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        // Text, of every length that could meet the end of a buffer.
        for length in [0, 1, 1_000, 300_000] {
            let text = "é\n\"".repeat(length);
            let echoed = wait!(client.call_tool("echo", json!({"text": text}))).unwrap();
            assert!(echoed.text_content() == text, "{length}");
        }
        let sum = wait!(client.call_tool("add", json!({"a": 40, "b": 2}))).unwrap();
        assert_eq!(sum.structured_content.unwrap().decode::<serde_json::Value>().unwrap(), json!({"sum": 42}));
        let failed = wait!(client.call_tool("fail", json!({}))).unwrap();
        assert!(failed.is_failure());
        assert_eq!(failed.text_content(), "it did not work");
        let blocks = wait!(client.call_tool("image", json!({}))).unwrap().content;
        match &blocks[..] {
            [
                ContentBlock::Image(image),
                ContentBlock::Audio(audio),
                ContentBlock::Resource(embedded),
                ContentBlock::ResourceLink(link),
            ] => {
                assert_eq!((image.data.as_str(), image.mime_type.as_str()), ("iVBORw0KGgo=", "image/png"));
                assert_eq!(audio.mime_type, "audio/wav");
                assert_eq!(embedded.resource.uri(), Some("test://item"));
                assert_eq!(link.uri, "test://item");
            }
            other => panic!("{other:?}"),
        }
        wait!(client.close());
    }
});

case!(resources_prompts_and_completions, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("reader", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        assert_eq!(wait!(client.read_resource("test://item")).unwrap().text_content(), "the item");
        assert_eq!(wait!(client.read_resource("test://number/7")).unwrap().text_content(), "7");
        match &wait!(client.read_resource("test://pixel")).unwrap().contents[..] {
            [ResourceContents::Blob(pixel)] => assert_eq!(pixel.mime_type.as_deref(), Some("image/png")),
            other => panic!("{other:?}"),
        }
        let greeting = GetPromptParams::new("greeting").with_argument("name", "Ada");
        let greeting = wait!(client.get_prompt(greeting)).unwrap();
        assert_eq!(greeting.description.as_deref(), Some("A prompt"));
        assert_eq!(greeting.messages[0].content.as_text(), Some("Hello, Ada!"));

        let name = CompleteParams::new(CompletionReference::prompt("greeting"), "name", "A");
        let completion = wait!(client.complete(name)).unwrap().completion;
        assert_eq!((completion.values, completion.total), (vec!["Ada".to_owned(), "Alan".to_owned()], Some(2)));
        let number = CompleteParams::new(CompletionReference::resource("test://number/{number}"), "number", "1");
        assert_eq!(wait!(client.complete(number)).unwrap().completion.values, ["1", "12"]);
        wait!(client.close());
    }
});

case!(progress_is_told_in_order_and_before_the_result, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("watcher", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        let watching = client.on_progress(move |step| telling.lock().unwrap().push((step.progress, step.message)));
        assert_eq!(wait!(watching.call_tool("progress", json!({}))).unwrap().text_content(), "done");
        let expected = [1.0, 2.0, 3.0].map(|step| (step, Some(format!("step {step}"))));
        assert_eq!(*told.lock().unwrap(), expected);
        wait!(client.close());
    }
});

case!(log_messages_come_from_the_level_that_was_set, {
    for negotiation in ERAS {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = heard.clone();
        let builder = Client::builder("hearer", "1.0").negotiation(negotiation);
        let builder = builder.on_notification(move |told| match told {
            ServerNotification::Message(message) => hearing.lock().unwrap().push(message),
            other => panic!("{other:?}"),
        });
        let client = wait!(builder.connect(rmcp_server())).unwrap();
        wait!(client.call_tool("log", json!({}))).unwrap();
        assert_eq!(heard.lock().unwrap().len(), 0, "nothing was asked for");
        wait!(client.set_log_level(LoggingLevel::Warning)).unwrap();
        wait!(client.call_tool("log", json!({}))).unwrap();
        let messages = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!((messages[0].level, messages[0].logger.as_deref()), (LoggingLevel::Warning, Some("everything")));
        wait!(client.set_log_level(LoggingLevel::Debug)).unwrap();
        wait!(client.call_tool("log", json!({}))).unwrap();
        assert_eq!(heard.lock().unwrap().len(), 2);
        wait!(client.close());
    }
});

case!(a_ping_is_answered_in_both_eras, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("pinger", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        wait!(client.ping()).unwrap();
        wait!(client.call_tool("caller", json!({}))).unwrap();
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});

case!(a_legacy_server_is_told_of_changed_roots, {
    let builder = Client::builder("mover", "1.0").negotiation(Negotiation::Legacy);
    let builder = builder.on_roots(|| answer!({ Ok(ListRootsResult::new([Root::new("file:///new")])) }));
    let client = wait!(builder.connect(rmcp_server())).unwrap();
    wait!(client.notify_roots_changed()).unwrap();
    // rmcp handles every notification in a task of its own, so it may answer the next call first.
    while !wait!(client.call_tool("counts", json!({}))).unwrap().text_content().ends_with("roots changed 1") {}
    wait!(client.close());
});
