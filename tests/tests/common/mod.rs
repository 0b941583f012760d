//! What the tests share: a server that offers a little of everything, and peers brought to the point where a test
//! begins.

#![allow(dead_code, reason = "no test uses all of it")]

pub(crate) mod laws;
mod wired;

use std::time::Duration;

use windlass::Json;
use windlass::client::{ClientConfig, InputResponse, Negotiation};
use windlass::model::{
    CallToolParams, CallToolResult, ClientCapabilities, CompleteResult, ElicitContent, ElicitFormParams, ElicitResult,
    GetPromptResult, Implementation, InputRequest, ListRootsResult, LoggingLevel, Prompt, PromptArgument,
    PromptMessage, ReadResourceResult, Resource, ResourceTemplate, Root, StringSchema, Tool,
};
use windlass::server::{Invoked, Registry, ServerConfig};
use windlass_sim::{Handler, InputAnswer, NetworkConditions, Script, SimClient, SimServer, handler};

pub(crate) use wired::Sim;

/// The `_meta` of a modern request that can be asked by form.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

/// A client that can be asked for everything.
pub(crate) fn client_config() -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    config.capabilities = ClientCapabilities::new().with_form_elicitation().with_roots(true);
    config
}

/// The same, but for legacy servers only.
pub(crate) fn legacy_config() -> ClientConfig {
    let mut config = client_config();
    config.negotiation = Negotiation::Legacy;
    config
}

pub(crate) fn server_config() -> ServerConfig {
    ServerConfig::new(Implementation::new("server", "1"))
}

/// A server that offers a little of everything.
pub(crate) fn server() -> SimServer {
    server_with(server_config())
}

pub(crate) fn server_with(config: ServerConfig) -> SimServer {
    SimServer::new(config, registry(), 1)
}

