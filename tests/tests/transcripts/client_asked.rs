//! A client under test that is asked for what it did not declare, for too much, and for what it can give.

use windlass::client::{CallOptions, InputResponse};
use windlass::model::{
    AudioContent, CallTool, ClientCapabilities, CreateMessageResult, ElicitResult, EmptyParams, GetPrompt,
    GetPromptParams, ImageContent, InputRequest, ListRootsResult, Meta, Ping, ReadResource, ReadResourceParams, Root,
    SamplingContent, SamplingContentBlock,
};
use windlass_sim::{InputAnswer, Script, SimClient};

use crate::close_and_expect;
use crate::common::{Sim, client_config, legacy_client_with, legacy_config, modern_client_with, tell, tool};

const FORM: &str =
    r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
const VISIT: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example","elicitationId":"e"}}"#;
const ODD: &str = r#"{"method":"elicitation/create","params":{"mode":"odd","message":"m"}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
const SAMPLE_WITH_TOOLS: &str =
    r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}"#;
const SAMPLE_WITH_CHOICE: &str =
    r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"toolChoice":{"mode":"auto"}}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;
const OTHER: &str = r#"{"method":"x/y"}"#;
const ALL: [&str; 8] = [FORM, VISIT, ODD, SAMPLE, SAMPLE_WITH_TOOLS, SAMPLE_WITH_CHOICE, ROOTS, OTHER];

