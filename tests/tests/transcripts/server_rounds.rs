//! Handlers of every kind that ask, in both eras: for a form, a place to visit, a sample, roots.

use windlass::RpcError;
use windlass::model::{
    CallToolResult, CreateMessageParams, ElicitFormParams, ElicitUrlParams, GetPromptResult, Prompt, PromptArgument,
    PromptMessage, ReadResourceResult, Resource, ResourceTemplate, SamplingContentBlock, SamplingMessage, Tool,
};
use windlass::server::{HandlerError, Registry, Reply};
use windlass_sim::{Handler, NetworkConditions, Script, SimContext, SimServer, handler};

use crate::common::{META, Sim, initialize, legacy, modern, say, server_config};
use crate::end_and_expect;

/// A tool, a prompt, a resource and a template for each thing that can be asked for.
fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    for what in ["form", "visit", "sample", "sample-with-tools", "roots", "both", "failure", "refusal", "nothing"] {
        let tool = move |context: &mut SimContext<'_>| Ok(CallToolResult::text(ask(context, what)?).into());
        registry.add_tool(Tool::without_arguments(what), handler(tool));
        let prompt = move |context: &mut SimContext<'_>| {
            Ok(GetPromptResult::new([PromptMessage::user(ask(context, what)?)]).into())
        };
        registry.add_prompt(Prompt::new(what).with_argument(PromptArgument::new("tone")), handler(prompt));
        let uri = format!("ask:{what}");
        registry.add_resource(Resource::new(uri.clone(), what), reader(uri, what));
    }
    let uri = "note:{name}";
    assert!(
        registry.add_resource_template(ResourceTemplate::new(uri, "note"), reader("note:a".into(), "form")).is_ok()
    );
    registry
}

fn reader(uri: String, what: &'static str) -> Handler {
    handler(move |context: &mut SimContext<'_>| -> Result<Reply, HandlerError> {
        Ok(ReadResourceResult::text(uri.clone(), ask(context, what)?).into())
    })
}

fn ask(context: &mut SimContext<'_>, what: &str) -> Result<String, HandlerError> {
    let message = || CreateMessageParams::new([SamplingMessage::user(SamplingContentBlock::text("Say something."))], 9);
    let form = || ElicitFormParams::new("Who are you?");
    let shown = |value: serde_json::Value| Ok(value.to_string());
    let asking = &mut context.asking;
    match what {
        "form" => {
            let before: u32 = asking.kept().unwrap_or_default();
            asking.keep(&(before + 1))?;
            let answer = asking.elicit("who", form())?;
            Ok(format!("{} after {before}", answer.action))
        }
        "visit" => shown(serde_json::to_value(
            asking.elicit("where", ElicitUrlParams::new("Log in.", "https://example.com/login"))?,
        )?),
        "sample" => shown(serde_json::to_value(asking.sample("words", message())?)?),
        "sample-with-tools" => {
            let mut params = message();
            params.tools = Some(vec![Tool::without_arguments("dice")]);
            shown(serde_json::to_value(asking.sample("words", params)?)?)
        }
        "roots" => shown(serde_json::to_value(asking.roots("where")?)?),
        "both" => {
            let (who, roots) = (asking.elicit("who", form()), asking.roots("where"));
            Ok(format!("{} {}", who?.action, roots?.roots.len()))
        }
        "refusal" => Err(RpcError::new(-1, "not for you").into()),
        "nothing" => Err(HandlerError::InputRequired),
        _ => Err(HandlerError::failed("it went wrong")),
    }
}

/// A client that can be asked for everything.
const EVERYTHING: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#;

fn fresh() -> Sim<Script, SimServer> {
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(server_config(), registry(), 1))
}

