//! What a server has of its own: methods, notifications, extensions, experiments.

use windlass::client::InputResponse;
use windlass::model::{
    CallToolResult, ElicitationComplete, ElicitationCompleteParams, EmptyParams, InputRequest, LoggingLevel,
    LoggingMessage, LoggingMessageParams, Method, Notice, ProgressParams, PromptListChanged, ResourceUpdated,
    ResourceUpdatedParams, Tool, ToolListChanged,
};
use windlass::server::{HandlerError, Invoked, Registry, Reply, ServerConfig};
use windlass::{Json, RpcError, SendError};
use windlass_sim::{Handler, InputAnswer, NetworkConditions, Script, SimServer, handler};

use crate::common::{
    META, Sim, initialize, initialize_answer, json, legacy, legacy_config, modern, say, server_config,
};
use crate::end_and_expect;

fn config() -> ServerConfig {
    let mut config = server_config();
    config.declare_extension("com.example/radar", json(r#"{"range":7}"#)).expect("a name with a domain");
    config.declare_experimental("clouds", Json::empty_object()).expect("an object");
    config
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    for (method, result) in [
        ("radar/scan", r#"{"echoes":[1,2]}"#),
        ("radar/begin", r#"{"resultType":"task","taskId":"7","_meta":{"com.example/a":1}}"#),
        ("radar/empty", "{}"),
        ("radar/wrong", "[1]"),
        // The protocol's own methods stay its own.
        ("ping", r#"{"mine":true}"#),
        ("prompts/list", r#"{"mine":true}"#),
    ] {
        registry.add_method(method, handler(move |_| Ok(Reply::Method(json(result)))));
    }
    registry.add_method("radar/fails", handler(|_| Err(HandlerError::failed("no aerial"))));
    registry.add_method(
        "radar/asks",
        handler(|context| {
            let roots = context.asking.roots("where")?;
            Ok(Reply::Method(json(&format!(r#"{{"roots":{}}}"#, roots.roots.len()))))
        }),
    );
    registry.add_method(
        "radar/repeats",
        handler(|context| match &context.invocation.request {
            Invoked::Method { params, .. } => Ok(Reply::Method(params.clone())),
            _ => Err(HandlerError::failed("this is a method")),
        }),
    );
    registry.add_tool(
        Tool::without_arguments("tells"),
        handler(|context| {
            context.notify::<Echo>(EmptyParams::default());
            context.notify::<ElicitationComplete>(ElicitationCompleteParams::new("login-7"));
            Ok(CallToolResult::text("told").into())
        }),
    );
    registry
}

/// A notification that no specification has.
struct Echo;

impl Notice for Echo {
    const NAME: &'static str = "notifications/radar/echo";
    type Params = EmptyParams;
}

fn server() -> Sim<Script, SimServer> {
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(config(), registry(), 1))
}

const METHODS: [(&str, &str); 11] = [
    ("radar/scan", ""),
    ("radar/begin", ""),
    ("radar/empty", ""),
    ("radar/wrong", ""),
    ("radar/fails", ""),
    ("radar/asks", ""),
    ("radar/repeats", r#""a":[1,{"b":2}]"#),
    ("radar/unknown", ""),
    ("prompts/list", ""),
    ("logging/setLevel", r#""level":"loud""#),
    ("ping", ""),
];

/// Nothing in the official schemas describes these methods, so nothing is recorded to be held against them.
fn own_server() -> windlass_sim::Sim<Script, SimServer> {
    windlass_sim::Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(config(), registry(), 1))
}

fn said(sim: &mut windlass_sim::Sim<Script, SimServer>, line: &str) -> serde_json::Value {
    sim.client.say(line);
    sim.settle();
    serde_json::from_str(sim.client.heard().last().expect("it says something")).expect("JSON")
}

#[test]
fn methods_of_the_modern_era() {
    let mut sim = own_server();
    let answers: Vec<_> = METHODS
        .into_iter()
        .enumerate()
        .map(|(id, (method, params))| said(&mut sim, &modern(id as u64, method, params)))
        .collect();
    assert_eq!(answers[0]["result"]["echoes"], serde_json::json!([1, 2]));
    assert_eq!(answers[0]["result"]["resultType"], "complete");
    let meta = |answer: usize| answers[answer]["result"]["_meta"].as_object().map_or(0, |meta| meta.len());
    assert_eq!((&answers[1]["result"]["resultType"], meta(1)), (&"task".into(), 2), "{}", answers[1]);
    assert_eq!((&answers[2]["result"]["resultType"], meta(2)), (&"complete".into(), 1));
    for (answer, code) in [(3, -32603), (4, -32603), (5, -32021), (7, -32601), (8, -32601), (9, -32601), (10, -32601)] {
        assert_eq!(answers[answer]["error"]["code"], code, "{}", answers[answer]);
    }
    assert_eq!(answers[6]["result"]["a"], serde_json::json!([1, {"b": 2}]));
    // Even a client that could be asked is not: in this era only tools, prompts and resources may.
    let roots = modern(20, "radar/asks", "").replace(META, &META.replace(r#"{"elicitation":{}}"#, r#"{"roots":{}}"#));
    assert_eq!(said(&mut sim, &roots)["error"]["code"], -32603);
    let discovered = said(&mut sim, &modern(21, "server/discover", ""));
    assert_eq!(discovered["result"]["capabilities"]["extensions"]["com.example/radar"]["range"], 7);
    assert!(sim.server.machine().registry().remove_method("radar/scan"));
    assert!(!sim.server.machine().registry().remove_method("radar/scan"));
    assert_eq!(said(&mut sim, &modern(22, "radar/scan", ""))["error"]["code"], -32601);
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn methods_of_the_legacy_era() {
    let mut sim = own_server();
    let refused = said(&mut sim, &legacy(0, "radar/scan", ""));
    assert_eq!(refused["error"]["code"], -32600, "not before the handshake");
    said(&mut sim, &initialize("2025-06-18").replace(r#"{"elicitation":{}}"#, r#"{"roots":{}}"#));
    let answers: Vec<_> = METHODS
        .into_iter()
        .enumerate()
        .map(|(id, (method, params))| said(&mut sim, &legacy(30 + id as u64, method, params)))
        .collect();
    assert_eq!(answers[0]["result"], serde_json::json!({"echoes": [1, 2]}));
    assert_eq!(answers[2]["result"], serde_json::json!({}));
    assert_eq!(answers[5]["method"], "roots/list");
    assert_eq!(answers[6]["result"], serde_json::json!({"a": [1, {"b": 2}]}));
    for (answer, code) in [(3, -32603), (4, -32603), (7, -32601), (8, -32601), (9, -32602)] {
        assert_eq!(answers[answer]["error"]["code"], code, "{}", answers[answer]);
    }
    assert_eq!(answers[10]["result"], serde_json::json!({}));
    let asked = said(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    assert_eq!(asked["result"], serde_json::json!({"roots": 0}));
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn what_is_declared_is_what_the_revision_has() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut sim = server();
        say(&mut sim, &initialize(version));
        end_and_expect(&mut sim, &format!("server_declares_{version}"));
    }
}

#[test]
fn a_legacy_client_is_told_what_its_revision_has() {
    let done = ElicitationCompleteParams::new("login-8");
    for (version, name) in [("2025-11-25", "server_tells_2025-11-25"), ("2025-06-18", "server_tells_2025-06-18")] {
        let mut sim = server();
        assert_eq!(sim.server.notify::<ElicitationComplete>(None, &done), Err(SendError::NotReady));
        say(&mut sim, &initialize(version).replace(r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#));
        say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let told = sim.server.notify::<ElicitationComplete>(None, &done);
        match version {
            "2025-11-25" => assert_eq!(told, Ok(())),
            _ => assert!(matches!(told, Err(SendError::NotInRevision { .. })), "{told:?}"),
        }
        assert_eq!(sim.server.notify::<ToolListChanged>(None, &EmptyParams::default()), Ok(()));
        // There are neither prompts nor resources.
        assert!(sim.server.notify::<PromptListChanged>(None, &EmptyParams::default()).is_err());
        assert!(sim.server.notify::<ResourceUpdated>(None, &ResourceUpdatedParams::new("a:b")).is_err());
        // Nobody wants to know.
        let detail = LoggingMessageParams::text(LoggingLevel::Debug, "a detail");
        assert_eq!(sim.server.notify::<LoggingMessage>(None, &detail), Ok(()));
        let progress = ProgressParams::new(7.into(), 1.0);
        let told = sim.server.notify::<windlass::model::Progress>(None, &progress);
        assert!(matches!(told, Err(SendError::Invalid(_))), "{told:?}");
        for (method, params) in [("notifications/initialized", "{}"), ("notifications/x", "[1]")] {
            assert!(sim.server.machine().notify_raw(None, method, &json(params)).is_err(), "{method}");
        }
        sim.settle();
        end_and_expect(&mut sim, name);
        assert_eq!(sim.server.notify::<ToolListChanged>(None, &EmptyParams::default()), Err(SendError::Closed));
    }
}

#[test]
fn a_request_names_whom_to_tell() {
    let mut sim = own_server();
    let answered = said(&mut sim, &modern(1, "tools/call", r#""name":"tells""#));
    assert_eq!(answered["id"], 1);
    let told: Vec<_> = sim.client.heard().iter().filter(|line| line.contains("notifications/")).cloned().collect();
    assert_eq!(told, [r#"{"jsonrpc":"2.0","method":"notifications/radar/echo"}"#], "the modern era has no other");
    said(&mut sim, &initialize("2025-11-25").replace(r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#));
    sim.client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    said(&mut sim, &legacy(2, "tools/call", r#""name":"tells""#));
    let told = sim.client.heard().iter().filter(|line| line.contains("notifications/elicitation/complete")).count();
    assert_eq!(told, 1);
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

/// A request that no specification has.
struct Tune;

impl Method for Tune {
    const NAME: &'static str = "radar/tune";
    type Params = EmptyParams;
    type Output = EmptyParams;
}

#[test]
fn a_client_answers_methods_of_its_servers_own() {
    let mut config = legacy_config();
    config.answer_method(Tune::NAME);
    let mut sim = windlass_sim::Sim::with_scripted_server(1, NetworkConditions::ideal(), config);
    sim.settle();
    sim.server.say(&initialize_answer(1, "2025-11-25"));
    sim.client.on_input(|request| match request {
        InputRequest::Other { method, params } => {
            assert_eq!((method.as_str(), params.as_ref().map(Json::as_str)), (Tune::NAME, Some(r#"{"to":4}"#)));
            InputAnswer::Now(Ok(InputResponse::Other(json(r#"{"tuned":true}"#))))
        }
        _ => InputAnswer::Now(Err(RpcError::internal("nothing else was asked for"))),
    });
    sim.settle();
    sim.server.say(r#"{"jsonrpc":"2.0","id":1,"method":"radar/tune","params":{"to":4}}"#);
    sim.settle();
    assert_eq!(sim.server.heard().last().unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{"tuned":true}}"#);
    // What the program does not answer is refused without it.
    sim.server.say(r#"{"jsonrpc":"2.0","id":2,"method":"radar/off","params":{}}"#);
    sim.settle();
    assert!(sim.server.heard().last().unwrap().contains("-32601"));
    sim.client.close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_server_calls_methods_of_its_clients_own() {
    let mut sim = own_server();
    said(&mut sim, &initialize("2025-03-26"));
    sim.client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    sim.settle();
    let call = sim.server.call::<Tune>(&EmptyParams::default()).expect("any method may be called");
    sim.settle();
    said(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{"tuned":true}}"#);
    assert_eq!(sim.server.outcome(call), Some(&Ok(json(r#"{"tuned":true}"#))));
}
