//! Errors of handlers: every revision gets the codes that it has.

use windlass::RpcError;
use windlass::jsonrpc::code;
use windlass::model::{CallToolResult, CompleteResult, ElicitUrlParams, Prompt, ReadResourceResult, Resource, Tool};
use windlass::server::{HandlerError, Invoked, Registry};
use windlass_sim::{Handler, NetworkConditions, Script, SimServer, handler};

use crate::common::{META, Sim, initialize, legacy, modern, say, server_config};
use crate::end_and_expect;

/// A client that can be sent to a page.
const VISITS: &str = r#"{"elicitation":{"url":{}}}"#;

fn pages() -> RpcError {
    let pages = [
        ElicitUrlParams::new("Log in.", "https://example.com/login").with_elicitation_id("login-7"),
        ElicitUrlParams::new("Agree.", "https://example.com/terms"),
    ];
    RpcError::url_elicitation_required("there are pages to visit first", pages)
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    let failing = |error: RpcError| handler(move |_| Err(HandlerError::Rpc(error.clone())));
    for (name, error) in [
        ("not-found", RpcError::resource_not_found("file:///gone")),
        ("reserved", RpcError::new(-32050, "a code that nobody has defined")),
        ("own", RpcError::new(-31000, "a code of the program's own")),
        ("pages-without-data", RpcError::new(code::URL_ELICITATION_REQUIRED, "somewhere")),
    ] {
        registry.add_tool(Tool::without_arguments(name), failing(error));
    }
    registry.add_tool(
        Tool::without_arguments("pages"),
        handler(|context| match context.invocation.inputs.contains_key("login-7") {
            true => Ok(CallToolResult::text("welcome").into()),
            false => Err(pages().into()),
        }),
    );
    registry.add_prompt(Prompt::new("pages"), failing(pages()));
    registry.add_prompt_completion("pages", "a", failing(pages()));
    registry.add_prompt_completion(
        "pages",
        "asks",
        handler(|context| {
            let asked = context.asking.roots("where").map(|_| CompleteResult::new(["x"]));
            Ok(asked?.into())
        }),
    );
    registry.add_resource(
        Resource::new("file:///gone", "gone"),
        handler(|context| match &context.invocation.request {
            Invoked::Resource { uri, .. } => Err(RpcError::resource_not_found(uri).into()),
            _ => Ok(ReadResourceResult::new([]).into()),
        }),
    );
    registry
}

fn completion(argument: &str) -> String {
    format!(r#""ref":{{"type":"ref/prompt","name":"pages"}},"argument":{{"name":"{argument}","value":""}}"#)
}

fn asked() -> Vec<(&'static str, String)> {
    let tool = |name: &str| ("tools/call", format!(r#""name":"{name}""#));
    vec![
        tool("not-found"),
        tool("reserved"),
        tool("own"),
        tool("pages-without-data"),
        tool("pages"),
        ("prompts/get", r#""name":"pages""#.into()),
        ("completion/complete", completion("a")),
        ("resources/read", r#""uri":"file:///gone""#.into()),
        ("resources/read", r#""uri":"file:///never""#.into()),
        ("resources/subscribe", r#""uri":"file:///never""#.into()),
    ]
}

fn server() -> Sim<Script, SimServer> {
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(server_config(), registry(), 1))
}

#[test]
fn codes_of_the_legacy_era() {
    for (version, capabilities, name) in [
        ("2025-11-25", VISITS, "server_codes_2025-11-25"),
        ("2025-11-25", "{}", "server_codes_2025-11-25_no_visits"),
        ("2025-06-18", VISITS, "server_codes_2025-06-18"),
    ] {
        let mut sim = server();
        say(&mut sim, &initialize(version).replace(r#"{"elicitation":{}}"#, capabilities));
        say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        for (id, (method, params)) in asked().into_iter().enumerate() {
            say(&mut sim, &legacy(id as u64, method, &params));
        }
        end_and_expect(&mut sim, name);
    }
}

#[test]
fn codes_of_the_modern_era() {
    for (capabilities, name) in [(VISITS, "server_codes_modern"), ("{}", "server_codes_modern_no_visits")] {
        let mut sim = server();
        let with = |line: String| line.replace(META, &META.replace(r#"{"elicitation":{}}"#, capabilities));
        for (id, (method, params)) in asked().into_iter().enumerate() {
            say(&mut sim, &with(modern(id as u64, method, &params)));
        }
        let answers =
            r#""inputResponses":{"login-7":{"action":"accept"},"https://example.com/terms":{"action":"accept"}}"#;
        say(&mut sim, &with(modern(20, "tools/call", &format!(r#""name":"pages",{answers}"#))));
        // Only tools, prompts and resources may ask.
        let roots = META.replace(r#"{"elicitation":{}}"#, r#"{"roots":{}}"#);
        say(&mut sim, &modern(21, "completion/complete", &completion("asks")).replace(META, &roots));
        end_and_expect(&mut sim, name);
    }
}
