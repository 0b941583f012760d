//! A server machine with a small program around it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use windlass::auth::{Principal, TokenRejected, VerifyReply};
use windlass::client::CallOptions;
use windlass::link::AnyServer;
use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::link::stdio::StdioServer;
use windlass::model::{LoggingLevel, LoggingMessageParams, Method, Notice};
use windlass::server::{
    Asking, HandlerError, Invocation, Invoked, Registry, Reply, ReplyTo, ServerConfig, ServerEvent,
};
use windlass::{
    CallError, CloseReason, ConnId, Counters, Instant, Json, Machine, Output, RequestKey, RpcError, Secret, Seed,
    SendError, earliest,
};

use crate::party::{Log, Party, Want, machine_as_party};

/// A handler: a plain function, run in no time. What it "takes" is virtual; see [`SimContext::take`].
pub type Handler = Rc<dyn Fn(&mut SimContext<'_>) -> Result<Reply, HandlerError>>;

/// Who says whose a token is: a plain function, run in no time, or after the time that it says.
type Verifier = Rc<dyn Fn(&str) -> (Duration, Result<Principal, TokenRejected>)>;

/// The machine that a [`SimServer`] runs.
pub type ServerMachine = AnyServer<u64, Handler>;

/// Makes a handler of a function.
///
/// ```
/// use std::time::Duration;
/// use windlass::model::{CallToolResult, Tool};
/// use windlass::server::Registry;
/// use windlass_sim::handler;
///
/// let mut registry = Registry::new();
/// registry.add_tool(Tool::without_arguments("slow"), handler(|context| {
///     context.progress(1.0, Some(2.0));
///     context.take(Duration::from_secs(20));
///     Ok(CallToolResult::text("done").into())
/// }));
/// ```
pub fn handler(run: impl Fn(&mut SimContext<'_>) -> Result<Reply, HandlerError> + 'static) -> Handler {
    Rc::new(run)
}

/// What a handler works with.
pub struct SimContext<'a> {
    /// What the client wants.
    pub invocation: &'a Invocation,
    /// Asks the client for input.
    pub asking: Asking,
    elapsed: Duration,
    actions: Vec<(Duration, Action)>,
}

enum Action {
    Progress { progress: f64, total: Option<f64> },
    Log(LoggingMessageParams),
    Server(Box<dyn FnOnce(&mut ServerMachine)>),
    Answer(ReplyTo, Result<Reply, RpcError>),
}

impl SimContext<'_> {
    /// Lets virtual time pass: whatever the handler does next happens that much later. If the request is cancelled
    /// meanwhile, it does not happen.
    pub fn take(&mut self, time: Duration) {
        self.elapsed += time;
    }

    /// Reports progress.
    pub fn progress(&mut self, progress: f64, total: Option<f64>) {
        self.act(Action::Progress { progress, total });
    }

    /// Logs a text to the client.
    pub fn log(&mut self, level: LoggingLevel, text: &str) {
        self.act(Action::Log(LoggingMessageParams::text(level, text)));
    }

    /// Tells the client of the request something.
    pub fn notify<N: Notice>(&mut self, params: N::Params)
    where
        N::Params: 'static,
    {
        let key = self.invocation.key;
        self.server(move |server| drop(server.notify_raw(Some(key), N::NAME, &params)));
    }

    /// Does something with the server: changes its registry, announces a resource.
    pub fn server(&mut self, act: impl FnOnce(&mut ServerMachine) + 'static) {
        self.act(Action::Server(Box::new(act)));
    }

    /// The arguments of the tool that is called, an empty object if it is no tool.
    pub fn arguments(&self) -> Json {
        match &self.invocation.request {
            Invoked::Tool { arguments, .. } => arguments.clone(),
            _ => Json::empty_object(),
        }
    }

    fn act(&mut self, action: Action) {
        self.actions.push((self.elapsed, action));
    }
}

/// A server with a program that runs handlers and remembers what became of them.
///
/// Requests that reach a handler are numbered from 1, as are calls of the server's own.
pub struct SimServer {
    machine: ServerMachine,
    conn: Option<ConnId>,
    now: Instant,
    requests: BTreeMap<RequestKey, u64>,
    next_request: u64,
    cancelled: Vec<u64>,
    scheduled: BTreeMap<(Instant, u64), (RequestKey, Action)>,
    verifier: Option<Verifier>,
    verifications: BTreeMap<(Instant, u64), (VerifyReply, Result<Principal, TokenRejected>)>,
    verified: u64,
    next_action: u64,
    calls: u64,
    outcomes: BTreeMap<u64, Result<Json, CallError>>,
    closed: Option<CloseReason>,
}

impl SimServer {
    /// A server whose key material is drawn from `seed`.
    pub fn new(config: ServerConfig, registry: Registry<Handler>, seed: u64) -> Self {
        Self::of(StdioServer::new(config, registry, &Seed::from_number(seed), Instant::ZERO).into())
    }

