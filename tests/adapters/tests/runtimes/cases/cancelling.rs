//! A call that is given up is given up on the other side too.

use std::time::Duration;

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::{CallError, Client, Error};
use super::eras::{ERAS, in_era};
use crate::peers::{PARTIES, server};

case!(a_call_that_times_out_cancels_its_handler_on_every_server, {
    for party in PARTIES {
        for negotiation in ERAS {
            let client = wait!(in_era(negotiation).connect(server(party))).unwrap();
            let outcome = wait!(client.with_idle_timeout(Duration::from_millis(50)).call_tool("never", json!({})));
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            // The message overtakes nothing, but the handler needs a moment to see it.
            while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
            wait!(client.close());
        }
    }
});

case!(closing_completes_what_is_open, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let waiting = client.clone();
    let open = start!({ wait!(waiting.call_tool("never", json!({}))) });
    while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 0" {}
    wait!(client.close());
    let outcome = join!(open);
    assert!(matches!(outcome, Err(Error::Call(CallError::Closed(_)))), "{outcome:?}");
});
