//! A call that rmcp gives up is given up by our handler too.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{PeerRequestOptions, ServiceError};

use crate::guest::{Program, call, connect, eras};

on_every_runtime! {
    a_call_that_is_dropped_cancels_its_handler
    a_call_that_times_out_cancels_its_handler
}

async fn a_call_that_is_dropped_cancels_its_handler(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        tokio::select! {
            never = client.call_tool(CallToolRequestParams::new("never")) => panic!("{never:?}"),
            () = async { while call(&client, "counts").await != "started 1, cancelled 0" {} } => {}
        }
        // The handler needs a moment to see it.
        while call(&client, "counts").await != "started 1, cancelled 1" {}
        client.cancel().await.unwrap();
    }
}

async fn a_call_that_times_out_cancels_its_handler(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("never")));
        let options = PeerRequestOptions::with_timeout(Duration::from_millis(50));
        let outcome = client.send_request_with_option(request, options).await.unwrap().await_response().await;
        assert!(matches!(outcome, Err(ServiceError::Timeout { .. })), "{outcome:?}");
        while call(&client, "counts").await != "started 1, cancelled 1" {}
        client.cancel().await.unwrap();
    }
}