/// A little of everything.
pub(crate) fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    registry.add_tool(
        Tool::without_arguments("echo"),
        handler(|context| Ok(CallToolResult::text(context.arguments().as_str()).into())),
    );
    registry.add_tool(
        Tool::without_arguments("slow"),
        handler(|context| {
            context.take(Duration::from_secs(60));
            Ok(CallToolResult::text("at last").into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("steps"),
        handler(|context| {
            for step in 1..=3 {
                context.take(Duration::from_secs(20));
                context.progress(f64::from(step), Some(3.0));
            }
            Ok(CallToolResult::text("three steps").into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("ask"),
        handler(|context| {
            let name = context.asking.elicit("name", name_form())?;
            Ok(CallToolResult::text(format!("{}: {}", name.action, content(&name))).into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("ask-twice"),
        handler(|context| {
            let name = context.asking.elicit("name", name_form())?;
            context.asking.keep(&"half way")?;
            let seat = context.asking.elicit("seat", ElicitFormParams::new("Which seat?"))?;
            let kept: String = context.asking.kept().unwrap_or_default();
            Ok(CallToolResult::text(format!("{} {} {kept}", content(&name), content(&seat))).into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("chatty"),
        handler(|context| {
            context.log(LoggingLevel::Debug, "a detail");
            context.log(LoggingLevel::Info, "news");
            context.log(LoggingLevel::Error, "trouble");
            Ok(CallToolResult::text("said").into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("grow"),
        handler(|context| {
            context.server(|server| {
                let tool = Tool::without_arguments("grown");
                server.registry().add_tool(tool, handler(|_| Ok(CallToolResult::text("new").into())));
            });
            Ok(CallToolResult::text("grown").into())
        }),
    );
    registry.add_resource(
        Resource::new("file:///a.txt", "a"),
        handler(|_| Ok(ReadResourceResult::text("file:///a.txt", "the text").into())),
    );
    let template = ResourceTemplate::new("file:///notes/{name}", "note");
    let added = registry.add_resource_template(
        template,
        handler(|context| match &context.invocation.request {
            Invoked::Resource { uri, variables } => {
                Ok(ReadResourceResult::text(uri, format!("note {}", variables["name"])).into())
            }
            _ => Ok(ReadResourceResult::text("", "").into()),
        }),
    );
    assert!(added.is_ok());
    registry.add_prompt(
        Prompt::new("greet").with_argument(PromptArgument::required("name")),
        handler(|context| match &context.invocation.request {
            Invoked::Prompt { arguments, .. } => {
                Ok(GetPromptResult::new([PromptMessage::user(format!("Greet {}", arguments["name"]))]).into())
            }
            _ => Ok(GetPromptResult::new([]).into()),
        }),
    );
    registry.add_prompt_completion("greet", "name", handler(|_| Ok(CompleteResult::new(["Ada", "Alan"]).into())));
    registry
}

fn name_form() -> ElicitFormParams {
    ElicitFormParams::new("Who are you?").with_required_property("name", StringSchema::new())
}

fn content(result: &ElicitResult) -> String {
    result.content.as_ref().and_then(|content| serde_json::to_string(content).ok()).unwrap_or_default()
}

/// What the user of the tests answers.
pub(crate) fn accept_name() -> ElicitResult {
    let mut content = ElicitContent::new();
    content.insert("name", "Ada").expect("a text is JSON");
    ElicitResult::accept(content)
}

/// Answers every request for input at once.
pub(crate) fn answer_everything(client: &mut SimClient) {
    client.on_input(|request| InputAnswer::Now(Ok(answer_to(request))));
}

pub(crate) fn answer_to(request: &InputRequest) -> InputResponse {
    match request {
        InputRequest::Roots(_) => ListRootsResult::new([Root::new("file:///home")]).into(),
        _ => accept_name().into(),
    }
}

pub(crate) fn tool(name: &str) -> CallToolParams {
    CallToolParams::new(name)
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).expect("the test's own JSON")
}

/// A client against a scripted server, negotiated as modern.
pub(crate) fn modern_client() -> Sim<SimClient, Script> {
    modern_client_with(client_config())
}

pub(crate) fn modern_client_with(config: ClientConfig) -> Sim<SimClient, Script> {
    let mut sim = Sim::with_scripted_server(1, NetworkConditions::ideal(), config);
    sim.settle();
    sim.server.say(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}},"ttlMs":0,"cacheScope":"private"}}"#);
    sim.settle();
    assert!(sim.client.peer().is_some(), "{}", sim.transcript());
    sim
}

/// A client against a scripted server, negotiated as legacy in the given revision.
pub(crate) fn legacy_client(version: &str) -> Sim<SimClient, Script> {
    legacy_client_with(version, legacy_config())
}

pub(crate) fn legacy_client_with(version: &str, config: ClientConfig) -> Sim<SimClient, Script> {
    let mut sim = Sim::with_scripted_server(1, NetworkConditions::ideal(), config);
    sim.settle();
    sim.server.say(&initialize_answer(1, version));
    sim.settle();
    assert!(sim.client.peer().is_some(), "{}", sim.transcript());
    sim
}

pub(crate) fn initialize_answer(id: u64, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"logging":{{}}}},"serverInfo":{{"name":"scripted","version":"1"}}}}}}"#
    )
}

/// A server against a scripted client that has said nothing yet.
pub(crate) fn fresh_server() -> Sim<Script, SimServer> {
    fresh_server_with(server_config())
}

pub(crate) fn fresh_server_with(config: ServerConfig) -> Sim<Script, SimServer> {
    Sim::with_scripted_client(1, NetworkConditions::ideal(), server_with(config))
}

/// A server against a scripted legacy client that has been through the handshake.
pub(crate) fn legacy_server(version: &str) -> Sim<Script, SimServer> {
    legacy_server_with(version, server_config())
}

pub(crate) fn legacy_server_with(version: &str, config: ServerConfig) -> Sim<Script, SimServer> {
    let mut sim = fresh_server_with(config);
    say(&mut sim, &initialize(version));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    sim
}

pub(crate) fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"scripted","version":"1"}}}}}}"#
    )
}

/// The scripted client says a line, and everything that follows from it happens.
pub(crate) fn say(sim: &mut Sim<Script, SimServer>, line: &str) {
    sim.client.say(line);
    sim.settle();
}

/// The scripted server says a line, and everything that follows from it happens.
pub(crate) fn tell(sim: &mut Sim<SimClient, Script>, line: &str) {
    sim.server.say(line);
    sim.settle();
}

/// A modern request, with `params` added to its `_meta`.
pub(crate) fn modern(id: u64, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}{META}}}}}"#)
}

/// A legacy request.
pub(crate) fn legacy(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}
