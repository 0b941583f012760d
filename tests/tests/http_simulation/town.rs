//! A server, the clients that live around it, and what they say to each other. Every word carries the name of the client
//! that it is for, so that a word that reaches somebody else is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use windlass::client::{CallOptions, ClientConfig, Negotiation};
use windlass::link::http::{HttpClientConfig, HttpServerConfig};
use windlass::model::{
    CallTool, CallToolParams, CallToolResult, ClientCapabilities, ElicitContent, ElicitFormParams, ElicitResult,
    Implementation, ProtocolVersion, ReadResourceResult, Resource, StringSchema, Tool,
};
use windlass::server::{HandlerError, Registry, Reply, ServerConfig};
use windlass::{Json, SendError};
use windlass_sim::{
    Handler, HttpSim, InputAnswer, NetworkConditions, Side, SimClientId, SimContext, SimServer, handler,
};
use windlass_tests::wires::{Direction, Speaker, Wire};

pub(crate) const TOOLS: [&str; 4] = ["echo", "late", "steps", "ask"];

/// How clients find out what the server speaks.
pub(crate) const ERAS: [Negotiation; 6] = [
    Negotiation::Automatic,
    Negotiation::Legacy,
    Negotiation::Pinned(ProtocolVersion::V2025_03_26),
    Negotiation::Pinned(ProtocolVersion::V2025_06_18),
    Negotiation::Pinned(ProtocolVersion::V2025_11_25),
    Negotiation::Pinned(ProtocolVersion::V2026_07_28),
];

const WIRE: Wire = Wire { source: "http simulation", client: Speaker::Ours, server: Speaker::Ours };

pub(crate) struct Town {
    sim: HttpSim,
    /// The calls of tools, by client and number, with the answer that each has to get.
    expected: BTreeMap<(SimClientId, u64), String>,
    names: BTreeMap<SimClientId, String>,
    /// Clients whose answers may be spoilt on their way, as nothing over HTTP notices.
    pub(crate) spoilt: BTreeSet<SimClientId>,
}

impl Town {
    pub(crate) fn new(seed: u64, conditions: NetworkConditions, http: HttpServerConfig) -> Self {
        // What is spoilt is answered with who knows what.
        let is_recorded = conditions.faults.corrupted == 0;
        let mut sim = HttpSim::new(seed, conditions, server(seed, http));
        if let Some(mut recording) = WIRE.http_recording().filter(|_| is_recorded) {
            sim.tap(move |connection, side, bytes| {
                let direction = if side == Side::Client { Direction::ToServer } else { Direction::ToClient };
                recording.take(connection, direction, bytes).expect("the wire can be recorded");
            });
        }
        Self { sim, expected: BTreeMap::new(), names: BTreeMap::new(), spoilt: BTreeSet::new() }
    }

    /// A client that answers every question with its name.
    pub(crate) fn settle_in(&mut self, name: &str, negotiation: Negotiation, http: HttpClientConfig) -> SimClientId {
        let mut config = ClientConfig::new(Implementation::new(name, "1"));
        config.capabilities = ClientCapabilities::new().with_form_elicitation().with_roots(true);
        config.negotiation = negotiation;
        config.idle_timeout = Duration::from_secs(30);
        let client = self.sim.add_client(name, config, http);
        self.names.insert(client, name.to_owned());
        let name = name.to_owned();
        self.sim[client].on_input(move |_| {
            let mut content = ElicitContent::new();
            content.insert("name", &name).expect("a name is JSON");
            InputAnswer::After(Duration::from_millis(50), Ok(ElicitResult::accept(content).into()))
        });
        client
    }

    /// Calls a tool, and notes the answer that is to come.
    pub(crate) fn call(&mut self, client: SimClientId, tool: &str) -> Result<u64, SendError> {
        let name = &self.names[&client];
        let number = self.sim[client].calls() + 1;
        let arguments = Json::from(serde_json::json!({"name": name, "number": number}));
        let params = CallToolParams::new(tool).with_arguments(arguments);
        // What the handlers take fits into this several times.
        let options = CallOptions::new().idle_timeout(Duration::from_secs(120));
        let call = self.sim[client].call_with::<CallTool>(&params, &options)?;
        self.expected.insert((client, call), answer(tool, name, number));
        Ok(call)
    }

    /// What a call has come to: nothing yet, its own answer, or what went wrong.
    #[track_caller]
    pub(crate) fn outcome(&self, client: SimClientId, call: u64) -> Option<Result<(), String>> {
        let expected = self.expected.get(&(client, call));
        Some(match (self.sim[client].outcome(call)?, expected) {
            (Err(error), _) => Err(error.to_string()),
            (Ok(_), None) => Ok(()),
            (Ok(_), Some(_)) if self.spoilt.contains(&client) => Ok(()),
            (Ok(result), Some(expected)) => {
                let result: CallToolResult = result.decode().expect("the result of a tool");
                let text = result.text_content();
                if result.is_error == Some(true) {
                    return Some(Err(text));
                }
                assert_eq!(&text, expected, "{}", self.sim.transcript());
                Ok(())
            }
        })
    }

