//! Our server ends when its client is done, whatever is still open.

use std::path::Path;
use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use rmcp::model::*;
use rmcp::transport::TokioChildProcess;

use crate::guest::{Program, call, connect, eras};

/// rmcp waits that long for a server's exit before it kills it.
const PATIENCE: Duration = Duration::from_secs(3);

on_every_runtime_by_stdio! {
    the_end_of_its_input_is_all_that_a_server_needs
    a_handler_that_runs_does_not_keep_the_server
}

async fn the_end_of_its_input_is_all_that_a_server_needs(server: Program) {
    let process = TokioChildProcess::new(server.command()).unwrap();
    let pid = process.id().unwrap();
    let client = ().serve(process).await.unwrap();
    client.call_tool(CallToolRequestParams::new("caller")).await.unwrap();
    let started = Instant::now();
    client.cancel().await.unwrap();
    assert!(!Path::new("/proc").join(pid.to_string()).exists());
    assert!(started.elapsed() < PATIENCE, "it was killed");
}

async fn a_handler_that_runs_does_not_keep_the_server(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        let never = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("never")));
        let open = client.send_request_with_option(never, Default::default()).await.unwrap();
        while call(&client, "counts").await != "started 1, cancelled 0" {}
        let started = Instant::now();
        client.cancel().await.unwrap();
        assert!(started.elapsed() < PATIENCE, "it was killed");
        open.rx.await.unwrap_err();
    }
}
