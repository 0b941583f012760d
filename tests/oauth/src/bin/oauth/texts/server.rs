//! Our server, which only those may call who have a token for it.

use std::io::Write;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use windlass_oauth_tests::Outcome;
use windlass_oauth_tests::provider::{Provider, RESOURCE_SERVER};

use super::adapter::model::{CallToolResult, Tool};
use super::adapter::{
    HttpListener, HttpServerConfig, IntrospectionVerifier, JwtVerifier, ProtectedResource, Server,
};

#[derive(Deserialize)]
struct Nothing {}

/// A server for tokens of a kind, `es256/60` or `opaque/3`, and where it is. Expiry is noticed to the second.
pub(super) fn start(provider: &Provider, tokens: &str) -> Outcome<(Server, String)> {
    let listener = HttpListener::bind("127.0.0.1:0")?;
    let mut http = HttpServerConfig::on_loopback();
    http.path = format!("/{tokens}");
    let url = listener.url(&http.path);
    let issuer = &provider.issuer;
    let mut resource = ProtectedResource::new(&url, issuer)?
        .required_scopes(["tools:read"])
        .scope_for_tool("write", ["tools:write"])
        .scopes_supported(["tools:read", "tools:write"])
        .cache_for(Duration::ZERO);
    resource.leeway = Duration::ZERO;
    let builder = Server::builder("windlass-oauth", "1.0.0")
        .http(http)
        .tool(tool("read")?, |context, _: Nothing| {
            let who = context.principal().map(|principal| {
                json!({ "subject": principal.subject, "client": principal.client_id, "scopes": principal.scopes })
            });
            answer!({ Ok(CallToolResult::structured(&who)?) })
        })
        .tool(tool("write")?, |_, _: Nothing| answer!({ Ok("written".to_owned()) }));
    let builder = if tokens.starts_with("opaque/") {
        let url = format!("{issuer}/token/introspection");
        let verifier = IntrospectionVerifier::new(&url, RESOURCE_SERVER, &provider.server_secret)?;
        builder.protect(resource, verifier.issuer(issuer))
    } else {
        let verifier = JwtVerifier::fetching(issuer, &format!("{issuer}/jwks"))?;
        builder.protect(resource, verifier.leeway(Duration::ZERO).audience(&url))
    };
    Ok((builder.start_http(listener)?, url))
}

fn tool(name: &str) -> Outcome<Tool> {
    Ok(serde_json::from_value(json!({ "name": name, "inputSchema": { "type": "object" } }))?)
}

scene!(serve, |task| {
    let tokens = task.rest.first().ok_or("which tokens?")?;
    let (server, url) = start(&task.provider, tokens)?;
    println!("{url}");
    std::io::stdout().flush()?;
    Ok(wait!(server.wait_closed())?)
});
