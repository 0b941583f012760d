//! What a client may ask for that is not there, that is too much, or that only some handlers can give.

use windlass::model::{
    CallToolResult, CompleteResult, GetPromptResult, InputRequest, Prompt, PromptArgument, ReadResourceResult,
    Resource, ResourceTemplate, Tool,
};
use windlass::server::{HandlerError, Invoked, Needs, Registry, Reply};
use windlass_sim::{Handler, NetworkConditions, Script, SimServer, handler};

use crate::common::{Sim, initialize, json, legacy, modern, say, server_config};
use crate::end_and_expect;

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    registry.add_prompt(
        Prompt::new("greet").with_argument(PromptArgument::required("name")).with_argument(PromptArgument::new("tone")),
        handler(|_| Ok(GetPromptResult::new([]).into())),
    );
    registry.add_prompt_completion("greet", "name", handler(|_| Ok(CompleteResult::new(["Ada"]).into())));
    let note = handler(|_| Ok(ReadResourceResult::text("note:a", "a").into()));
    assert!(registry.add_resource_template(ResourceTemplate::new("note:{name}", "note"), note.clone()).is_ok());
    registry.add_resource(Resource::new("file:///a", "a"), note.clone());
    registry.add_resource(Resource::new("file:///b", "b"), note);
    let complete = handler(|context| match &context.invocation.request {
        Invoked::Completion(params) => Ok(CompleteResult::new([format!("{}!", params.argument.value)]).into()),
        _ => Err(HandlerError::failed("this completes")),
    });
    registry.add_resource_completion("note:{name}", "name", complete);
    registry.add_resource_completion("note:{name}", "broken", handler(|_| Err(HandlerError::failed("no idea"))));
    registry.add_tool(
        Tool::without_arguments("other"),
        handler(|context| match context.invocation.inputs.get("it") {
            Some(answer) => Ok(CallToolResult::text(answer.as_str()).into()),
            None => Ok(needs("it", Some(r#"{"a":1}"#), None)),
        }),
    );
    registry.add_tool(
        Tool::without_arguments("again"),
        handler(|context| match context.asking.kept::<u8>() {
            Some(kept) => Ok(CallToolResult::text(format!("kept {kept}")).into()),
            None => {
                context.asking.keep(&7)?;
                Err(HandlerError::InputRequired)
            }
        }),
    );
    registry.add_tool(
        Tool::without_arguments("list"),
        handler(|_| Ok(CallToolResult::text("[1]").with_structured_content(json("[1]")).into())),
    );
    registry
}

/// A request for something that the specification does not list.
fn needs(name: &str, params: Option<&str>, state: Option<&str>) -> Reply {
    let mut needs = Needs::default();
    let request = InputRequest::Other { method: "x/y".into(), params: params.map(json) };
    needs.requests.insert(name.into(), request);
    needs.state = state.map(json);
    Reply::InputRequired(needs)
}

fn server(subscriptions: usize) -> Sim<Script, SimServer> {
    let mut config = server_config();
    config.limits.subscriptions = subscriptions;
    config.instructions = Some("Be kind.".into());
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(config, registry(), 1))
}

const COMPLETIONS: [(&str, &str); 7] = [
    (r#"{"type":"ref/prompt","name":"greet"}"#, "name"),
    (r#"{"type":"ref/prompt","name":"greet"}"#, "tone"),
    (r#"{"type":"ref/prompt","name":"missing"}"#, "name"),
    (r#"{"type":"ref/resource","uri":"note:{name}"}"#, "name"),
    (r#"{"type":"ref/resource","uri":"note:{name}"}"#, "broken"),
    (r#"{"type":"ref/resource","uri":"file:///a"}"#, "name"),
    (r#"{"type":"ref/resource","uri":"file:///missing"}"#, "name"),
];

#[test]
fn completions_of_both_eras() {
    let mut sim = server(9);
    let asked = |(reference, argument): (&str, &str)| {
        format!(r#""ref":{reference},"argument":{{"name":"{argument}","value":"v"}}"#)
    };
    for (id, completion) in COMPLETIONS.into_iter().enumerate() {
        say(&mut sim, &modern(id as u64, "completion/complete", &asked(completion)));
    }
    say(&mut sim, &modern(20, "completion/complete", &asked((r#"{"type":"ref/odd"}"#, "name"))));
    say(&mut sim, &modern(21, "completion/complete", ""));
    say(&mut sim, &initialize("2025-11-25"));
    for (id, completion) in COMPLETIONS.into_iter().enumerate() {
        say(&mut sim, &legacy(30 + id as u64, "completion/complete", &asked(completion)));
    }
    end_and_expect(&mut sim, "server_completions");
}

#[test]
fn what_is_not_there_or_makes_no_sense() {
    let mut sim = server(9);
    for (id, (method, params)) in [
        ("prompts/get", r#""name":"missing""#),
        ("prompts/get", r#""name":7"#),
        ("prompts/get", ""),
        ("prompts/get", r#""name":"greet","arguments":{"name":7}"#),
        ("prompts/get", r#""name":"greet","arguments":{"tone":"dry"}"#),
        ("prompts/get", r#""name":"greet","arguments":{"name":"Ada"}"#),
        ("resources/read", r#""uri":7"#),
        ("resources/read", ""),
        ("tools/call", r#""name":"list","arguments":null"#),
        ("tools/call", r#""name":null"#),
        ("tools/call", r#""name":"list","name":"list""#),
    ]
    .into_iter()
    .enumerate()
    {
        say(&mut sim, &modern(id as u64, method, params));
    }
    say(&mut sim, &initialize("2025-11-25"));
    // Before 2026-07-28 structured content is an object, and the text says the same.
    say(&mut sim, &legacy(20, "tools/call", r#""name":"list""#));
    say(&mut sim, &legacy(21, "prompts/get", r#""name":"missing""#));
    say(&mut sim, &legacy(22, "resources/subscribe", r#""uri":"file:///missing""#));
    say(&mut sim, &legacy(23, "resources/subscribe", ""));
    end_and_expect(&mut sim, "server_not_there");
}

#[test]
fn subscriptions_go_up_to_their_limit() {
    let mut sim = server(2);
    for (id, uris) in [(1, r#"["a:b","a:c"]"#), (2, r#"["a:b","a:c","a:d"]"#), (3, "[]"), (4, "[]")] {
        let params = format!(r#""notifications":{{"resourceSubscriptions":{uris}}}"#);
        say(&mut sim, &modern(id, "subscriptions/listen", &params));
    }
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    say(&mut sim, &modern(5, "subscriptions/listen", r#""notifications":{}"#));
    say(&mut sim, &initialize("2025-11-25"));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for (id, method, uri) in [
        (10, "resources/subscribe", "file:///a"),
        (11, "resources/subscribe", "file:///a"),
        (12, "resources/subscribe", "file:///b"),
        (13, "resources/subscribe", "note:c"),
        (14, "resources/unsubscribe", "file:///a"),
        (15, "resources/subscribe", "note:c"),
        (16, "resources/unsubscribe", "file:///missing"),
    ] {
        say(&mut sim, &legacy(id, method, &format!(r#""uri":"{uri}""#)));
    }
    for uri in ["file:///a", "file:///b", "note:c", "note:d"] {
        sim.server.machine().resource_updated(uri);
    }
    sim.settle();
    end_and_expect(&mut sim, "server_subscription_limits");
}

/// What the server says to a line. Nothing in the official schemas describes what these tests ask for, so there is
/// neither a transcript nor a recording that could be held against them.
fn said(sim: &mut windlass_sim::Sim<Script, SimServer>, line: &str) -> serde_json::Value {
    sim.client.say(line);
    sim.settle();
    serde_json::from_str(sim.client.heard().last().expect("it says something")).expect("JSON")
}

#[test]
fn a_handler_asks_for_what_is_not_in_the_specification() {
    let server = SimServer::new(server_config(), registry(), 1);
    let mut sim = windlass_sim::Sim::with_scripted_client(1, NetworkConditions::ideal(), server);
    let asked = said(&mut sim, &modern(1, "tools/call", r#""name":"other""#));
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(asked["result"]["inputRequests"]["it"], serde_json::json!({"method": "x/y", "params": {"a": 1}}));
    let answered = said(&mut sim, &modern(2, "tools/call", r#""name":"other","inputResponses":{"it":{"b":2}}"#));
    assert_eq!(answered["result"]["content"][0]["text"], r#"{"b":2}"#);
    let again = said(&mut sim, &modern(3, "tools/call", r#""name":"again""#));
    assert_eq!(
        (&again["result"]["resultType"], again["result"].get("inputRequests")),
        (&"input_required".into(), None)
    );
    let state = again["result"]["requestState"].as_str().expect("a state to come back with");
    let params = format!(r#""name":"again","requestState":"{state}""#);
    let kept = said(&mut sim, &modern(4, "tools/call", &params));
    assert_eq!(kept["result"]["content"][0]["text"], "kept 7");

    said(&mut sim, &initialize("2025-11-25"));
    let asked = said(&mut sim, &legacy(5, "tools/call", r#""name":"other""#));
    assert_eq!((&asked["method"], &asked["params"]), (&"x/y".into(), &serde_json::json!({"a": 1})));
    let answered = said(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{"c":3}}"#);
    assert_eq!((&answered["id"], &answered["result"]["content"][0]["text"]), (&5.into(), &r#"{"c":3}"#.into()));
    // A legacy client has no way to be told to come again.
    let failed = said(&mut sim, &legacy(6, "tools/call", r#""name":"again""#));
    assert_eq!((&failed["id"], &failed["error"]["code"]), (&6.into(), &(-32603).into()));
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}
