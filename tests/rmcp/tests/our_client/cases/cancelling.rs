//! A call that is given up is given up on the server too.

use std::time::Duration;

use serde_json::json;

use super::adapter::{CallError, Client, Error};
use crate::peer::{ERAS, rmcp_server};

case!(a_call_that_times_out_is_cancelled_on_the_server, {
    for negotiation in ERAS {
        let client = wait!(Client::builder("quitter", "1.0").negotiation(negotiation).connect(rmcp_server())).unwrap();
        let impatient = client.with_idle_timeout(Duration::from_millis(50));
        let outcome = wait!(impatient.call_tool("never", json!({})));
        assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
        // The handler needs a moment to see it.
        let seen = "started 1, cancelled 1";
        while !wait!(client.call_tool("counts", json!({}))).unwrap().text_content().starts_with(seen) {}
        wait!(client.close());
    }
});