    /// Whether a client can be asked for input: a revision that knows of that came of its handshake.
    pub(crate) fn can_ask(&self, client: SimClientId) -> bool {
        self.sim[client].peer().is_some_and(|peer| peer.version >= ProtocolVersion::V2025_06_18)
    }

    pub(crate) fn is_of_tool(&self, client: SimClientId, call: u64) -> bool {
        self.expected.contains_key(&(client, call))
    }

    /// Runs until every call of a tool is over; false if that never happens.
    pub(crate) fn run_until_answered(&mut self) -> bool {
        let Self { sim, expected, .. } = self;
        sim.run_until(|sim| expected.keys().all(|(client, call)| sim[*client].outcome(*call).is_some()))
    }

    /// Looks at every call, also those that are not of tools: each is over, with its own answer or an error. How many have
    /// an answer, and how many an error.
    #[track_caller]
    pub(crate) fn count_outcomes(&self) -> [u64; 2] {
        let mut counts = [0; 2];
        for client in self.sim.clients() {
            for call in 1..=self.sim[client].calls() {
                let outcome = self.outcome(client, call);
                let outcome = outcome.unwrap_or_else(|| panic!("call {call} is open:\n{}", self.sim.transcript()));
                self.check_updates(client, call, outcome.is_ok());
                counts[usize::from(outcome.is_err())] += 1;
            }
        }
        counts
    }

    /// Progress goes forward, reaches only who asked for it, and is complete when the answer is there.
    #[track_caller]
    fn check_updates(&self, client: SimClientId, call: u64, is_answered: bool) {
        let Some(expected) = self.expected.get(&(client, call)).filter(|_| !self.spoilt.contains(&client)) else {
            return;
        };
        let updates = self.sim[client].updates(call);
        for (update, step) in updates.iter().zip(1..) {
            let said = format!(r#""progress":{step},"total":3"#);
            assert!(update.starts_with("progress ") && update.contains(&said), "call {call}: {updates:?}");
        }
        let most = if expected.starts_with("steps ") { 3 } else { 0 };
        assert!(updates.len() <= most, "call {call}: {updates:?}\n{}", self.sim.transcript());
        assert!(!is_answered || updates.len() == most, "call {call}: {updates:?}\n{}", self.sim.transcript());
    }

    /// Closes every client, waits until all is quiet, and sees that nothing is left.
    #[track_caller]
    pub(crate) fn close(&mut self) {
        for client in self.sim.clients() {
            self.sim[client].close();
        }
        self.sim.run_until_idle();
        for client in self.sim.clients() {
            assert!(self.sim[client].closed().is_some(), "{}", self.sim.transcript());
        }
        self.sim.assert_nothing_left();
    }
}

impl Deref for Town {
    type Target = HttpSim;

    fn deref(&self) -> &HttpSim {
        &self.sim
    }
}

impl DerefMut for Town {
    fn deref_mut(&mut self) -> &mut HttpSim {
        &mut self.sim
    }
}

/// Where the server is.
pub(crate) fn address() -> HttpClientConfig {
    HttpClientConfig::new("http://localhost/mcp").expect("an address")
}

pub(crate) fn server(seed: u64, http: HttpServerConfig) -> SimServer {
    let mut config = ServerConfig::new(Implementation::new("server", "1"));
    config.input_timeout = Duration::from_secs(60);
    SimServer::over_http(config, http, registry(), seed)
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    registry.add_tool(Tool::without_arguments("echo"), handler(|context| said(context, "echo", None)));
    registry.add_tool(
        Tool::without_arguments("late"),
        handler(|context| {
            // Long enough for a stream to begin, and for a heartbeat.
            context.take(Duration::from_secs(16));
            said(context, "late", None)
        }),
    );
    registry.add_tool(
        Tool::without_arguments("steps"),
        handler(|context| {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0));
                context.take(Duration::from_secs(1));
            }
            said(context, "steps", None)
        }),
    );
    registry.add_tool(
        Tool::without_arguments("ask"),
        handler(|context| {
            let form = ElicitFormParams::new("Who are you?").with_required_property("name", StringSchema::new());
            let reply = context.asking.elicit("name", form)?;
            let content = serde_json::to_value(&reply.content).unwrap_or_default();
            said(context, "ask", Some(content["name"].as_str().unwrap_or_default().to_owned()))
        }),
    );
    registry.add_resource(
        Resource::new("file:///a", "a"),
        handler(|_| Ok(ReadResourceResult::text("file:///a", "a").into())),
    );
    registry
}

/// What a handler says: to whom, which of its calls, and who answered its question.
fn said(context: &SimContext<'_>, tool: &str, asked: Option<String>) -> Result<Reply, HandlerError> {
    let arguments: serde_json::Value = context.arguments().decode().unwrap_or_default();
    let (name, number) = (arguments["name"].as_str().unwrap_or_default(), arguments["number"].as_u64());
    let asked = asked.unwrap_or_else(|| name.to_owned());
    Ok(CallToolResult::text(format!("{tool} {} {name} {asked}", number.unwrap_or_default())).into())
}

fn answer(tool: &str, name: &str, number: u64) -> String {
    format!("{tool} {number} {name} {name}")
}
