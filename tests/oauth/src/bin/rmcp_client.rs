//! The official Rust SDK's client against our protected server: `rmcp_client URL`.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationRequest, OAuthState};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use windlass_oauth_tests::browser::Browser;
use windlass_oauth_tests::{Outcome, expect, expect_equal};
use windlass_tokio::auth::LoopbackRedirect;

/// Beyond what anything takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> Outcome {
    let url = std::env::args().nth(1).ok_or("usage: rmcp_client URL")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::time::timeout(PATIENCE, converse(&url)).await? })
}

async fn converse(url: &str) -> Outcome {
    let back = LoopbackRedirect::bind()?;
    let mut state = OAuthState::new(url, None).await?;
    let request = AuthorizationRequest::new(back.redirect_uri())
        .with_client_name("rmcp")
        .with_application_type("native")
        .with_initial_scope_selection();
    state.start_authorization(request).await?;
    let page = state.get_authorization_url().await?;
    // The browser waits on this thread: nobody else here has anything to do.
    Browser::default().visit(&page)?;
    let redirected = back.wait(PATIENCE)?;
    let code = redirected.outcome.map_err(|denied| denied.error)?;
    state.handle_callback_with_issuer(code.expose(), redirected.state.expose(), redirected.iss.as_deref()).await?;

    let manager = state.into_authorization_manager().ok_or("it is not authorized")?;
    let client = AuthClient::new(reqwest::Client::default(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let service = ().serve(StreamableHttpClientTransport::with_client(client, config)).await?;
    let tools = service.list_all_tools().await?;
    expect_equal("tools", &tools.len(), &2)?;
    let said = service.call_tool(CallToolRequestParams::new("read")).await?;
    let who = said.structured_content.ok_or("the tool says nothing")?;
    expect(&format!("who asks: {who}"), who["subject"] == "ada")?;
    service.cancel().await?;
    Ok(())
}
