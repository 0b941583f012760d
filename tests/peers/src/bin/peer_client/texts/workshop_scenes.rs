//! The parts of the conversation with the servers beside this package. Nothing in them asks for the era.

use std::time::Duration;

use serde_json::{Value, json};

use super::adapter::client::ServerNotification;
use super::adapter::model::*;
use super::adapter::{CallError, Error};
use super::helpful::{NAME, ROOTS};

/// The resource that changes when `touch` is called.
const ITEM: &str = "test://item";
/// The template of the others.
const NUMBER: &str = "test://number/{number}";

scene!(tools, |client, _heard| {
    let tools = wait!(client.list_tools()).unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "add", "add_tool", "ask_model", "ask_roots", "ask_user", "count", "counts", "echo", "fail", "log", "never",
        "touch",
    ];
    assert_eq!(names, expected);
    let add = tools.iter().find(|tool| tool.name == "add").unwrap();
    assert!(add.output_schema.is_some());

    let text = "grüß dich\n\u{2028}\0🦀";
    let echo = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
    assert_eq!(echo.text_content(), text);
    let sum = wait!(client.call_tool("add", json!({ "a": 2, "b": 40 }))).unwrap();
    assert_eq!(sum.structured_content.unwrap().decode::<Value>().unwrap(), json!({ "sum": 42 }));

    let failed = wait!(client.call_tool("fail", json!({}))).unwrap();
    assert!(failed.is_failure() && failed.text_content().contains("this tool always fails"), "{failed:?}");
    let wrong = wait!(client.call_tool("add", json!({ "a": "two" })));
    assert!(is_refused(&wrong), "{wrong:?}");
    let unknown = wait!(client.call_tool("no-such-tool", json!({})));
    assert!(is_refused(&unknown), "{unknown:?}");
});

scene!(progress, |client, heard| {
    let hearing = heard.clone();
    let watched = client.on_progress(move |progress| hearing.progress(progress));
    let counted = wait!(watched.call_tool("count", json!({ "steps": 3 }))).unwrap();
    assert_eq!(counted.text_content(), "counted 3");
    let steps = heard.take_progress();
    let steps: Vec<_> = steps.iter().map(|step| (step.progress, step.total, step.message.as_deref())).collect();
    let expected = [(1.0, Some("step 1")), (2.0, Some("step 2")), (3.0, Some("step 3"))];
    assert_eq!(steps, expected.map(|(progress, message)| (progress, Some(3.0), message)));
});

scene!(resources, |client, _heard| {
    let resources = wait!(client.list_resources()).unwrap();
    assert_eq!(resources.iter().map(|resource| resource.uri.as_str()).collect::<Vec<_>>(), [ITEM]);
    let templates = wait!(client.list_resource_templates()).unwrap();
    assert_eq!(templates.iter().map(|template| template.uri_template.as_str()).collect::<Vec<_>>(), [NUMBER]);
    for (uri, expected) in [(ITEM, "the item"), ("test://number/7", "7")] {
        let read = wait!(client.read_resource(uri)).unwrap();
        let [ResourceContents::Text(contents)] = read.contents.as_slice() else { panic!("{read:?}") };
        assert_eq!((contents.uri.as_str(), contents.text.as_str()), (uri, expected));
    }
    let missing = wait!(client.read_resource("test://nowhere")).unwrap_err();
    assert!(missing.remote().is_some(), "{missing:?}");
});

scene!(prompts_and_completion, |client, _heard| {
    let prompts = wait!(client.list_prompts()).unwrap();
    let [prompt] = prompts.as_slice() else { panic!("{prompts:?}") };
    assert_eq!(prompt.name, "greeting");
    let greeting = wait!(client.get_prompt(GetPromptParams::new("greeting").with_argument("name", NAME))).unwrap();
    assert_eq!(greeting.messages[0].content.as_text(), Some("Hello, Ada!"));
    let missing = wait!(client.get_prompt(GetPromptParams::new("greeting"))).unwrap_err();
    assert!(missing.remote().is_some(), "{missing:?}");

    for (reference, argument, typed, expected) in [
        (CompletionReference::prompt("greeting"), "name", "A", &["Ada", "Alan"][..]),
        (CompletionReference::resource(NUMBER), "number", "", &["1", "2"]),
    ] {
        let completed = wait!(client.complete(CompleteParams::new(reference, argument, typed))).unwrap();
        assert_eq!(completed.completion.values, expected);
    }
});

scene!(asking, |client, heard| {
    for (tool, expected) in
        [("ask_user", NAME.to_owned()), ("ask_model", "windlass by a-model".to_owned()), ("ask_roots", ROOTS.join(" "))]
    {
        let answered = wait!(client.call_tool(tool, json!({}))).unwrap();
        assert_eq!(answered.text_content(), expected, "{tool}");
    }
    heard.decline(true);
    let declined = wait!(client.call_tool("ask_user", json!({}))).unwrap();
    assert_eq!(declined.text_content(), "decline");
    heard.decline(false);
    assert_eq!(heard.take_questions().len(), 2);
});

scene!(changes, |client, _heard| {
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    filter.resource_subscriptions = Some(vec![ITEM.to_owned()]);
    let mut subscription = wait!(client.listen(filter.clone())).unwrap();
    assert_eq!(subscription.honoured(), &filter);

    wait!(client.call_tool("touch", json!({}))).unwrap();
    let told = wait!(subscription.next());
    assert!(matches!(&told, Some(ServerNotification::ResourceUpdated(params)) if params.uri == ITEM), "{told:?}");

    wait!(client.call_tool("add_tool", json!({}))).unwrap();
    assert_eq!(wait!(subscription.next()), Some(ServerNotification::ToolsListChanged));
    assert!(wait!(client.list_tools()).unwrap().iter().any(|tool| tool.name == "added"));
    assert_eq!(wait!(client.call_tool("added", json!({}))).unwrap().text_content(), "new");
});

scene!(logging, |client, heard| {
    for (level, expected) in [
        (LoggingLevel::Debug, &[(LoggingLevel::Debug, "\"a detail\""), (LoggingLevel::Warning, "\"a warning\"")][..]),
        (LoggingLevel::Warning, &[(LoggingLevel::Warning, "\"a warning\"")]),
    ] {
        wait!(client.set_log_level(level)).unwrap();
        heard.take_log();
        wait!(client.call_tool("log", json!({}))).unwrap();
        let expected: Vec<_> = expected.iter().map(|(level, text)| (*level, text.to_string())).collect();
        let mut log = heard.take_log();
        // Over HTTP some servers send them on a stream of their own, beside the result.
        while log.len() < expected.len() {
            wait!(client.ping()).unwrap();
            log.extend(heard.take_log());
        }
        assert_eq!(log, expected, "at {level:?}");
    }
});

scene!(cancelling, |client, _heard| {
    let hasty = client.with_idle_timeout(Duration::from_millis(50));
    let outcome = wait!(hasty.call_tool("never", json!({})));
    assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
    while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
});

/// SDKs differ in whether a call that cannot be made is an error or a result that is marked as one.
fn is_refused(outcome: &Result<CallToolResult, Error>) -> bool {
    match outcome {
        Ok(result) => result.is_failure(),
        Err(error) => error.remote().is_some(),
    }
}
