//! What the reference server asks of its client.

use serde_json::json;

use super::adapter::model::*;
use super::helpful::{NAME, ROOTS};

/// The error by which a server asks for a page to be visited before the call is repeated.
const URL_ELICITATION_REQUIRED: i64 = -32042;

scene!(forms, |client, heard| {
    let accepted = wait!(client.call_tool("trigger-elicitation-request", json!({}))).unwrap();
    assert!(accepted.text_content().contains(&format!("- Name: {NAME}")), "{accepted:?}");
    let questions = heard.take_questions();
    let [ElicitParams::Form(form)] = questions.as_slice() else { panic!("{questions:?}") };
    // Every kind of field that the specification knows, the deprecated one too.
    assert!(form.requested_schema.properties.len() >= 12, "{form:?}");

    heard.decline(true);
    let declined = wait!(client.call_tool("trigger-elicitation-request", json!({}))).unwrap();
    assert!(declined.text_content().contains("declined"), "{declined:?}");
    heard.decline(false);
    heard.take_questions();
});

scene!(pages, |client, heard| {
    let arguments = json!({ "url": "http://127.0.0.1/visit", "elicitationId": "one" });
    let visited = wait!(client.call_tool("trigger-url-elicitation", arguments)).unwrap();
    assert!(visited.text_content().contains("Elicitation ID: one"), "{visited:?}");
    let questions = heard.take_questions();
    let [ElicitParams::Url(page)] = questions.as_slice() else { panic!("{questions:?}") };
    assert_eq!((page.url.as_str(), page.elicitation_id.as_deref()), ("http://127.0.0.1/visit", Some("one")));

    // The other way is an error that says what to visit first. The second call is taken for the retry.
    let arguments = json!({ "url": "http://127.0.0.1/other", "errorPath": true });
    let error = wait!(client.call_tool("trigger-url-elicitation", &arguments)).unwrap_err();
    assert_eq!(error.remote().map(|error| error.code), Some(URL_ELICITATION_REQUIRED), "{error:?}");
    let retried = wait!(client.call_tool("trigger-url-elicitation", &arguments)).unwrap();
    assert!(retried.text_content().contains("User completed"), "{retried:?}");
    heard.take_questions();
});

scene!(the_model, |client, _heard| {
    let arguments = json!({ "prompt": "Think of a word.", "maxTokens": 10 });
    let sampled = wait!(client.call_tool("trigger-sampling-request", arguments)).unwrap();
    let text = sampled.text_content();
    assert!(text.contains("windlass") && text.contains("a-model"), "{text}");
});

scene!(roots, |client, heard| {
    let listed = wait!(client.call_tool("get-roots-list", json!({}))).unwrap();
    for root in ROOTS {
        assert!(listed.text_content().contains(root), "{listed:?}");
    }
    // The server asks again when it is told of a change, and says so.
    heard.take_log();
    wait!(client.notify_roots_changed()).unwrap();
    while !heard.take_log().iter().any(|(_, message)| message.contains("Roots updated: 2")) {
        wait!(client.ping()).unwrap();
    }
});
