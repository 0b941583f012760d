//! Handlers that fail: the caller is told, the server lives.

use serde_json::json;

use super::OWN_SERVER;
use super::eras::{ERAS, in_era};
use crate::peers::server;

case!(a_handler_that_panics_is_answered_for, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        for tool in ["panic", "panic_at_once", "panic", "panic_at_once"] {
            let error = wait!(client.call_tool(tool, json!({}))).unwrap_err();
            let error = error.remote().unwrap_or_else(|| panic!("{tool}: {error}"));
            assert_eq!(error.code, -32603, "{tool}");
        }
        let sum = wait!(client.call_tool("add", json!({"a": 1, "b": 2}))).unwrap();
        assert_eq!(sum.text_content(), "3");
        wait!(client.close());
    }
});

case!(an_error_of_any_kind_becomes_a_result_that_a_model_can_read, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let failed = wait!(client.call_tool("fail", json!({}))).unwrap();
        assert!(failed.is_failure());
        assert!(failed.text_content().contains("invalid digit"), "{failed:?}");
        wait!(client.close());
    }
});

case!(arguments_that_do_not_fit_are_explained, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        for arguments in [json!({"a": "one", "b": 2}), json!({"a": 1}), json!({})] {
            let failed = wait!(client.call_tool("add", arguments)).unwrap();
            assert!(failed.is_failure());
            assert!(failed.text_content().contains("\"add\""), "{failed:?}");
        }
        let unknown = wait!(client.call_tool("no_such_tool", json!({}))).unwrap_err();
        assert_eq!(unknown.remote().unwrap().code, -32602, "{unknown}");
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});
