//! What peers say about files: paths out of URIs, and roots.

use windlass::client::InputResponse;
use windlass::model::{CallToolResult, ListRoots, ListRootsParams, ListRootsResult, ReadResourceResult};
use windlass::model::{ResourceContents, ResourceTemplate, Root, Tool};
use windlass::server::Registry;
use windlass_sim::{Handler, InputAnswer, NetworkConditions, Script, SimServer, handler};

use crate::common::{
    META, Sim, client_config, initialize, legacy, legacy_client, modern, modern_client_with, say, server_config, tell,
    tool,
};
use crate::{close_and_expect, end_and_expect};

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    let read = handler(|context| {
        let path = context.invocation.request.path("path")?;
        Ok(ReadResourceResult::new([ResourceContents::blob_bytes("a:b", path.as_bytes())]).into())
    });
    for template in ["file:///notes/{path}", "file:///folder/{+path}"] {
        registry
            .add_resource_template(ResourceTemplate::new(template, "notes"), read.clone())
            .expect("it can be matched");
    }
    registry.add_tool(
        Tool::without_arguments("roots"),
        handler(|context| {
            let roots = context.asking.roots("where")?;
            Ok(CallToolResult::text(format!("{} roots", roots.roots.len())).into())
        }),
    );
    registry
}

fn server() -> Sim<Script, SimServer> {
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(server_config(), registry(), 1))
}

#[test]
fn a_uri_leads_nowhere_else() {
    let mut sim = server();
    for (id, uri) in [
        "notes/today.txt",
        "folder/2026/today.txt",
        "notes/..%2F..%2Fetc%2Fpasswd",
        "notes/%2Fetc%2Fpasswd",
        "notes/..",
        "notes/a%00b",
        "notes/a%255Cb",
        "folder/../../etc/passwd",
        "folder//etc/passwd",
        "folder/%2e%2e/etc/passwd",
        "folder/..\\\\etc",
    ]
    .into_iter()
    .enumerate()
    {
        say(&mut sim, &modern(id as u64, "resources/read", &format!(r#""uri":"file:///{uri}""#)));
    }
    end_and_expect(&mut sim, "server_paths");
}

const ROOTS: [&str; 3] = [
    r#"{"roots":[{"uri":"file:///home/ada"},{"uri":"FILE://host/share"}]}"#,
    r#"{"roots":[{"uri":"file:///home/ada"},{"uri":"https://example.com/"}]}"#,
    r#"{"roots":[{"uri":"/home/ada"}]}"#,
];

#[test]
fn roots_of_clients_are_files() {
    let with_roots = |line: String| line.replace(META, &META.replace(r#"{"elicitation":{}}"#, r#"{"roots":{}}"#));
    let mut sim = server();
    for (id, roots) in ROOTS.into_iter().enumerate() {
        let params = format!(r#""name":"roots","inputResponses":{{"where":{roots}}}"#);
        say(&mut sim, &with_roots(modern(id as u64, "tools/call", &params)));
    }
    say(&mut sim, &initialize("2025-06-18").replace(r#"{"elicitation":{}}"#, r#"{"roots":{}}"#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for (id, roots) in ROOTS.into_iter().enumerate() {
        say(&mut sim, &legacy(10 + id as u64, "tools/call", r#""name":"roots""#));
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{roots}}}"#, id + 1));
    }
    end_and_expect(&mut sim, "server_roots");
    let read = |roots| windlass::client::decode::<ListRoots>(Ok(windlass::JsonText::parse(roots).expect("JSON")));
    assert!(read(ROOTS[0]).is_ok());
    assert!(read(ROOTS[1]).is_err_and(|error| error.to_string().contains("https://example.com/ is not")));
}

fn wrong_roots() -> InputAnswer {
    InputAnswer::Now(Ok(InputResponse::Roots(ListRootsResult::new([Root::new("https://example.com/")]))))
}

#[test]
fn a_client_says_no_other_roots() {
    let mut sim = legacy_client("2025-11-25");
    sim.client.on_input(|_| wrong_roots());
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    close_and_expect(&mut sim, "client_legacy_roots");
    let mut sim = modern_client_with(client_config());
    sim.client.on_input(|_| wrong_roots());
    sim.client.call::<windlass::model::CallTool>(&tool("roots")).expect("it can be called");
    sim.settle();
    let params = serde_json::to_value(ListRootsParams::default()).expect("JSON");
    let asked = serde_json::json!({"where": {"method": "roots/list", "params": params}});
    tell(
        &mut sim,
        &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"input_required","inputRequests":{asked}}}}}"#),
    );
    close_and_expect(&mut sim, "client_modern_roots");
}
