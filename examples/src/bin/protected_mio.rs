//! A server that only those may call who have a token for it, on mio.
//!
//! To run it: `cargo run -p windlass-examples --bin protected_mio -- 127.0.0.1:8080 https://auth.example.com`, with the
//! authorization server whose tokens are good. It prints its URL. Here a token is `NAME.SCOPE.SCOPE`, so that the example
//! can be tried with curl; a real server takes a `JwtVerifier`, or an `IntrospectionVerifier`.

use serde_json::Value;
use windlass_mio::model::Tool;
use windlass_mio::server::HandlerError;
use windlass_mio::{Context, HttpListener, Principal, ProtectedResource, Server, TokenRejected, run};

fn whoami(context: Context, _: Value) -> Result<String, HandlerError> {
    Ok(context.principal().map_or_else(|| "nobody".into(), |principal| principal.subject.clone()))
}

fn shut_down(_: Context, _: Value) -> Result<String, HandlerError> {
    Ok("not today".into())
}

fn example() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(issuer)) = (arguments.next(), arguments.next()) else {
        return Err("usage: protected_mio ADDRESS ISSUER".into());
    };
    let listener = HttpListener::bind(&*address)?;
    let url = listener.url("/mcp");
    println!("{url}");
    let resource = ProtectedResource::new(&url, issuer)?.scope_for_tool("shut_down", ["admin"]);
    let verify = move |token: &str| {
        let (name, scopes) = token.split_once('.').ok_or_else(|| TokenRejected::invalid("it is none of ours"))?;
        Ok(Principal::new(name).audience(&url).scopes(scopes.split('.')))
    };
    Server::builder("club", "1.0.0")
        .tool(Tool::without_arguments("whoami"), whoami)
        .tool(Tool::without_arguments("shut_down"), shut_down)
        .protect(resource, verify)
        .serve_http(listener)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
