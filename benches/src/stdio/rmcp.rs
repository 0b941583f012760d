//! rmcp's client and server.

use rmcp::transport::IntoTransport;
use rmcp::{ClientServiceExt, RoleServer, ServiceExt};
use tokio::process::{ChildStdin, ChildStdout};
use windlass::model::Era;

use super::Plan;
use super::start::Started;
use crate::calls::measured::Measured;
use crate::calls::phases;
use crate::in_process::rmcp::{Echo, echo_params, lifecycle, round_trip};

pub(super) async fn call(started: Started, plan: &Plan) -> Measured {
    let Started { mut child, input, output } = started;
    // What its own transport for child processes is made of.
    let output = ChildStdout::from_std(output).expect("the runtime takes a pipe");
    let input = ChildStdin::from_std(input).expect("the runtime takes a pipe");
    let client = ().serve_with_lifecycle((output, input), lifecycle(Era::Legacy)).await.expect("the server accepts");
    let params = echo_params(plan.payload);
    let measured = phases::of_futures(child.id(), plan.phase, async || round_trip(&client, &params).await).await;
    client.cancel().await.expect("the client ends");
    child.wait().expect("the server ends");
    measured
}

/// The standard streams are taken within the runtime, which has to know them.
pub(super) async fn answer<T, E, A>(streams: impl FnOnce() -> T)
where
    T: IntoTransport<RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let server = Echo.serve(streams()).await.unwrap_or_else(|error| panic!("the client connects: {error}"));
    server.waiting().await.expect("the server ends");
}
