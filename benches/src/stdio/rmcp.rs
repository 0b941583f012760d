//! rmcp's client and server.

use std::time::Instant;

use futures_util::future::join_all;
use rmcp::transport::IntoTransport;
use rmcp::{ClientServiceExt, RoleServer, ServiceExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::{Builder, Runtime};
use windlass::model::Era;

use super::measured::{Latencies, Measured, Phase};
use super::start::Started;
use super::{IN_FLIGHT, Plan};
use crate::in_process::rmcp::{Echo, echo_params, lifecycle, round_trip};

pub(super) use crate::in_process::rmcp::current_thread;

/// How many calls come before those that count.
const WARM_UP: usize = 100;

pub(super) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().enable_all().build().expect("the runtime starts")
}

pub(super) async fn call(started: Started, plan: &Plan) -> Measured {
    let Started { mut child, input, output } = started;
    // What its own transport for child processes is made of.
    let output = ChildStdout::from_std(output).expect("the runtime takes a pipe");
    let input = ChildStdin::from_std(input).expect("the runtime takes a pipe");
    let client = ().serve_with_lifecycle((output, input), lifecycle(Era::Legacy)).await.expect("the server accepts");
    let params = echo_params(plan.payload);
    for _ in 0..WARM_UP {
        round_trip(&client, &params).await;
    }
    let phase = Phase::begin(child.id(), plan.phase);
    let mut latencies = Latencies::default();
    while phase.goes_on() {
        let began = Instant::now();
        round_trip(&client, &params).await;
        latencies.add(began.elapsed());
    }
    let (_, sequential) = phase.end(latencies.count());

    let phase = Phase::begin(child.id(), plan.phase);
    let lane = async || {
        let mut calls = 0;
        while phase.goes_on() {
            round_trip(&client, &params).await;
            calls += 1;
        }
        calls
    };
    let calls: Vec<u64> = join_all((0..IN_FLIGHT).map(|_| lane())).await;
    let in_flight = phase.end(calls.iter().sum());
    client.cancel().await.expect("the client ends");
    child.wait().expect("the server ends");
    Measured::new(latencies, sequential, in_flight)
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
