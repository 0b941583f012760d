//! A program that is a server, whatever the server is on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use windlass::client::{CallId, CallOptions, KeepAliveConfig};
use windlass::link::AnyServer;
use windlass::model::{
    CallToolResult, CompleteResult, ElicitFormParams, GetPromptResult, Implementation, LoggingLevel,
    LoggingMessageParams, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceTemplate,
    StringSchema, Tool,
};
use windlass::server::{
    Asking, HandlerError, Invocation, Invoked, Registry, Reply, ReplyTo, ServerConfig, ServerEvent,
};
use windlass::{Instant, Json, JsonText, RequestKey, RpcError};

use crate::rig::{Rig, World};
use crate::tape::Step;

pub type Server = AnyServer<u32, Handler>;

/// What a handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// Answers at once.
    Quick,
    /// Answers when the tape says so.
    Slow,
    /// Asks the client first, twice.
    Asks,
    /// Fails.
    Fails,
}

/// What a program does, and what time and the network do to it. `R` answers a request, `P` reports progress on one, `V` logs,
/// `U` tells that a resource has changed, `A` changes what is offered, `C` calls the client and `X` gives that up, `I`
/// interrupts a request's stream, `Q` closes; `T` lets time pass and `J` jump; `K` says how many bytes go in at once, `D` how
/// many come out; `Z` whether the driver is lazy.
pub const LETTERS: &[u8] = b"RPVUACXIQTJKDZ";

/// Longer than any call may take, and any wait for input.
const QUIET: Duration = Duration::from_secs(100);

/// Longer than anything may take.
const FOR_EVER: Duration = Duration::from_secs(100_000);

#[derive(Default)]
pub struct Program {
    /// What is to be answered at once.
    due: Vec<(ReplyTo, Handler, Arc<Invocation>)>,
    waiting: Vec<(ReplyTo, Handler, Arc<Invocation>)>,
    keys: BTreeSet<RequestKey>,
    open: BTreeMap<u32, CallId>,
    calls: u32,
    added: u32,
    pub cancelled: u32,
    pub rounds: u32,
}

/// A world with such a program in it.
pub trait Inhabited: World<Server> {
    fn program(&mut self) -> &mut Program;
}

/// A server that puts up with little.
pub fn config(choice: u8) -> ServerConfig {
    let mut config = ServerConfig::new(Implementation::new("s", "1"));
    config.page_size = 2;
    config.input_timeout = Duration::from_secs(10);
    config.state_lifetime = Duration::from_secs(60);
    config.logging = choice & 1 == 0;
    if choice & 2 != 0 {
        config.keep_alive = Some(KeepAliveConfig::every(Duration::from_secs(20)));
    }
    config.limits.message_bytes = 2048;
    config.limits.pending_calls = 4;
    config.limits.incoming_requests = 6;
    config.limits.input_rounds = 3;
    config.limits.batch_entries = 4;
    config.limits.subscriptions = 3;
    config.limits.outbox_soft_bytes = 8 * 1024;
    config.limits.outbox_hard_bytes = 16 * 1024;
    config
}

pub fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    registry.add_tool(Tool::without_arguments("quick"), Handler::Quick);
    registry.add_tool(Tool::without_arguments("slow"), Handler::Slow);
    registry.add_tool(Tool::without_arguments("asks"), Handler::Asks);
    registry.add_tool(Tool::without_arguments("fails"), Handler::Fails);
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
    registry.add_tool(Tool::new("mirrored", Json::parse(schema).expect("our own JSON")), Handler::Quick);
    registry.add_resource(Resource::new("file:///a", "a"), Handler::Quick);
    let added = registry.add_resource_template(ResourceTemplate::new("file:///n/{name}", "n"), Handler::Slow);
    assert!(added.is_ok());
    registry.add_prompt(Prompt::new("p").with_argument(PromptArgument::required("a")), Handler::Asks);
    registry.add_prompt_completion("p", "a", Handler::Quick);
    registry
}

/// What every request of the modern era says of its client.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":1,"io.modelcontextprotocol/logLevel":"info"}"#;

