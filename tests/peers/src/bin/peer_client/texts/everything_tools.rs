//! The reference server's tools that answer by themselves.

use std::time::Duration;

use serde_json::{Value, json};

use super::adapter::model::*;
use super::adapter::{CallError, Error};

scene!(all_are_listed, |client, _heard| {
    let tools = wait!(client.list_tools()).unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    // The two tools that ask a client to run a task are for clients that declare tasks only.
    let expected = [
        "echo",
        "get-annotated-message",
        "get-env",
        "get-resource-links",
        "get-resource-reference",
        "get-roots-list",
        "get-structured-content",
        "get-sum",
        "get-tiny-image",
        "gzip-file-as-resource",
        "simulate-research-query",
        "toggle-simulated-logging",
        "toggle-subscriber-updates",
        "trigger-elicitation-request",
        "trigger-long-running-operation",
        "trigger-sampling-request",
        "trigger-url-elicitation",
    ];
    assert_eq!(names, expected);
    let echo = tools.iter().find(|tool| tool.name == "echo").unwrap();
    assert_eq!(echo.annotations.as_ref().and_then(|hints| hints.read_only_hint), Some(true));
});

scene!(plain_results, |client, _heard| {
    let echo = wait!(client.call_tool("echo", json!({ "message": "grüß dich\n\u{2028}" }))).unwrap();
    assert_eq!(echo.text_content(), "Echo: grüß dich\n\u{2028}");
    let sum = wait!(client.call_tool("get-sum", json!({ "a": 2, "b": 40.5 }))).unwrap();
    assert_eq!(sum.text_content(), "The sum of 2 and 40.5 is 42.5.");
    let weather = wait!(client.call_tool("get-structured-content", json!({ "location": "Chicago" }))).unwrap();
    let structured: Value = weather.structured_content.unwrap().decode().unwrap();
    assert_eq!(structured, json!({ "temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82 }));
});

scene!(every_kind_of_content, |client, _heard| {
    let image = wait!(client.call_tool("get-tiny-image", json!({}))).unwrap();
    assert!(
        matches!(&image.content[1], ContentBlock::Image(image) if image.mime_type == "image/png" && !image.data.is_empty())
    );

    let arguments = json!({ "messageType": "error", "includeImage": true });
    let annotated = wait!(client.call_tool("get-annotated-message", arguments)).unwrap();
    let [ContentBlock::Text(text), ContentBlock::Image(_)] = annotated.content.as_slice() else {
        panic!("{annotated:?}")
    };
    let hints = text.annotations.as_ref().unwrap();
    assert_eq!(hints.priority, Some(1.0));
    assert_eq!(hints.audience, Some(vec![Role::User, Role::Assistant]));

    let links = wait!(client.call_tool("get-resource-links", json!({ "count": 4 }))).unwrap();
    let links: Vec<_> = links
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ResourceLink(link) => Some(link.uri.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(links.len(), 4);
    for link in links {
        assert_eq!(wait!(client.read_resource(link)).unwrap().contents[0].uri(), Some(link));
    }

    let arguments = json!({ "resourceType": "Blob", "resourceId": 7 });
    let reference = wait!(client.call_tool("get-resource-reference", arguments)).unwrap();
    let ContentBlock::Resource(embedded) = &reference.content[1] else { panic!("{reference:?}") };
    assert_eq!(embedded.resource.uri(), Some("demo://resource/dynamic/blob/7"));
    assert!(matches!(embedded.resource, ResourceContents::Blob(_)));
});

scene!(the_environment_is_an_allow_list, |client, _heard| {
    let environment = wait!(client.call_tool("get-env", json!({}))).unwrap();
    let environment: Value = serde_json::from_str(&environment.text_content()).unwrap();
    assert_eq!(environment["PEER_GREETING"], "hello");
    assert_eq!(environment.get("PEER_SECRET"), None, "a server gets what it is given, not what we have");
});

scene!(wrong_calls_are_told, |client, _heard| {
    // This SDK answers both by a result that is marked, where the specification wants an error for the second.
    for (tool, arguments) in [("get-sum", json!({ "a": "two" })), ("no-such-tool", json!({}))] {
        let result = wait!(client.call_tool(tool, arguments)).unwrap();
        assert!(result.is_failure(), "{tool}: {result:?}");
    }
    // A tool that runs as a task only.
    let refused = wait!(client.call_tool("simulate-research-query", json!({ "topic": "winches" })));
    assert!(refused.is_err() || refused.as_ref().is_ok_and(CallToolResult::is_failure), "{refused:?}");
});

scene!(progress_and_cancelling, |client, heard| {
    let hearing = heard.clone();
    let watched = client.on_progress(move |progress| hearing.progress(progress));
    let arguments = json!({ "duration": 0.03, "steps": 3 });
    let done = wait!(watched.call_tool("trigger-long-running-operation", arguments)).unwrap();
    assert_eq!(done.text_content(), "Long running operation completed. Duration: 0.03 seconds, Steps: 3.");
    let steps: Vec<_> = heard.take_progress().iter().map(|progress| (progress.progress, progress.total)).collect();
    assert_eq!(steps, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);

    // The server does not look at the cancellation and goes on to report progress; nobody minds.
    let hasty = watched.with_idle_timeout(Duration::from_millis(50));
    let outcome = wait!(hasty.call_tool("trigger-long-running-operation", json!({ "duration": 0.3, "steps": 2 })));
    assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
    wait!(client.ping()).unwrap();
});
