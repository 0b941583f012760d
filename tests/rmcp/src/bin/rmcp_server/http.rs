//! The server over HTTP, on a free port.

use std::error::Error;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::Everything;

/// Serves everybody the same server, for in the modern era every request gets one.
pub(super) async fn serve(everything: Arc<Everything>, stateless: bool, json: bool) -> Result<(), Box<dyn Error>> {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(!stateless).with_json_response(json);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(everything.clone()), sessions, config);
    let service = TowerToHyperService::new(service);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        // A client that hangs up in the middle of something is no failure of the server.
        tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}
