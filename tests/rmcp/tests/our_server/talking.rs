//! The ordinary conversation, in both eras.

use rmcp::model::*;
use serde_json::{Value, json};

use crate::guest::{Heard, Program, call, connect, eras, legacy, modern, text};

on_every_runtime! {
    all_pages_of_every_listing_are_given
    every_kind_of_result_is_understood
    resources_prompts_and_completions
    progress_is_heard
    a_legacy_client_sets_the_log_level
    a_modern_client_says_the_log_level_with_every_request
    a_ping_is_answered
    many_calls_are_answered_at_once
}

async fn all_pages_of_every_listing_are_given(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        let first = client.list_tools(None).await.unwrap();
        assert!(first.next_cursor.is_some());
        assert_eq!(first.tools.len(), 4);
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools.len(), 18);
        let add = tools.iter().find(|tool| tool.name == "add").unwrap();
        assert_eq!(add.output_schema.as_ref().unwrap()["required"], json!(["sum"]));

        let resources = client.list_all_resources().await.unwrap();
        assert_eq!(resources.len(), 3);
        let item = resources.iter().find(|resource| resource.uri == "test://item").unwrap();
        assert_eq!(item.mime_type.as_deref(), Some("text/plain"));
        let templates = client.list_all_resource_templates().await.unwrap();
        assert_eq!(templates[0].uri_template, "test://number/{number}");
        let prompts = client.list_all_prompts().await.unwrap();
        assert_eq!(prompts[0].arguments.as_ref().unwrap()[0].required, Some(true));
        client.cancel().await.unwrap();
    }
}

async fn every_kind_of_result_is_understood(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        for length in [0, 1, 1_000, 100_000] {
            let long = "é\n\"".repeat(length);
            let Value::Object(arguments) = json!({"text": long}) else { unreachable!("it is an object") };
            let echo = CallToolRequestParams::new("echo").with_arguments(arguments);
            assert!(text(&client.call_tool(echo).await.unwrap()) == long, "{length}");
        }
        let Value::Object(arguments) = json!({"a": 40, "b": 2}) else { unreachable!("it is an object") };
        let sum = client.call_tool(CallToolRequestParams::new("add").with_arguments(arguments)).await.unwrap();
        assert_eq!(sum.structured_content, Some(json!({"sum": 42})));
        let failed = client.call_tool(CallToolRequestParams::new("fail")).await.unwrap();
        assert_eq!((failed.is_error, text(&failed)), (Some(true), "it did not work"));
        let blocks = client.call_tool(CallToolRequestParams::new("image")).await.unwrap().content;
        assert_eq!(blocks[0].as_image().unwrap().mime_type, "image/png");
        assert_eq!(blocks[1].as_audio().unwrap().mime_type, "audio/wav");
        assert_eq!(blocks[2].as_resource().unwrap().get_text(), "the item");
        assert_eq!(blocks[3].as_resource_link().unwrap().uri, "test://item");
        client.cancel().await.unwrap();
    }
}

async fn resources_prompts_and_completions(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        for (uri, expected) in [
            ("test://item", ResourceContents::text("the item", "test://item")),
            ("test://number/7", ResourceContents::text("7", "test://number/7")),
            ("test://pixel", ResourceContents::blob("iVBORw0KGgo=", "test://pixel")),
        ] {
            let result = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
            // rmcp makes up a type for text, and none comes with these.
            assert_eq!(without_type(&result.contents[0]), without_type(&expected));
        }
        let Value::Object(arguments) = json!({"name": "Ada"}) else { unreachable!("it is an object") };
        let greeting = GetPromptRequestParams::new("greeting").with_arguments(arguments);
        let greeting = client.get_prompt(greeting).await.unwrap();
        assert_eq!(greeting.messages[0].content.as_text().unwrap().text, "Hello, Ada!");
        assert_eq!(client.complete_prompt_simple("greeting", "name", "A").await.unwrap(), ["Ada", "Alan"]);
        let numbers = client.complete_resource_simple("test://number/{number}", "number", "1").await.unwrap();
        assert_eq!(numbers, ["1", "12"]);
        client.cancel().await.unwrap();
    }
}

fn without_type(contents: &ResourceContents) -> Value {
    let mut contents = serde_json::to_value(contents).unwrap();
    contents.as_object_mut().unwrap().remove("mimeType");
    contents
}

async fn progress_is_heard(server: Program) {
    for era in eras() {
        let (client, mut heard) = connect(server, era).await;
        assert_eq!(call(&client, "progress").await, "done");
        // rmcp handles every notification in a task of its own, so the order of handlers is not the order of the wire.
        let mut steps = Vec::new();
        for _ in 0..3 {
            match heard.recv().await.unwrap() {
                Heard::Progress(step, Some(3.0), Some(message)) => steps.push((step, message)),
                other => panic!("{other:?}"),
            }
        }
        steps.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert_eq!(steps, [1.0, 2.0, 3.0].map(|step| (step, format!("step {step}"))));
        client.cancel().await.unwrap();
    }
}

async fn a_legacy_client_sets_the_log_level(server: Program) {
    let (client, mut heard) = connect(server, legacy()).await;
    client.set_level(SetLevelRequestParams::new(LoggingLevel::Warning)).await.unwrap();
    call(&client, "log").await;
    assert_eq!(heard.recv().await, Some(Heard::Log(LoggingLevel::Warning, json!("a warning"))));
    client.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await.unwrap();
    call(&client, "log").await;
    let mut both = [heard.recv().await.unwrap(), heard.recv().await.unwrap()];
    both.sort_by_key(|heard| format!("{heard:?}"));
    assert_eq!(both[0], Heard::Log(LoggingLevel::Debug, json!("a detail")));
    assert_eq!(both[1], Heard::Log(LoggingLevel::Warning, json!("a warning")));
    client.cancel().await.unwrap();
}

async fn a_modern_client_says_the_log_level_with_every_request(server: Program) {
    let (client, mut heard) = connect(server, modern()).await;
    call(&client, "log").await;
    let mut meta = RequestMetaObject::new();
    meta.set_log_level(LoggingLevel::Warning);
    let mut params = CallToolRequestParams::new("log");
    params.meta = Some(meta);
    client.call_tool(params).await.unwrap();
    // The first call asked for nothing, so this is the second one's.
    assert_eq!(heard.recv().await, Some(Heard::Log(LoggingLevel::Warning, json!("a warning"))));
    client.cancel().await.unwrap();
    assert_eq!(heard.recv().await, None);
}

async fn a_ping_is_answered(server: Program) {
    let ping =
        || ClientRequest::PingRequest(PingRequest { method: Default::default(), extensions: Default::default() });
    let (client, _) = connect(server, legacy()).await;
    client.send_request(ping()).await.unwrap();
    client.cancel().await.unwrap();
    // The modern era has none.
    let (client, _) = connect(server, modern()).await;
    client.send_request(ping()).await.unwrap_err();
    assert_eq!(call(&client, "caller").await, "guest by 2026-07-28");
    client.cancel().await.unwrap();
}

async fn many_calls_are_answered_at_once(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..200 {
            let peer = client.peer().clone();
            calls.spawn(async move {
                let Value::Object(arguments) = json!({"text": number.to_string()}) else { unreachable!("an object") };
                let echo = CallToolRequestParams::new("echo").with_arguments(arguments);
                match peer.call_tool_once(echo).await.unwrap() {
                    CallToolResponse::Complete(result) => assert_eq!(text(&result), number.to_string()),
                    other => panic!("{other:?}"),
                }
            });
        }
        calls.join_all().await;
        client.cancel().await.unwrap();
    }
}
