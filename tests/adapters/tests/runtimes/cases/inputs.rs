//! What a server wants of its client: the same handlers in both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::client::Negotiation;
use super::adapter::model::*;
use super::adapter::{ClientBuilder, Error, RpcError, SendError};
use super::eras::{ERAS, in_era};
use crate::peers::{PARTIES, server};

/// A client that answers whatever it is asked.
pub(super) fn helpful(negotiation: Negotiation) -> ClientBuilder {
    in_era(negotiation)
        .on_elicit(|params| {
            answer!({
                assert!(matches!(params, ElicitParams::Form(_)));
                let mut content = ElicitContent::new();
                content.insert("name", "Ada").map_err(|error| RpcError::internal(error.to_string()))?;
                Ok(ElicitResult::accept(content))
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

case!(every_kind_of_input_is_given_to_every_server_in_both_eras, {
    for party in PARTIES {
        for negotiation in ERAS {
            let client = wait!(helpful(negotiation).connect(server(party))).unwrap();
            for (tool, expected) in
                [("ask_user", "Ada"), ("ask_model", "windlass by a-model"), ("ask_roots", "file:///one file:///two")]
            {
                let result = wait!(client.call_tool(tool, json!({}))).unwrap();
                assert_eq!(result.text_content(), expected, "{tool} of {party} by {negotiation:?}");
            }
            wait!(client.close());
        }
    }
});

case!(many_calls_ask_at_once, {
    for negotiation in ERAS {
        let client = wait!(helpful(negotiation).connect(server(OWN_SERVER))).unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let client = client.clone();
                start!({ wait!(client.call_tool("ask_user", json!({}))).unwrap().text_content() })
            })
            .collect();
        for task in tasks {
            assert_eq!(join!(task), "Ada");
        }
        wait!(client.close());
    }
});

case!(a_user_may_decline, {
    for negotiation in ERAS {
        let builder = in_era(negotiation);
        let builder = builder.on_elicit(|_| answer!({ Ok(ElicitResult::decline()) }));
        let client = wait!(builder.connect(server(OWN_SERVER))).unwrap();
        assert_eq!(wait!(client.call_tool("ask_user", json!({}))).unwrap().text_content(), "decline");
        wait!(client.close());
    }
});

case!(an_input_handler_that_fails_fails_the_call_and_nothing_else, {
    for negotiation in ERAS {
        let builder = in_era(negotiation);
        let builder = builder.on_elicit(|_| answer!({ Err(RpcError::internal("nobody is at home")) }));
        let client = wait!(builder.connect(server(OWN_SERVER))).unwrap();
        let failure = failure_of(wait!(client.call_tool("ask_user", json!({}))));
        assert!(failure.contains("nobody is at home"), "{negotiation:?}: {failure}");
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});

case!(an_input_handler_that_panics_is_answered_for, {
    for negotiation in ERAS {
        let asked = Arc::new(AtomicUsize::new(0));
        let (in_time, at_once) = (asked.clone(), asked.clone());
        let builder = in_era(negotiation);
        let builder = builder.on_elicit(move |_| {
            let asked = in_time.clone();
            answer!({
                asked.fetch_add(1, Ordering::SeqCst);
                panicking("a handler's mistake")
            })
        });
        let builder = builder.on_sample(move |_| {
            at_once.fetch_add(1, Ordering::SeqCst);
            answer_at_once!({ panicking("a handler's early mistake") })
        });
        let client = wait!(builder.connect(server(OWN_SERVER))).unwrap();
        for tool in ["ask_user", "ask_model"] {
            let failure = failure_of(wait!(client.call_tool(tool, json!({}))));
            assert!(failure.contains("panicked"), "{tool} by {negotiation:?}: {failure}");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});

case!(a_client_without_handlers_is_not_asked, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        for tool in ["ask_user", "ask_model", "ask_roots"] {
            let failure = failure_of(wait!(client.call_tool(tool, json!({}))));
            assert!(failure.contains("capability"), "{tool} by {negotiation:?}: {failure}");
        }
        wait!(client.close());
    }
});

case!(roots_that_change_are_announced_where_the_era_has_it, {
    let client = wait!(helpful(Negotiation::Legacy).connect(server(OWN_SERVER))).unwrap();
    wait!(client.notify_roots_changed()).unwrap();
    wait!(client.ping()).unwrap();
    wait!(client.close());
    let client = wait!(helpful(Negotiation::Automatic).connect(server(OWN_SERVER))).unwrap();
    let refused = wait!(client.notify_roots_changed()).unwrap_err();
    assert!(matches!(refused, Error::NotSent(SendError::NotInRevision { .. })), "{refused:?}");
    wait!(client.close());
});

/// What the caller is told: by an error, or by a result that is marked as one.
fn failure_of(outcome: Result<CallToolResult, Error>) -> String {
    match outcome {
        Ok(result) if result.is_failure() => result.text_content(),
        Ok(result) => panic!("a success: {result:?}"),
        Err(error) => error.to_string(),
    }
}

fn panicking<V>(why: &str) -> Result<V, RpcError> {
    panic!("{why}, which is part of the test");
}
