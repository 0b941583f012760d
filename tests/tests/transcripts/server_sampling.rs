//! What may be asked of a client's model: tools and context only where they were declared, and no call of a tool without
//! its result.

use windlass::model::{
    CallToolResult, ContentBlock, CreateMessage, CreateMessageParams, IncludeContext, SamplingContentBlock,
    SamplingMessage, Tool, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
use windlass::server::Registry;
use windlass::{Json, SendError};
use windlass_sim::{Handler, NetworkConditions, Script, SimServer, handler};

use crate::common::{META, Sim, initialize, legacy, modern, say, server_config};
use crate::end_and_expect;

const WAYS: [&str; 5] = ["plain", "choice", "results", "unanswered", "context"];

fn params(way: &str) -> CreateMessageParams {
    let call = || SamplingContentBlock::ToolUse(ToolUseContent::new("1", "dice", Json::empty_object()));
    let result = || SamplingContentBlock::ToolResult(ToolResultContent::new("1", [ContentBlock::text("6")]));
    let mut messages = vec![SamplingMessage::user("Roll.")];
    match way {
        "results" => messages.extend([SamplingMessage::assistant(call()), SamplingMessage::user(result())]),
        "unanswered" => messages.extend([SamplingMessage::assistant(call()), SamplingMessage::user("Well?")]),
        _ => {}
    }
    let params = CreateMessageParams::new(messages, 9);
    match way {
        "choice" => params.with_tool_choice(ToolChoice::new(ToolChoiceMode::None)),
        "context" => params.with_include_context(IncludeContext::ThisServer),
        _ => params.with_include_context(IncludeContext::None),
    }
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    for way in WAYS {
        registry.add_tool(
            Tool::without_arguments(way),
            handler(move |context| Ok(CallToolResult::text(context.asking.sample("words", params(way))?.model).into())),
        );
    }
    registry
}

fn server() -> Sim<Script, SimServer> {
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(server_config(), registry(), 1))
}

/// Plain sampling, with tools, with context too.
const CLIENTS: [&str; 3] =
    [r#"{"sampling":{}}"#, r#"{"sampling":{"tools":{}}}"#, r#"{"sampling":{"tools":{},"context":{}}}"#];

#[test]
fn models_of_the_modern_era() {
    let mut sim = server();
    for (client, capabilities) in CLIENTS.into_iter().enumerate() {
        for (way, name) in WAYS.into_iter().enumerate() {
            let line = modern((10 * client + way) as u64, "tools/call", &format!(r#""name":"{name}""#));
            say(&mut sim, &line.replace(META, &META.replace(r#"{"elicitation":{}}"#, capabilities)));
        }
    }
    end_and_expect(&mut sim, "server_sampling_modern");
}

#[test]
fn models_of_the_legacy_era() {
    let clients = CLIENTS.into_iter().map(|capabilities| ("2025-11-25", capabilities));
    for (number, (version, capabilities)) in clients.chain([("2025-06-18", CLIENTS[0])]).enumerate() {
        let mut sim = server();
        say(&mut sim, &initialize(version).replace(r#"{"elicitation":{}}"#, capabilities));
        say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        for (id, name) in WAYS.into_iter().enumerate() {
            say(&mut sim, &legacy(id as u64, "tools/call", &format!(r#""name":"{name}""#)));
        }
        end_and_expect(&mut sim, &format!("server_sampling_{version}_{number}"));
    }
}

#[test]
fn calls_of_the_server_are_held_to_the_same() {
    let mut sim = server();
    say(&mut sim, &initialize("2025-11-25").replace(r#"{"elicitation":{}}"#, CLIENTS[0]));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let refused = |outcome, expected| {
        assert!(
            matches!(outcome, Err(SendError::NotSupported { capability, .. }) if capability == expected),
            "{outcome:?}"
        );
    };
    refused(sim.server.call::<CreateMessage>(&params("choice")), "sampling.tools");
    refused(sim.server.call::<CreateMessage>(&params("results")), "sampling.tools");
    refused(sim.server.call::<CreateMessage>(&params("context")), "sampling.context");
    assert_eq!(sim.server.call::<CreateMessage>(&params("plain")), Ok(1));
    sim.settle();
    let mut sim = server();
    say(&mut sim, &initialize("2025-11-25").replace(r#"{"elicitation":{}}"#, CLIENTS[1]));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let unanswered = sim.server.call::<CreateMessage>(&params("unanswered"));
    assert!(matches!(unanswered, Err(SendError::Invalid(_))), "{unanswered:?}");
}
