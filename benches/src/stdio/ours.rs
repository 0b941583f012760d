//! Our clients and servers. One text serves all runtimes with futures, another those without.

use std::os::fd::OwnedFd;

use windlass::model::{CallToolResult, Tool};
use windlass_host::sync::Drive;
use windlass_host::{Endpoint, asynchronous, sync};

use super::Plan;
use super::start::Started;
use crate::calls::echo::{Text, check, negotiation};
use crate::calls::measured::Measured;
use crate::calls::phases;

fn endpoint(started: Started) -> (std::process::Child, Endpoint) {
    let Started { child, input, output } = started;
    (child, Endpoint::new(OwnedFd::from(output), OwnedFd::from(input)).expect("pipes need not block"))
}

pub(super) async fn call_async<R: asynchronous::Runtime>(started: Started, plan: &Plan) -> Measured {
    let (mut child, endpoint) = endpoint(started);
    let client = asynchronous::Client::<R>::builder("bench", "1").negotiation(negotiation(plan.era));
    let client = client.connect(endpoint).await.expect("the server accepts");
    let text = Text::of(plan.payload);
    let round_trip = async || check(&client.call_tool("echo", &text).await.expect("the call is answered"));
    let measured = phases::of_futures(child.id(), plan.phase, round_trip).await;
    client.close().await;
    child.wait().expect("the server ends");
    measured
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
    let text = Text::of(plan.payload);
    let round_trip = || check(&client.call_tool("echo", &text).expect("the call is answered"));
    let measured = phases::of_threads(child.id(), plan.phase, round_trip);
    client.close();
    child.wait().expect("the server ends");
    measured
}

pub(super) fn answer<D: Drive>() {
    let echo = |_, Text { text }: Text| Ok(CallToolResult::text(text));
    let server = sync::Server::<D>::builder("bench", "1").tool(Tool::without_arguments("echo"), echo);
    server.serve_stdio().expect("the client closes");
}
