//! rmcp's client and server.

use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::ClientServiceExt;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::start::Started;
use super::{Answers, Plan};
use crate::calls::measured::Measured;
use crate::calls::{IN_FLIGHT, phases};
use crate::in_process::rmcp::{Echo, echo_params, lifecycle, round_trip};

/// What a client speaks through.
type Transport = StreamableHttpClientTransport<reqwest::Client>;

/// Connections are kept, and as many requests go at once as there are calls.
pub(super) fn tuned(url: &str) -> impl FnOnce() -> Transport {
    let config = StreamableHttpClientTransportConfig::with_uri(url).max_concurrent_requests(IN_FLIGHT);
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).pool_max_idle_per_host(IN_FLIGHT);
    move || Transport::with_client(client.build().expect("there is a client"), config)
}

/// A connection for each call.
pub(super) fn default(url: &str) -> impl FnOnce() -> Transport {
    move || Transport::from_uri(url)
}

/// The transport is made within the runtime, where it starts its task.
pub(super) async fn call(transport: impl FnOnce() -> Transport, server: &Started, plan: &Plan) -> Measured {
    let client = ().serve_with_lifecycle(transport(), lifecycle(plan.era)).await.expect("the server accepts");
    let params = echo_params(plan.payload);
    let call = async || round_trip(&client, &params).await;
    let measured = phases::of_futures(server.process(), plan.phase, call).await;
    client.cancel().await.expect("the client ends");
    measured
}

/// The service itself, without a router around it.
pub(super) async fn answer(plan: &Plan) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    println!("http://{}/mcp", listener.local_addr().expect("it is bound"));
    let json = plan.answers == Answers::Json;
    // With sessions, as there are in the legacy era unless they are turned off, it does not answer with JSON.
    let config = StreamableHttpServerConfig::default().with_json_response(json).with_legacy_session_mode(!json);
    let service = StreamableHttpService::new(|| Ok(Echo), Arc::new(LocalSessionManager::default()), config);
    loop {
        let (stream, _) = listener.accept().await.expect("clients connect");
        stream.set_nodelay(true).expect("it is a socket");
        let serving =
            http1::Builder::new().serve_connection(TokioIo::new(stream), TowerToHyperService::new(service.clone()));
        // A client that ends breaks its connections.
        tokio::spawn(async move { drop(serving.await) });
    }
}