    /// The same behind an endpoint of HTTP, for an [`HttpSim`](crate::HttpSim). Such a server has many clients and
    /// calls none of them; its handlers ask for input.
    pub fn over_http(config: ServerConfig, http: HttpServerConfig, registry: Registry<Handler>, seed: u64) -> Self {
        Self::of(HttpServer::new(config, http, registry, &Seed::from_number(seed), Instant::ZERO).into())
    }

    fn of(machine: ServerMachine) -> Self {
        Self {
            machine,
            conn: None,
            now: Instant::ZERO,
            requests: BTreeMap::new(),
            next_request: 1,
            cancelled: Vec::new(),
            scheduled: BTreeMap::new(),
            verifier: None,
            verifications: BTreeMap::new(),
            verified: 0,
            next_action: 0,
            calls: 0,
            outcomes: BTreeMap::new(),
            closed: None,
        }
    }

    /// Says whose the tokens are that clients show, if the server is
    /// [protected](HttpServerConfig::authorization), and how long that takes.
    #[must_use]
    pub fn verified_by(
        self,
        verifier: impl Fn(&str) -> (Duration, Result<Principal, TokenRejected>) + 'static,
    ) -> Self {
        Self { verifier: Some(Rc::new(verifier)), ..self }
    }

    /// How many tokens were asked about.
    pub fn verified(&self) -> u64 {
        self.verified
    }

    /// Calls the client; the number of the call, or why it was refused.
    pub fn call<M: Method>(&mut self, params: &M::Params) -> Result<u64, SendError> {
        let token = self.calls + 1;
        match self.machine.call_raw(M::NAME, params, &CallOptions::new(), token, self.now) {
            Ok(_) => {
                self.calls = token;
                Ok(token)
            }
            Err(refused) => Err(refused.why),
        }
    }

    /// Tells the client of a request something, or legacy clients if none is named; why not, if that cannot be.
    pub fn notify<N: Notice>(&mut self, request: Option<RequestKey>, params: &N::Params) -> Result<(), SendError> {
        self.machine.notify_raw(request, N::NAME, params)
    }

    /// How a call to the client ended, if it has.
    pub fn outcome(&self, call: u64) -> Option<&Result<Json, CallError>> {
        self.outcomes.get(&call)
    }

    /// The requests that were cancelled before they were answered.
    pub fn cancelled(&self) -> &[u64] {
        &self.cancelled
    }

    /// How many requests have reached a handler.
    pub fn requests(&self) -> u64 {
        self.next_request - 1
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.machine.close(self.now);
    }

    /// Why the connection is over, if it is.
    pub fn closed(&self) -> Option<&CloseReason> {
        self.closed.as_ref()
    }

    /// What was ignored so far. A server over HTTP does not count.
    pub fn counters(&self) -> Counters {
        match &self.machine {
            AnyServer::Stdio(machine) => machine.counters(),
            AnyServer::Http(_) => Counters::default(),
        }
    }

    /// How many legacy sessions there are over HTTP.
    pub fn sessions(&self) -> usize {
        match &self.machine {
            AnyServer::Stdio(_) => 0,
            AnyServer::Http(machine) => machine.sessions(),
        }
    }

    /// The machine itself: its registry, log messages, updates of resources.
    pub fn machine(&mut self) -> &mut ServerMachine {
        &mut self.machine
    }

    /// Asks the verifier; without one it takes for ever.
    fn verify(&mut self, reply: VerifyReply, token: &str) {
        self.verified += 1;
        let Some(verifier) = &self.verifier else { return };
        let (takes, outcome) = verifier(token);
        self.verifications.insert((self.now + takes, self.verified), (reply, outcome));
        self.act_on_what_is_due();
    }

