//! Our clients and servers. One text serves all runtimes with futures, another those without.

use windlass::link::http::HttpServerConfig;
use windlass::model::{CallToolResult, Tool};
use windlass_host::sync::Drive;
use windlass_host::{DialOptions, HttpListener, HttpTarget, asynchronous, sync};

use super::start::Started;
use super::{Answers, Plan};
use crate::calls::echo::{Text, check, negotiation};
use crate::calls::measured::Measured;
use crate::calls::phases;

/// The server, and no proxy on the way there.
fn target(server: &Started) -> HttpTarget {
    HttpTarget::new(&server.url).expect("the server has a URL").dial(DialOptions::new())
}

fn listener() -> HttpListener {
    let listener = HttpListener::bind("127.0.0.1:0").expect("a port is free");
    println!("{}", listener.url("/mcp"));
    listener
}

fn config(plan: &Plan) -> HttpServerConfig {
    let mut config = HttpServerConfig::on_loopback();
    config.json_answers = plan.answers == Answers::Json;
    config
}

pub(super) async fn call_async<R: asynchronous::Runtime>(server: &Started, plan: &Plan) -> Measured {
    let client = asynchronous::Client::<R>::builder("bench", "1").negotiation(negotiation(plan.era));
    let client = client.connect(target(server)).await.expect("the server accepts");
    let text = Text::of(plan.payload);
    let round_trip = async || check(&client.call_tool("echo", &text).await.expect("the call is answered"));
    let measured = phases::of_futures(server.process(), plan.phase, round_trip).await;
    client.close().await;
    measured
}

pub(super) async fn answer_async<R: asynchronous::Runtime>(plan: &Plan) {
    let echo = async |_, Text { text }: Text| Ok(CallToolResult::text(text));
    let server = asynchronous::Server::<R>::builder("bench", "1").tool(Tool::without_arguments("echo"), echo);
    server.http(config(plan)).serve_http(listener()).await.expect("the server is ended");
}

pub(super) fn call<D: Drive>(server: &Started, plan: &Plan) -> Measured {
    let client = sync::Client::<D>::builder("bench", "1").negotiation(negotiation(plan.era));
    let client = client.connect(target(server)).expect("the server accepts");
    let text = Text::of(plan.payload);
    let round_trip = || check(&client.call_tool("echo", &text).expect("the call is answered"));
    let measured = phases::of_threads(server.process(), plan.phase, round_trip);
    client.close();
    measured
}

pub(super) fn answer<D: Drive>(plan: &Plan) {
    let echo = |_, Text { text }: Text| Ok(CallToolResult::text(text));
    let server = sync::Server::<D>::builder("bench", "1").tool(Tool::without_arguments("echo"), echo);
    server.http(config(plan)).serve_http(listener()).expect("the server is ended");
}
