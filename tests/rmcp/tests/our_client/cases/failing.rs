//! Errors, and what they are about.

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::*;
use super::adapter::{Client, Error, SendError};
use crate::peer::{ERAS, rmcp_server};

case!(what_is_not_there_is_an_error_of_the_server, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("seeker", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let error = wait!(client.call_tool("juggle", json!({}))).unwrap_err();
        assert_eq!(error.remote().unwrap().code, -32602, "{error}");
        let error = wait!(client.get_prompt(GetPromptParams::new("poem"))).unwrap_err();
        assert_eq!(error.remote().unwrap().code, -32602, "{error}");
        let error = wait!(client.read_resource("test://nowhere")).unwrap_err();
        let code = if negotiation == Negotiation::Legacy { -32002 } else { -32602 };
        assert_eq!(error.remote().unwrap().code, code, "{error}");
        let error = wait!(client.list_tools_page(Some("beyond".to_owned()))).unwrap_err();
        assert_eq!(error.remote().unwrap().code, -32602, "{error}");
        let error = wait!(client.call_raw("no/such/method", &json!({}))).unwrap_err();
        assert_eq!(error.remote().unwrap().code, -32601, "{error}");
        assert_eq!(wait!(client.call_tool("echo", json!({"text": "still"}))).unwrap().text_content(), "still");
        wait!(client.close());
    }
});

case!(what_the_era_does_not_have_is_refused_on_this_side, {
    let client = wait!(Client::connect(rmcp_server())).unwrap();
    let error = wait!(client.subscribe_resource("test://item")).unwrap_err();
    assert!(matches!(error, Error::NotSent(SendError::NotInRevision { .. })), "{error:?}");
    wait!(client.close());
});