    fn act_on_what_is_due(&mut self) {
        while let Some(entry) = self.verifications.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (reply, outcome) = entry.remove();
            self.machine.verified(reply, outcome, self.now);
        }
        while let Some(entry) = self.scheduled.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (key, action) = entry.remove();
            match action {
                Action::Progress { progress, total } => self.machine.progress(key, progress, total, None),
                Action::Log(message) => self.machine.log(Some(key), &message),
                Action::Server(act) => act(&mut self.machine),
                Action::Answer(reply, outcome) => self.machine.respond(reply, outcome, self.now),
            }
        }
    }

    /// Runs a handler, and schedules what it does.
    fn run(&mut self, reply: ReplyTo, handler: &Handler, invocation: &Invocation) {
        let key = reply.key();
        let mut context =
            SimContext { invocation, asking: Asking::new(invocation), elapsed: Duration::ZERO, actions: Vec::new() };
        let outcome = handler(&mut context);
        let SimContext { asking, elapsed, mut actions, .. } = context;
        let outcome = outcome.or_else(|error| error.into_outcome(&invocation.request, asking));
        actions.push((elapsed, Action::Answer(reply, outcome)));
        for (wait, action) in actions {
            self.scheduled.insert((self.now + wait, self.next_action), (key, action));
            self.next_action += 1;
        }
        self.act_on_what_is_due();
    }

    fn number_of(&mut self, key: RequestKey) -> u64 {
        let next = &mut self.next_request;
        *self.requests.entry(key).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    fn stopped(&mut self, key: RequestKey) -> String {
        self.scheduled.retain(|_, (of, _)| *of != key);
        match self.requests.get(&key) {
            Some(&number) => {
                self.cancelled.push(number);
                format!("request {number} cancelled")
            }
            None => "a request cancelled that no handler had seen".into(),
        }
    }

    /// Takes care of what has happened, until the machine wants something of its driver.
    pub(crate) fn next_want(&mut self, log: &mut Log<'_>) -> Want {
        self.act_on_what_is_due();
        loop {
            let seen = match self.machine.poll() {
                Output::Open { conn, .. } => return Want::Open(conn, None),
                Output::Close(conn) => return Want::Close(conn),
                Output::Idle { deadline } => {
                    let action = self.scheduled.first_key_value().map(|((at, _), _)| *at);
                    let verification = self.verifications.first_key_value().map(|((at, _), _)| *at);
                    return Want::Rest(earliest(deadline, earliest(action, verification)));
                }
                Output::Event(event) => {
                    assert!(self.closed.is_none(), "nothing comes after `Closed`");
                    seen(event)
                }
            };
            match seen {
                Seen::Text(text) => log.saw(text.trim_end()),
                Seen::Invoke(reply, handler, invocation) => {
                    let number = self.number_of(reply.key());
                    log.saw(&format!("request {number} for {}", described(&invocation.request)));
                    self.run(reply, &handler, &invocation);
                }
                Seen::Verify(reply, token) => {
                    // The token does not belong in a transcript.
                    log.saw(&format!("token {} to be verified", reply.number()));
                    self.verify(reply, token.expose());
                }
                Seen::Cancelled(key) => {
                    let text = self.stopped(key);
                    log.saw(&text);
                }
                Seen::Completed(call, outcome) => {
                    match &outcome {
                        Ok(result) => log.saw(&format!("call {call} completed {result}")),
                        Err(error) => log.saw(&format!("call {call} failed: {error}")),
                    }
                    let before = self.outcomes.insert(call, outcome);
                    assert!(before.is_none(), "call {call} completed twice");
                }
                Seen::Closed(reason) => {
                    assert_eq!(self.outcomes.len() as u64, self.calls, "every call completes before `Closed`");
                    self.scheduled.clear();
                    self.verifications.clear();
                    log.saw(&format!("closed: {reason}"));
                    self.closed = Some(reason);
                }
            }
        }
    }
}

/// An event without its borrows.
enum Seen {
    Text(String),
    Invoke(ReplyTo, Handler, std::sync::Arc<Invocation>),
    Verify(VerifyReply, Secret),
    Cancelled(RequestKey),
    Completed(u64, Result<Json, CallError>),
    Closed(CloseReason),
}

fn seen(event: ServerEvent<'_, u64, Handler>) -> Seen {
    match event {
        ServerEvent::Initialized(caller) => {
            let name = caller.info.as_ref().map_or("a client without a name", |info| &info.name);
            Seen::Text(format!("initialized, {} with {name}", caller.version))
        }
        ServerEvent::Invoke { reply, handler, invocation } => Seen::Invoke(reply, handler, invocation),
        ServerEvent::Verify { reply, token } => Seen::Verify(reply, token),
        ServerEvent::Cancelled(key) => Seen::Cancelled(key),
        ServerEvent::Completed { token, outcome, .. } => Seen::Completed(token, outcome.map(|result| result.to_json())),
        ServerEvent::Notification { method, params } => {
            Seen::Text(format!("told {method} {}", params.as_ref().map_or("", |params| params.as_str())))
        }
        ServerEvent::Malformed(malformed) => Seen::Text(format!("malformed: {malformed}")),
        ServerEvent::Closed(reason) => Seen::Closed(reason),
        _ => Seen::Text("something else".into()),
    }
}

fn described(request: &Invoked) -> String {
    match request {
        Invoked::Tool { name, arguments } => format!("tool {name} {arguments}"),
        Invoked::Resource { uri, .. } => format!("resource {uri}"),
        Invoked::Prompt { name, .. } => format!("prompt {name}"),
        Invoked::Completion(params) => format!("completion of {}", params.argument.name),
        Invoked::Method { method, params } => format!("method {method} {params}"),
        _ => "something else".into(),
    }
}

impl Party for SimServer {
    machine_as_party!(AnyServer, scheduled);
}
