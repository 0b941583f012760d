//! A client and a server of rmcp, joined by a duplex stream on one thread.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ProtocolVersion,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use windlass::model::Era;

use super::RoundTrips;

/// What the stream between the two holds: as much as a pipe.
const DUPLEX_BYTES: usize = 64 * 1024;

/// A connected client.
pub(crate) type Client = RunningService<RoleClient, ()>;

/// A server with one tool, `echo`. It looks at no router, which is rmcp at its fastest.
pub(crate) struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = match request.arguments.and_then(|mut arguments| arguments.remove("text")) {
            Some(Value::String(text)) => text,
            _ => return Err(ErrorData::invalid_params("there is no text", None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// The parameters of a call of `echo`.
pub(crate) fn echo_params(payload: usize) -> CallToolRequestParams {
    let mut arguments = JsonObject::new();
    arguments.insert("text".into(), Value::String("x".repeat(payload)));
    CallToolRequestParams::new("echo").with_arguments(arguments)
}

/// One call and its answer.
pub(crate) async fn round_trip(client: &Client, params: &CallToolRequestParams) {
    let result = client.call_tool(params.clone()).await.expect("the call is answered");
    assert_eq!(result.content.len(), 1, "a text came back");
}

/// How a client begins.
pub(crate) fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    }
}

/// Joins a client and a server. What is returned keeps the server.
pub(crate) async fn pair(era: Era) -> (Client, tokio::task::JoinHandle<()>) {
    let (near, far) = tokio::io::duplex(DUPLEX_BYTES);
    let server = tokio::spawn(async move {
        let server = Echo.serve(far).await.expect("the client connects");
        server.waiting().await.expect("the server ends");
    });
    let client = ().serve_with_lifecycle(near, lifecycle(era)).await.expect("the server accepts");
    (client, server)
}

/// A runtime on the thread that waits for it.
pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("the runtime starts")
}

/// A runtime on as many threads as there are cores.
pub(crate) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().enable_all().build().expect("the runtime starts")
}

/// A pair that echoes one text.
pub(super) struct Echoing {
    // Before the runtime, which has to be there when it is dropped.
    client: Client,
    params: CallToolRequestParams,
    runtime: Runtime,
}

impl Echoing {
    pub(super) fn connected(era: Era, payload: usize) -> Self {
        let runtime = current_thread();
        let (client, _) = runtime.block_on(pair(era));
        Self { client, params: echo_params(payload), runtime }
    }
}

impl RoundTrips for Echoing {
    fn run(&mut self, count: usize) {
        self.runtime.block_on(async {
            for _ in 0..count {
                round_trip(&self.client, &self.params).await;
            }
        });
    }
}
