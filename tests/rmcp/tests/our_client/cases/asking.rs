//! What the server wants of its client: requests of its own in the legacy era, results that are not complete in the
//! modern one. The same handlers answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::*;
use super::adapter::{CallError, Client, ClientBuilder, Error, RpcError};
use crate::peer::{ERAS, rmcp_server};

fn helpful(negotiation: Negotiation) -> ClientBuilder {
    Client::builder("helper", "1.0")
        .negotiation(negotiation)
        .on_elicit_with_urls(|params| {
            answer!({
                match params {
                    ElicitParams::Form(form) => {
                        assert_eq!(form.requested_schema.properties[0].0, "name");
                        let mut content = ElicitContent::new();
                        content.insert("name", "Ada").map_err(|error| RpcError::internal(error.to_string()))?;
                        Ok(ElicitResult::accept(content))
                    }
                    ElicitParams::Url(page) => {
                        assert_eq!(page.url, "https://example.com/sign-in");
                        Ok(ElicitResult::new(ElicitAction::Accept))
                    }
                    other => Err(RpcError::invalid_params(format!("{other:?}"))),
                }
            })
        })
        .on_sample(|params| {
            answer!({
                assert_eq!(params.max_tokens, 10);
                Ok(CreateMessageResult::new("a-model", "windlass"))
            })
        })
        .on_roots(|| answer!({ Ok(ListRootsResult::new([Root::new("file:///one"), Root::new("file:///two")])) }))
}

case!(every_question_of_a_tool_is_answered, {
    for negotiation in ERAS {
        let client = wait!(helpful(negotiation).connect(rmcp_server())).unwrap();
        for (tool, expected) in [
            ("ask_user", "Ada"),
            ("ask_visit", "accept"),
            ("ask_model", "windlass by a-model"),
            ("ask_roots", "file:///one file:///two"),
            ("ask_twice", "Ada: windlass by a-model"),
        ] {
            let result = wait!(client.call_tool(tool, json!({}))).unwrap();
            assert_eq!(result.text_content(), expected, "{tool} by {negotiation:?}");
        }
        let caller = wait!(client.call_tool("caller", json!({}))).unwrap().text_content();
        assert!(caller.ends_with("elicitation true, sampling true, roots true"), "{caller}");
        wait!(client.close());
    }
});

case!(resources_and_prompts_may_ask_too, {
    for negotiation in ERAS {
        let client = wait!(helpful(negotiation).connect(rmcp_server())).unwrap();
        assert_eq!(wait!(client.read_resource("test://secret")).unwrap().text_content(), "the secret of Ada");
        let prompt = wait!(client.get_prompt(GetPromptParams::new("question"))).unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("I am Ada."));
        wait!(client.close());
    }
});

case!(a_user_may_decline, {
    for negotiation in ERAS {
        let asked = Arc::new(AtomicUsize::new(0));
        let asking = asked.clone();
        let builder = Client::builder("decliner", "1.0").negotiation(negotiation);
        let builder = builder.on_elicit(move |_| {
            asking.fetch_add(1, Ordering::SeqCst);
            answer!({ Ok(ElicitResult::decline()) })
        });
        let client = wait!(builder.connect(rmcp_server())).unwrap();
        assert_eq!(wait!(client.call_tool("ask_user", json!({}))).unwrap().text_content(), "decline");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        wait!(client.close());
    }
});

case!(a_handler_that_fails_fails_the_call_and_nothing_else, {
    for negotiation in ERAS {
        let builder = Client::builder("failure", "1.0").negotiation(negotiation);
        let builder = builder.on_elicit(|_| answer!({ Err(RpcError::internal("nobody is at home")) }));
        let client = wait!(builder.connect(rmcp_server())).unwrap();
        let error = wait!(client.call_tool("ask_user", json!({}))).unwrap_err();
        assert!(error.to_string().contains("nobody is at home"), "{negotiation:?}: {error}");
        assert_eq!(wait!(client.call_tool("echo", json!({"text": "still"}))).unwrap().text_content(), "still");
        wait!(client.close());
    }
});

case!(a_question_that_was_not_offered_an_answer_ends_the_call, {
    // rmcp asks without looking at the client's capabilities. The specification forbids that.
    for negotiation in ERAS {
        let client = wait!(Client::builder("deaf", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        for tool in ["ask_user", "ask_model", "ask_roots"] {
            let error = wait!(client.call_tool(tool, json!({}))).unwrap_err();
            let fault_is_told = match negotiation {
                Negotiation::Legacy => error.remote().is_some(),
                _ => matches!(error, Error::Call(CallError::InvalidResponse(_))),
            };
            assert!(fault_is_told, "{tool} by {negotiation:?}: {error:?}");
        }
        assert_eq!(wait!(client.call_tool("echo", json!({"text": "still"}))).unwrap().text_content(), "still");
        wait!(client.close());
    }
});