fn modern_with(capabilities: &str, id: u64, method: &str, params: &str) -> String {
    modern(id, method, params).replace(META, &META.replace(r#"{"elicitation":{}}"#, capabilities))
}

fn legacy_with(version: &str, capabilities: &str) -> Sim<Script, SimServer> {
    let mut sim = fresh();
    say(&mut sim, &initialize(version).replace(r#"{"elicitation":{}}"#, capabilities));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    sim
}

/// The three ways to reach a handler.
fn ways(what: &str) -> [(&'static str, String); 3] {
    [
        ("tools/call", format!(r#""name":"{what}""#)),
        ("prompts/get", format!(r#""name":"{what}""#)),
        ("resources/read", format!(r#""uri":"ask:{what}""#)),
    ]
}

fn request_state(sim: &Sim<Script, SimServer>) -> String {
    let answer: serde_json::Value = serde_json::from_str(sim.client.heard().last().unwrap()).unwrap();
    answer["result"]["requestState"].as_str().unwrap().to_owned()
}

#[test]
fn rounds_of_the_modern_era() {
    let mut sim = fresh();
    let accepted = r#""inputResponses":{"who":{"action":"accept"}}"#;
    for (id, (method, params)) in ways("form").into_iter().enumerate() {
        let id = 10 * id as u64;
        say(&mut sim, &modern(id, method, &params));
        let state = request_state(&sim);
        let round = |params: &str| format!(r#"{params},{accepted},"requestState":"{state}""#);
        say(&mut sim, &modern(id + 1, method, &round(&params)));
        // The state is good for this call alone.
        say(&mut sim, &modern(id + 2, method, &round(&params.replace("form", "both"))));
        let (other, way) = &ways("form")[(id as usize / 10 + 1) % 3];
        say(&mut sim, &modern(id + 3, other, &round(way)));
        if method == "prompts/get" {
            say(&mut sim, &modern(id + 4, method, &round(&format!(r#"{params},"arguments":{{"tone":"dry"}}"#))));
        }
    }
    say(&mut sim, &modern(40, "resources/read", r#""uri":"note:a""#));
    let state = request_state(&sim);
    for (id, uri) in [(41, "note:a"), (42, "note:b")] {
        say(&mut sim, &modern(id, "resources/read", &format!(r#""uri":"{uri}",{accepted},"requestState":"{state}""#)));
    }
    end_and_expect(&mut sim, "server_rounds_modern");
}

#[test]
fn everything_that_can_be_asked_for_in_the_modern_era() {
    let mut sim = fresh();
    let answers = [
        ("visit", r#""where":{"action":"accept"}"#),
        ("sample", r#""words":{"role":"assistant","content":{"type":"text","text":"Something."},"model":"m"}"#),
        (
            "sample-with-tools",
            r#""words":{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"dice","input":{}}],"model":"m"}"#,
        ),
        ("roots", r#""where":{"roots":[{"uri":"file:///home"}]}"#),
        ("both", r#""who":{"action":"decline"},"where":{"roots":[]}"#),
    ];
    for (id, (what, answer)) in answers.into_iter().enumerate() {
        let (id, (method, params)) = (10 * id as u64, &ways(what)[id % 3]);
        say(&mut sim, &modern_with(EVERYTHING, id, method, params));
        let answered = format!(r#"{params},"inputResponses":{{{answer}}}"#);
        say(&mut sim, &modern_with(EVERYTHING, id + 1, method, &answered));
    }
    // One of two answers is kept until the other is there.
    let (method, params) = &ways("both")[0];
    let half = format!(r#"{params},"inputResponses":{{"who":{{"action":"accept"}}}}"#);
    say(&mut sim, &modern_with(EVERYTHING, 90, method, &half));
    let rest =
        format!(r#"{params},"inputResponses":{{"where":{{"roots":[]}}}},"requestState":"{}""#, request_state(&sim));
    say(&mut sim, &modern_with(EVERYTHING, 91, method, &rest));
    end_and_expect(&mut sim, "server_rounds_modern_everything");
}

#[test]
fn what_a_modern_client_did_not_declare_is_not_asked_for() {
    let mut sim = fresh();
    let poor = [
        ("form", "{}"),
        ("form", r#"{"elicitation":{"url":{}}}"#),
        ("visit", r#"{"elicitation":{}}"#),
        ("sample", r#"{"elicitation":{},"roots":{}}"#),
        ("sample-with-tools", r#"{"sampling":{}}"#),
        ("roots", r#"{"sampling":{"tools":{}}}"#),
        ("both", r#"{"elicitation":{}}"#),
    ];
    for (id, (what, capabilities)) in poor.into_iter().enumerate() {
        let (method, params) = &ways(what)[id % 3];
        say(&mut sim, &modern_with(capabilities, id as u64, method, params));
    }
    say(&mut sim, &modern_with(r#"{"sampling":{}}"#, 10, "tools/call", r#""name":"sample""#));
    end_and_expect(&mut sim, "server_rounds_modern_undeclared");
}

#[test]
fn rounds_of_the_legacy_era() {
    let mut sim = legacy_with("2025-11-25", EVERYTHING);
    for (id, (method, params)) in ways("form").into_iter().enumerate() {
        let id = id as u64;
        say(&mut sim, &legacy(10 * id, method, &params));
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept"}}}}"#, 2 * id + 1));
        // The client cannot answer: a tool says so in its result, the others have only errors.
        say(&mut sim, &legacy(10 * id + 1, method, &params));
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":"no"}}}}"#, 2 * id + 2));
    }
    // Two questions in one round: the handler goes on when both are answered, and one refusal takes back the other.
    say(&mut sim, &legacy(40, "tools/call", r#""name":"both""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":8,"result":{"action":"accept"}}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///home"}]}}"#);
    say(&mut sim, &legacy(41, "prompts/get", r#""name":"both""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":10,"error":{"code":1,"message":"no"}}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","id":9,"result":{"roots":[]}}"#);
    assert_eq!(sim.server.counters().late_answers, 1);
    end_and_expect(&mut sim, "server_rounds_legacy");
}

#[test]
fn everything_that_can_be_asked_for_in_the_legacy_era() {
    let mut sim = legacy_with("2025-11-25", EVERYTHING);
    let answers = [
        ("visit", r#"{"action":"accept"}"#),
        ("sample", r#"{"role":"assistant","content":{"type":"text","text":"Something."},"model":"m"}"#),
        (
            "sample-with-tools",
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"dice","input":{}}],"model":"m"}"#,
        ),
        ("roots", r#"{"roots":[{"uri":"file:///home"}]}"#),
    ];
    for (number, (what, answer)) in answers.into_iter().enumerate() {
        let (method, params) = &ways(what)[number % 3];
        say(&mut sim, &legacy(10 + number as u64, method, params));
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{answer}}}"#, number + 1));
    }
    end_and_expect(&mut sim, "server_rounds_legacy_everything");
}

#[test]
fn what_a_legacy_client_or_its_revision_does_not_have_is_not_asked_for() {
    for (number, (version, capabilities)) in [
        ("2025-11-25", "{}"),
        ("2025-11-25", r#"{"elicitation":{},"sampling":{}}"#),
        ("2025-06-18", EVERYTHING),
        ("2025-03-26", EVERYTHING),
    ]
    .into_iter()
    .enumerate()
    {
        let mut sim = legacy_with(version, capabilities);
        for (id, what) in ["visit", "sample-with-tools", "form"].into_iter().enumerate() {
            let (method, params) = &ways(what)[id % 3];
            say(&mut sim, &legacy(id as u64, method, params));
        }
        end_and_expect(&mut sim, &format!("server_rounds_legacy_undeclared_{number}"));
    }
}

#[test]
fn a_handler_that_fails_is_answered_for_in_every_way_and_era() {
    let mut sim = fresh();
    for (id, what) in ["failure", "refusal", "nothing"].into_iter().enumerate() {
        for (way, (method, params)) in ways(what).into_iter().enumerate() {
            say(&mut sim, &modern((10 * id + way) as u64, method, &params));
        }
    }
    end_and_expect(&mut sim, "server_rounds_failing_modern");
    let mut sim = legacy_with("2025-11-25", EVERYTHING);
    for (id, what) in ["failure", "refusal", "nothing"].into_iter().enumerate() {
        for (way, (method, params)) in ways(what).into_iter().enumerate() {
            say(&mut sim, &legacy((10 * id + way) as u64, method, &params));
        }
    }
    end_and_expect(&mut sim, "server_rounds_failing_legacy");
}

#[test]
fn a_handler_that_is_removed_while_it_waits() {
    let mut sim = legacy_with("2025-11-25", EVERYTHING);
    for (id, (method, params)) in ways("form").into_iter().enumerate() {
        say(&mut sim, &legacy(10 + id as u64, method, &params));
    }
    let registry = sim.server.machine().registry();
    assert!(registry.remove_tool("form") && registry.remove_prompt("form") && registry.remove_resource("ask:form"));
    for id in 1..=3 {
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept"}}}}"#));
    }
    end_and_expect(&mut sim, "server_rounds_removed");
}

#[test]
fn what_is_not_offered_is_not_there() {
    let methods = [
        ("tools/list", ""),
        ("tools/call", r#""name":"a""#),
        ("resources/list", ""),
        ("resources/templates/list", ""),
        ("resources/read", r#""uri":"a:b""#),
        ("prompts/list", ""),
        ("prompts/get", r#""name":"a""#),
        ("completion/complete", r#""ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":""}"#),
        ("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#),
    ];
    let mut sim =
        Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(server_config(), Registry::new(), 1));
    say(&mut sim, &modern(1, "server/discover", ""));
    for (id, (method, params)) in methods.into_iter().enumerate() {
        say(&mut sim, &modern(10 + id as u64, method, params));
    }
    say(&mut sim, &initialize("2025-11-25"));
    for (id, (method, params)) in methods.into_iter().enumerate() {
        say(&mut sim, &legacy(20 + id as u64, method, params));
    }
    for (id, method) in [(30, "resources/subscribe"), (31, "resources/unsubscribe")] {
        say(&mut sim, &legacy(id, method, r#""uri":"a:b""#));
    }
    end_and_expect(&mut sim, "server_offers_nothing");
    // With one thing of a kind, that kind is there and no other.
    let mut registry = Registry::new();
    let template = ResourceTemplate::new("note:{name}", "note");
    assert!(registry.add_resource_template(template, reader("note:a".into(), "failure")).is_ok());
    let mut sim =
        Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(server_config(), registry, 1));
    say(&mut sim, &modern(1, "server/discover", ""));
    for (id, (method, params)) in methods.into_iter().enumerate() {
        say(&mut sim, &modern(10 + id as u64, method, params));
    }
    say(&mut sim, &initialize("2025-11-25"));
    for (id, method) in
        [(20, "resources/subscribe"), (21, "resources/unsubscribe"), (22, "resources/list"), (23, "tools/list")]
    {
        say(&mut sim, &legacy(id, method, r#""uri":"note:b""#));
    }
    end_and_expect(&mut sim, "server_offers_templates");
}
