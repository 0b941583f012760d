//! Our clients and servers. One text serves all runtimes with futures, another those without.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use windlass::client::Negotiation;
use windlass::model::{CallToolResult, Era, Tool};
use windlass_host::sync::Drive;
use windlass_host::{Endpoint, asynchronous, sync};

use super::measured::{Latencies, Measured, Phase};
use super::start::Started;
use super::{IN_FLIGHT, Plan};

/// How many calls come before those that count.
const WARM_UP: usize = 100;

/// What `echo` takes.
#[derive(Serialize, Deserialize)]
struct Text {
    text: String,
}

fn text(plan: &Plan) -> Text {
    Text { text: "x".repeat(plan.payload) }
}

fn negotiation(era: Era) -> Negotiation {
    if era == Era::Legacy { Negotiation::Legacy } else { Negotiation::Automatic }
}

fn endpoint(started: Started) -> (std::process::Child, Endpoint) {
    let Started { child, input, output } = started;
    (child, Endpoint::new(OwnedFd::from(output), OwnedFd::from(input)).expect("pipes need not block"))
}

fn check(result: &CallToolResult) {
    assert_eq!(result.content.len(), 1, "a text came back");
}

pub(super) async fn call_async<R: asynchronous::Runtime>(started: Started, plan: &Plan) -> Measured {
    let (mut child, endpoint) = endpoint(started);
    let client = asynchronous::Client::<R>::builder("bench", "1").negotiation(negotiation(plan.era));
    let client = client.connect(endpoint).await.expect("the server accepts");
    let text = text(plan);
    let round_trip = async || check(&client.call_tool("echo", &text).await.expect("the call is answered"));
    for _ in 0..WARM_UP {
        round_trip().await;
    }
    let phase = Phase::begin(child.id(), plan.phase);
    let mut latencies = Latencies::default();
    while phase.goes_on() {
        let began = Instant::now();
        round_trip().await;
        latencies.add(began.elapsed());
    }
    let (_, sequential) = phase.end(latencies.count());

    let phase = Phase::begin(child.id(), plan.phase);
    let lane = async || {
        let mut calls = 0;
        while phase.goes_on() {
            round_trip().await;
            calls += 1;
        }
        calls
    };
    let calls: Vec<u64> = join_all((0..IN_FLIGHT).map(|_| lane())).await;
    let in_flight = phase.end(calls.iter().sum());
    client.close().await;
    child.wait().expect("the server ends");
    Measured::new(latencies, sequential, in_flight)
}

pub(super) async fn answer_async<R: asynchronous::Runtime>() {
    let echo = async |_, Text { text }: Text| Ok(CallToolResult::text(text));
    let server = asynchronous::Server::<R>::builder("bench", "1").tool(Tool::without_arguments("echo"), echo);
    server.serve_stdio().await.expect("the client closes");
}

pub(super) fn call<D: Drive>(started: Started, plan: &Plan) -> Measured {
    let (mut child, endpoint) = endpoint(started);
    let client = sync::Client::<D>::builder("bench", "1").negotiation(negotiation(plan.era));
    let client = client.connect(endpoint).expect("the server accepts");
    let text = text(plan);
    let round_trip = || check(&client.call_tool("echo", &text).expect("the call is answered"));
    (0..WARM_UP).for_each(|_| round_trip());
    let phase = Phase::begin(child.id(), plan.phase);
    let mut latencies = Latencies::default();
    while phase.goes_on() {
        let began = Instant::now();
        round_trip();
        latencies.add(began.elapsed());
    }
    let (_, sequential) = phase.end(latencies.count());

    let phase = Phase::begin(child.id(), plan.phase);
    let calls = AtomicU64::new(0);
    let lane = || {
        while phase.goes_on() {
            round_trip();
            calls.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| (0..IN_FLIGHT).for_each(|_| drop(scope.spawn(lane))));
    let in_flight = phase.end(calls.load(Ordering::Relaxed));
    client.close();
    child.wait().expect("the server ends");
    Measured::new(latencies, sequential, in_flight)
}

pub(super) fn answer<D: Drive>() {
    let echo = |_, Text { text }: Text| Ok(CallToolResult::text(text));
    let server = sync::Server::<D>::builder("bench", "1").tool(Tool::without_arguments("echo"), echo);
    server.serve_stdio().expect("the client closes");
}
