//! The ordinary conversation, with servers on every runtime and in both eras.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::adapter::client::{Negotiation, ServerNotification};
use super::adapter::model::*;
use super::adapter::{CallError, Client, Error, SendError};
use super::eras::{ERAS, in_era};
use super::{OWN_SERVER, served};
use crate::peers::{PARTIES, scripted, server};

case!(every_feature_works_with_every_server_in_both_eras, {
    for party in PARTIES {
        for negotiation in ERAS {
            let builder = in_era(negotiation);
            let client = wait!(builder.connect(server(party))).unwrap();
            let peer = client.peer();
            assert_eq!(peer.version.era() == Era::Modern, negotiation == Negotiation::Automatic, "{party}");
            assert_eq!(peer.info.as_ref().unwrap().name, "served");
            assert_eq!(peer.instructions.as_deref(), Some("For tests only."));

            wait!(use_every_feature(&client));
            wait!(client.close());
        }
    }
});

// Whatever a server offers that is asked for and answered.
step!(use_every_feature(client: &Client), {
    let tools = wait!(client.list_tools()).unwrap();
    assert!(tools.len() > 10, "several pages: {}", tools.len());
    assert_eq!(wait!(client.list_resources()).unwrap()[0].uri, served::ITEM);
    assert_eq!(wait!(client.list_resource_templates()).unwrap().len(), 1);
    assert_eq!(wait!(client.list_prompts()).unwrap()[0].name, "greeting");

    let sum = wait!(client.call_tool("add", json!({"a": 40, "b": 2}))).unwrap();
    assert_eq!(sum.text_content(), "42");
    let item = wait!(client.read_resource(served::ITEM)).unwrap();
    assert_eq!(item.contents, ReadResourceResult::text(served::ITEM, "the item").contents);
    let number = wait!(client.read_resource("test://number/7")).unwrap();
    assert_eq!(number.contents[0].uri(), Some("test://number/7"));
    let ada = GetPromptParams::new("greeting").with_argument("name", "Ada");
    let prompt = wait!(client.get_prompt(ada)).unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("Hello, Ada!"));
    let known = CompleteParams::new(CompletionReference::prompt("greeting"), "name", "A");
    assert_eq!(wait!(client.complete(known)).unwrap().completion.values, ["Ada", "Alan"]);
    let known = CompleteParams::new(CompletionReference::resource("test://number/{number}"), "number", "");
    assert_eq!(wait!(client.complete(known)).unwrap().completion.values, ["1", "2"]);
    wait!(client.ping()).unwrap();
});

case!(a_modern_server_can_be_asked_again_what_it_is_and_a_legacy_one_cannot, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        match (wait!(client.discover()), negotiation) {
            (Ok(discovered), Negotiation::Automatic) => assert_eq!(discovered.capabilities, client.peer().capabilities),
            (Err(Error::NotSent(SendError::NotInRevision { .. })), Negotiation::Legacy) => {}
            (other, _) => panic!("{other:?}"),
        }
        wait!(client.close());
    }
});

case!(a_legacy_server_is_found_out, {
    let client = wait!(Client::connect(scripted("legacy"))).unwrap();
    assert_eq!(client.peer().version, ProtocolVersion::V2025_06_18);
    assert_eq!(wait!(client.list_tools()).unwrap()[0].name, "echo");
    let echoed = wait!(client.call_tool("echo", json!({"text": "ahoy"}))).unwrap();
    assert_eq!(echoed.text_content(), "ahoy");
    // What the server does not offer is refused on this side.
    let refused = wait!(client.list_prompts()).unwrap_err();
    assert!(matches!(refused, Error::NotSent(SendError::NotSupported { .. })), "{refused:?}");
    wait!(client.close());
});

case!(log_messages_come_from_the_level_that_was_set, {
    for negotiation in ERAS {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = heard.clone();
        let builder = in_era(negotiation);
        let builder = builder.on_notification(move |told| match told {
            ServerNotification::Message(message) => hearing.lock().unwrap().push(message),
            other => panic!("{other:?}"),
        });
        let client = wait!(builder.connect(server(OWN_SERVER))).unwrap();
        wait!(client.set_log_level(LoggingLevel::Warning)).unwrap();
        wait!(client.call_tool("log", json!({}))).unwrap();
        // What was said before the result is told before the result.
        let levels: Vec<_> = heard.lock().unwrap().drain(..).map(|message| (message.level, message.data)).collect();
        assert_eq!(levels.len(), 1, "{levels:?}");
        assert_eq!(levels[0].0, LoggingLevel::Warning);
        assert_eq!(levels[0].1.as_str(), "\"a warning\"");
        wait!(client.set_log_level(LoggingLevel::Debug)).unwrap();
        wait!(client.call_tool("log", json!({}))).unwrap();
        assert_eq!(heard.lock().unwrap().len(), 2);
        wait!(client.close());
    }
});

case!(progress_is_told_in_order_and_before_the_result, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        let watching = client.on_progress(move |progress| {
            telling.lock().unwrap().push((progress.progress, progress.total, progress.message));
        });
        wait!(watching.call_tool("add", json!({"a": 1, "b": 1}))).unwrap();
        let expected = [1.0, 2.0, 3.0].map(|step| (step, Some(3.0), Some("adding".to_owned())));
        assert_eq!(*told.lock().unwrap(), expected);
        wait!(client.call_tool("add", json!({"a": 1, "b": 1}))).unwrap();
        assert_eq!(told.lock().unwrap().len(), 3, "only this handle asked for progress");
        wait!(client.close());
    }
});

case!(a_call_without_a_type_gives_its_result_as_it_is, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let params = json!({"name": "add", "arguments": {"a": 2, "b": 3}});
    let result = wait!(client.call_raw("tools/call", &params)).unwrap();
    let result: serde_json::Value = result.decode().unwrap();
    assert_eq!(result["content"][0]["text"], "5");
    let unknown = wait!(client.call_raw("no/such/method", &json!({}))).unwrap_err();
    assert_eq!(unknown.remote().unwrap().code, -32601);
    let no_object = wait!(client.call_raw("tools/call", &7)).unwrap_err();
    assert!(matches!(no_object, Error::NotSent(SendError::Unencodable(_))), "{no_object:?}");
    wait!(client.close());
});

case!(a_call_that_is_not_answered_times_out_and_the_connection_lives, {
    for to in [scripted("never_answers_calls"), server(OWN_SERVER)] {
        let client = wait!(Client::connect(to)).unwrap();
        let impatient = client.with_idle_timeout(Duration::from_millis(30));
        for _ in 0..3 {
            let outcome = wait!(impatient.call_tool("never", json!({})));
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
        }
        wait!(client.ping()).unwrap();
        assert!(client.closed().is_none());
        wait!(client.close());
    }
});