/// What a client might say.
pub const WORDS: [&str; 30] = [
    r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"quick","arguments":{"a":1}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"p"}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"asks"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"fails"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"quick",{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"slow",{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"asks",{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{"cursor":"2"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{"uri":"file:///n/x"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{"uri":"file:///a",{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"prompts/get","params":{"name":"p","arguments":{"a":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]},{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{"uri":"file:///a"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"logging/setLevel","params":{"level":"debug"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{id}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"action":"accept","content":{"name":"Ada"}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"roots":[]}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":7}"#,
    r#"[{"jsonrpc":"2.0","id":{id},"method":"ping"},{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"slow"}},7]"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"unknown/method","params":{{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"asks","inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}},"requestState":"{state}",{meta}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"asks","inputResponses":{"seat":{"action":"decline"},"name":{"action":"cancel"}},"requestState":"{state}",{meta}}}"#,
];

/// One of these words, with an id and the state that the server wants back.
pub fn word(which: u64, id: i64, state: &str) -> String {
    let word = WORDS[which as usize % WORDS.len()].replace("{meta}", META);
    word.replace("{id}", &id.to_string()).replace("{state}", state)
}

/// The state in a result that wants it back.
pub fn state_of(result: &str) -> Option<String> {
    let (_, state) = result.split_once(r#""requestState":""#)?;
    Some(state.split('"').next()?.to_owned())
}

/// Does what a step says, if it is one of a program's.
pub fn play<W: Inhabited>(step: &Step<'_>, rig: &mut Rig<Server>, world: &mut W) {
    let now = rig.now;
    let number = step.number();
    let at = number as usize;
    match step.letter {
        b'R' => {
            let waiting = &mut world.program().waiting;
            if !waiting.is_empty() {
                let (reply, _, invocation) = waiting.remove(at % waiting.len());
                rig.machine.respond(reply, outcome(Handler::Quick, &invocation), now);
            }
        }
        b'P' => {
            if let Some(key) = world.program().key(at) {
                rig.machine.progress(key, number as f64 / 4.0, Some(64.0), Some("so far"));
            }
        }
        b'V' => {
            let key = world.program().key(at).filter(|_| at % 2 == 0);
            let level = [LoggingLevel::Debug, LoggingLevel::Info, LoggingLevel::Error][at % 3];
            rig.machine.log(key, &LoggingMessageParams::text(level, "news"));
        }
        b'U' => rig.machine.resource_updated(if at % 2 == 0 { "file:///a" } else { "file:///b" }),
        b'A' => {
            let program = world.program();
            program.added += 1;
            let name = format!("t{}", program.added % 4);
            let registry = rig.machine.registry();
            match number % 4 {
                0 => registry.add_tool(Tool::without_arguments(name), Handler::Slow),
                1 => drop(registry.remove_tool(&name)),
                2 => registry.add_prompt(Prompt::new(name), Handler::Quick),
                _ => drop(registry.remove_resource("file:///a")),
            }
        }
        b'C' => {
            let calls = [
                ("ping", "{}"),
                ("roots/list", "{}"),
                ("elicitation/create", r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#),
            ];
            let (method, params) = *step.choose(&calls);
            let params = JsonText::parse(params).expect("the table's own JSON");
            let program = world.program();
            program.calls += 1;
            let token = program.calls;
            match rig.machine.call_raw(method, &params, &CallOptions::new(), token, now) {
                Ok(call) => drop(program.open.insert(token, call)),
                Err(refused) => assert_eq!(refused.token, token, "the token is given back"),
            }
        }
        b'X' => {
            let open = &world.program().open;
            if !open.is_empty() {
                let call = *open.values().nth(at % open.len()).expect("it is one of them");
                rig.machine.cancel(call, "why not");
            }
        }
        b'I' => {
            if let Some(key) = world.program().key(at) {
                rig.machine.interrupt(key);
            }
        }
        b'Q' => rig.machine.close(now),
        b'T' => return rig.pass(Duration::from_millis(number), world),
        b'J' => return rig.jump(Duration::from_millis(number), world),
        b'K' => rig.chunk = at.max(1),
        b'D' => rig.thirst = at,
        b'Z' => rig.lazy = number % 2 == 1,
        _ => {}
    }
    rig.rest(world);
}

/// The handlers answer and the clients fall silent: every call completes.
pub fn quieten<W: Inhabited>(rig: &mut Rig<Server>, world: &mut W) {
    rig.lazy = false;
    rig.thirst = usize::MAX;
    rig.settle(world);
    // What was behind something else on its connection comes when that is over.
    loop {
        answer_everything(rig, world);
        rig.pass(QUIET, world);
        if world.program().waiting.is_empty() {
            break;
        }
    }
    assert!(world.program().open.is_empty(), "every call completes");
}

/// The server closes, and nothing is left.
pub fn finish<W: Inhabited>(mut rig: Rig<Server>, mut world: W) {
    rig.machine.close(rig.now);
    rig.pass(FOR_EVER, &mut world);
    let idle = rig.machine.is_idle();
    rig.nothing_left(idle);
}

fn answer_everything<W: Inhabited>(rig: &mut Rig<Server>, world: &mut W) {
    while let Some((reply, _, invocation)) = world.program().waiting.pop() {
        rig.machine.respond(reply, outcome(Handler::Quick, &invocation), rig.now);
        rig.settle(world);
    }
}

/// What a handler says.
fn outcome(handler: Handler, invocation: &Invocation) -> Result<Reply, RpcError> {
    match handler {
        Handler::Quick | Handler::Slow => Ok(match &invocation.request {
            Invoked::Tool { arguments, .. } => CallToolResult::text(arguments.as_str()).into(),
            Invoked::Resource { uri, .. } => ReadResourceResult::text(uri, "text").into(),
            Invoked::Prompt { arguments, .. } => {
                GetPromptResult::new([PromptMessage::user(format!("{arguments:?}"))]).into()
            }
            _ => CompleteResult::new(["a", "b"]).into(),
        }),
        Handler::Fails => Err(RpcError::internal("no")),
        Handler::Asks => {
            let mut asking = Asking::new(invocation);
            match ask(&mut asking) {
                Ok(()) => outcome(Handler::Quick, invocation),
                Err(error) => error.into_outcome(&invocation.request, asking),
            }
        }
    }
}

fn ask(asking: &mut Asking) -> Result<(), HandlerError> {
    let form = ElicitFormParams::new("Who?").with_required_property("name", StringSchema::new());
    asking.elicit("name", form)?;
    asking.keep(&"half way")?;
    asking.elicit("seat", ElicitFormParams::new("Where?"))?;
    Ok(())
}

impl Program {
    /// One of the requests that handlers know.
    fn key(&self, at: usize) -> Option<RequestKey> {
        if self.keys.is_empty() { None } else { self.keys.iter().nth(at % self.keys.len()).copied() }
    }

    pub fn told(&mut self, event: ServerEvent<'_, u32, Handler>) -> bool {
        match event {
            ServerEvent::Invoke { reply, handler, invocation } => {
                assert_eq!(reply.key(), invocation.key);
                self.keys.insert(invocation.key);
                self.rounds += u32::from(!invocation.inputs.is_empty());
                match handler {
                    Handler::Slow => self.waiting.push((reply, handler, invocation)),
                    _ => self.due.push((reply, handler, invocation)),
                }
            }
            ServerEvent::Cancelled(key) => {
                assert!(self.keys.contains(&key), "only what a handler knows is cancelled");
                self.cancelled += 1;
            }
            ServerEvent::Completed { call, token, .. } => {
                assert_eq!(self.open.remove(&token), Some(call), "a call completes once");
            }
            ServerEvent::Closed(_) => {
                assert!(self.open.is_empty(), "the last event comes behind every call's completion");
                return true;
            }
            _ => {}
        }
        false
    }

    pub fn act(&mut self, server: &mut Server, now: Instant) {
        for (reply, handler, invocation) in self.due.drain(..) {
            server.respond(reply, outcome(handler, &invocation), now);
        }
    }
}
