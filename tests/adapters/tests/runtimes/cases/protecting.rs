//! Servers that only those may call who have a token.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::adapter::model::Tool;
use super::adapter::{
    Context, Error, HttpListener, HttpServerConfig, HttpTarget, Endpoint, Principal, ProtectedResource, Server, ServerBuilder, TokenRejected,
};
use super::eras::{ERAS, in_era};
use crate::http_party::{hear_to_end, send};
use crate::peers::AMONG_US;

/// What the server is published as, wherever it is.
const RESOURCE: &str = "https://files.example.com/mcp";

/// Tokens say whose they are and what they allow: `alice.read.write`.
fn verify(token: &str) -> Result<Principal, TokenRejected> {
    let (subject, scopes) = token.split_once('.').ok_or(TokenRejected::invalid("nobody made it"))?;
    match subject {
        // As one that asks somebody else.
        "slow" => std::thread::sleep(Duration::from_millis(100)),
        "panic" => panic!("a verifier fails, as this test wants it to"),
        _ => {}
    }
    Ok(Principal::new(subject).audience(RESOURCE).scopes(scopes.split('.')))
}

fn who(context: &Context) -> String {
    context.principal().map_or("nobody", |principal| &principal.subject).to_owned()
}

fn builder() -> ServerBuilder {
    let resource = ProtectedResource::new(RESOURCE, "https://login.example.com").unwrap();
    let resource = resource.required_scopes(["read"]).scope_for_tool("delete", ["write"]);
    let length = |_: Context, arguments: serde_json::Value| answer!({ Ok(arguments.to_string().len().to_string()) });
    Server::builder("protected", "1")
        .protect(resource, verify)
        .http(HttpServerConfig::on_loopback())
        .tool(Tool::without_arguments("who"), |context: Context, (): ()| answer!({ Ok(who(&context)) }))
        .tool(Tool::without_arguments("delete"), |context: Context, (): ()| answer!({ Ok(who(&context)) }))
        .tool(Tool::without_arguments("length"), length)
}

fn serve() -> (Server, String) {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let url = listener.url("/mcp");
    (builder().start_http(listener).unwrap(), url)
}

fn target(url: &str, token: &str) -> HttpTarget {
    HttpTarget::new(url).unwrap().with_header("Authorization", &format!("Bearer {token}")).unwrap()
}

/// What the server at `url` says to something that is said by hand, on a connection of its own.
fn heard(url: &str, request: String) -> std::thread::JoinHandle<String> {
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap().to_owned();
    std::thread::spawn(move || {
        let stream = TcpStream::connect(address).unwrap();
        send(&stream, &request);
        hear_to_end(&stream)
    })
}

case!(nobody_is_served_without_a_token_but_told_where_to_get_one, {
    let (server, url) = serve();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#;
    let post = |authorization: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{authorization}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let metadata = "https://files.example.com/.well-known/oauth-protected-resource/mcp";
    let get = "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (request, status, said) in [
        (post(""), 401, format!(r#"WWW-Authenticate: Bearer resource_metadata="{metadata}", scope="read""#)),
        (post("Authorization: Bearer wrong\r\n"), 401, r#"error="invalid_token""#.to_owned()),
        (post("Authorization: Bearer\r\n"), 400, r#"error="invalid_request""#.to_owned()),
        (post("Authorization: Bearer panic.read\r\n"), 503, "the verifier failed".to_owned()),
        (post("Authorization: Bearer alice.other\r\n"), 403, r#"error="insufficient_scope""#.to_owned()),
        (get.to_owned(), 200, format!(r#""resource":"{RESOURCE}""#)),
    ] {
        let hearing = heard(&url, request);
        eventually!("the server answers", hearing.is_finished());
        let answer = hearing.join().unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(&said), "{answer}");
    }
    for negotiation in ERAS {
        let refused = wait!(in_era(negotiation).connect(HttpTarget::new(&url).unwrap())).err().unwrap();
        assert!(refused.to_string().contains("401"), "{refused}");
    }
    wait!(server.close()).unwrap();
});

case!(handlers_know_who_asks, {
    let (server, url) = serve();
    for negotiation in ERAS {
        for subject in ["alice", "slow"] {
            let client = wait!(in_era(negotiation).connect(target(&url, &format!("{subject}.read")))).unwrap();
            for _ in 0..3 {
                assert_eq!(wait!(client.call_tool("who", json!({}))).unwrap().text_content(), subject);
            }
            wait!(client.close());
        }
    }
    wait!(server.close()).unwrap();
});

// Whoever started a server by a pipe is the one who asks.
case!(on_a_stream_nobody_shows_a_token, {
    let (ours, theirs) = AMONG_US.pair().unwrap();
    let server = builder().start(Endpoint::try_from(theirs).unwrap()).unwrap();
    let client = wait!(in_era(ERAS[0]).connect(Endpoint::try_from(ours).unwrap())).unwrap();
    assert_eq!(wait!(client.call_tool("delete", json!({}))).unwrap().text_content(), "nobody");
    wait!(client.close());
    wait!(server.wait_closed()).unwrap();
});

case!(a_tool_may_need_more_than_others, {
    let (server, url) = serve();
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(target(&url, "alice.read"))).unwrap();
        let refused: Error = wait!(client.call_tool("delete", json!({}))).unwrap_err();
        assert!(refused.to_string().contains("403"), "{refused}");
        assert_eq!(wait!(client.call_tool("who", json!({}))).unwrap().text_content(), "alice", "nothing else is wrong");
        wait!(client.close());
        let client = wait!(in_era(negotiation).connect(target(&url, "bob.read.write"))).unwrap();
        assert_eq!(wait!(client.call_tool("delete", json!({}))).unwrap().text_content(), "bob");
        wait!(client.close());
    }
    wait!(server.close()).unwrap();
});

// What is sent while a token is verified is more than is read before it is known whose it is.
case!(much_is_read_when_it_is_known_who_sends_it, {
    let (server, url) = serve();
    for number in 0..3 {
        let text = "x".repeat(1 << 20);
        let authorization = format!("Bearer slow.read.{number}");
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": "length", "arguments": {"text": text},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        let body = body.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: length\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let hearing = heard(&url, request);
        eventually!("the server answers", hearing.is_finished());
        let answer = hearing.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("1048587"), "{answer}");
    }
    wait!(server.close()).unwrap();
});