fn declarations() -> [(&'static str, ClientCapabilities); 5] {
    let none = ClientCapabilities::new;
    [
        ("nothing", none()),
        ("forms", none().with_form_elicitation()),
        ("visits", none().with_url_elicitation()),
        ("samples", none().with_sampling()),
        ("all", none().with_form_elicitation().with_url_elicitation().with_sampling_tools().with_roots(false)),
    ]
}

fn give_everything(client: &mut SimClient) {
    client.on_input(|request| InputAnswer::Now(Ok(given(request))));
}

fn given(request: &InputRequest) -> InputResponse {
    match request {
        InputRequest::Roots(_) => ListRootsResult::new([]).into(),
        InputRequest::Sample(_) => CreateMessageResult::new("m", "words").into(),
        _ => ElicitResult::decline().into(),
    }
}

#[test]
fn a_legacy_server_asks() {
    for (name, capabilities) in declarations() {
        let mut config = legacy_config();
        config.capabilities = capabilities;
        let mut sim = legacy_client_with("2025-11-25", config);
        give_everything(&mut sim.client);
        for (id, request) in ALL.into_iter().enumerate() {
            tell(&mut sim, &request.replacen('{', &format!(r#"{{"jsonrpc":"2.0","id":{id},"#), 1));
        }
        close_and_expect(&mut sim, &format!("client_asked_legacy_{name}"));
    }
}

#[test]
fn a_server_of_an_older_revision_is_answered_in_its_words() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut config = legacy_config();
        config.capabilities = ClientCapabilities::new().with_sampling().with_roots(false);
        let mut sim = legacy_client_with(version, config);
        let text = SamplingContentBlock::text;
        let mut answers = vec![
            SamplingContent::from(vec![text("two"), text("texts")]),
            vec![SamplingContentBlock::Audio(AudioContent::new("AAAA", "audio/wav"))].into(),
            vec![SamplingContentBlock::Image(ImageContent::new("AAAA", "image/png")), text("beside a picture")].into(),
            SamplingContent::from(Vec::new()),
        ];
        answers.reverse();
        sim.client.on_input(move |request| {
            let mut meta = Meta::new();
            meta.insert("example/a", &1).unwrap();
            InputAnswer::Now(Ok(match request {
                InputRequest::Sample(_) => CreateMessageResult::new("m", answers.pop().unwrap()).into(),
                _ => ListRootsResult::new([Root::new("file:///a").with_meta(meta)]).into(),
            }))
        });
        for (id, request) in [SAMPLE, SAMPLE, SAMPLE, SAMPLE, ROOTS].into_iter().enumerate() {
            tell(&mut sim, &request.replacen('{', &format!(r#"{{"jsonrpc":"2.0","id":{id},"#), 1));
        }
        close_and_expect(&mut sim, &format!("client_asked_{version}"));
    }
}

#[test]
fn a_modern_server_asks() {
    for (name, capabilities) in declarations() {
        let mut config = client_config();
        config.capabilities = capabilities;
        let mut sim = modern_client_with(config);
        give_everything(&mut sim.client);
        // Each request of the client's has a new id, also that of another round.
        for request in ALL {
            sim.client.call::<CallTool>(&tool("t")).unwrap();
            sim.settle();
            answer(&mut sim, &format!(r#"{{"resultType":"input_required","inputRequests":{{"it":{request}}}}}"#));
            if !sim.client.open_calls().is_empty() {
                answer(&mut sim, r#"{"resultType":"complete","content":[]}"#);
            }
        }
        close_and_expect(&mut sim, &format!("client_asked_modern_{name}"));
    }
}

/// Answers the last request that the server has heard.
fn answer(sim: &mut Sim<SimClient, Script>, result: &str) {
    let heard: serde_json::Value = serde_json::from_str(sim.server.heard().last().unwrap()).unwrap();
    let id = heard["id"].as_i64().unwrap();
    tell(sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

#[test]
fn a_modern_server_asks_where_it_may_not_or_for_too_much() {
    let mut config = client_config();
    config.limits.input_requests = 2;
    let mut sim = modern_client_with(config);
    give_everything(&mut sim.client);
    let needs = |count: usize| {
        let requests: Vec<_> = (0..count).map(|number| format!(r#""{number}":{ROOTS}"#)).collect();
        format!(r#"{{"resultType":"input_required","inputRequests":{{{}}}}}"#, requests.join(","))
    };
    sim.client.call::<Ping>(&EmptyParams::new()).unwrap();
    sim.settle();
    answer(&mut sim, &needs(1));
    for count in [2, 3, 0] {
        sim.client.call::<ReadResource>(&ReadResourceParams::new("a:b")).unwrap();
        sim.settle();
        answer(&mut sim, &needs(count));
        if !sim.client.open_calls().is_empty() {
            answer(&mut sim, r#"{"resultType":"complete","contents":[]}"#);
        }
    }
    for result in [r#"{"resultType":"input_required","inputRequests":7}"#, r#"{"resultType":7}"#] {
        sim.client.call::<CallTool>(&tool("t")).unwrap();
        sim.settle();
        answer(&mut sim, result);
    }
    close_and_expect(&mut sim, "client_asked_too_much");
}

#[test]
fn a_call_says_what_its_options_say() {
    let mut meta = Meta::new();
    meta.insert("example/trace", "t1").unwrap();
    let options = CallOptions::new().progress().meta(meta);
    let mut sim = modern_client_with(client_config());
    sim.client.call_with::<CallTool>(&tool("t"), &options).unwrap();
    sim.client.call_with::<CallTool>(&tool("t"), &CallOptions::new()).unwrap();
    // What runs no handler is told of no progress, unless somebody asks for it.
    sim.client.call_with::<Ping>(&EmptyParams::new(), &CallOptions::new()).unwrap();
    sim.client.call_with::<Ping>(&EmptyParams::new(), &CallOptions::new().progress()).unwrap();
    sim.settle();
    close_and_expect(&mut sim, "client_options_modern");
    let mut sim = legacy_client_with("2025-11-25", legacy_config());
    sim.client.call_with::<CallTool>(&tool("t"), &options).unwrap();
    let prompts = sim.client.call::<GetPrompt>(&GetPromptParams::new("p"));
    assert!(prompts.is_err(), "the server has none");
    sim.settle();
    close_and_expect(&mut sim, "client_options_legacy");
}
