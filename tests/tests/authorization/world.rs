//! Everything that a client may meet on its way to a token, in virtual time: what it asks for takes as long as the test says,
//! in the order that a seed says.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use windlass::auth::{
    AuthConfig, AuthError, AuthPrompt, AuthStore, Grant, MemoryStore, Redirected, StoreError, StoreOperation,
    StoreOutcome,
};
use windlass::client::{CallOptions, ClientConfig, ClientEvent, Negotiation, StoreReply};
use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges, HttpRequest};
use windlass::model::{CallTool, CallToolParams, Implementation};
use windlass::{
    CallError, CloseReason, ConnError, ConnErrorKind, ConnId, Instant, Json, Machine, NegotiationError, Output, Seed,
    Target,
};
use windlass_sim::Random;

use crate::issuer::{Issuer, Now};
use crate::resource::Resource;
use crate::secrets::Secrets;

pub(crate) const SERVER: &str = "https://mcp.example/mcp";
pub(crate) const ISSUER: &str = "https://as.example";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:7777/callback";
pub(crate) const PRM: &str = "/.well-known/oauth-protected-resource/mcp";

/// The wall clock at the beginning.
pub(crate) const EPOCH: u64 = 1_800_000_000;

/// Requests that a test may take. Whatever goes on beyond that goes on for ever.
const MOST_REQUESTS: usize = 2_000;

/// An answer of a server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) ends: bool,
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Headers::new(), body: Vec::new(), ends: true }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        Self { body, ..Self::new(status).header("Content-Type", "application/json") }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(name, value);
        self
    }

    /// A stream that goes on.
    pub(crate) fn open(mut self) -> Self {
        self.ends = false;
        self
    }
}

/// What goes wrong with an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Refused,
    Broken,
    Unwell,
    Garbage,
    Truncated,
    Stalled,
    StalledBody,
    WrongType,
    Huge,
}

impl Fault {
    pub(crate) const ALL: [Self; 9] = [
        Self::Refused,
        Self::Broken,
        Self::Unwell,
        Self::Garbage,
        Self::Truncated,
        Self::Stalled,
        Self::StalledBody,
        Self::WrongType,
        Self::Huge,
    ];
}

/// What goes wrong with a look into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFault {
    /// Nothing is done, and that is said.
    Error,
    /// It is done, and the opposite is said.
    ErrorAfter,
    Silent,
    /// Somebody else has changed the record in between.
    Conflict,
}

/// What users do when they are sent away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Log in.
    Willing,
    /// Nothing.
    Absent,
    /// Close the window.
    Unwilling,
}

/// A client and what it was told.
pub(crate) struct Agent {
    pub(crate) client: HttpClient<u32>,
    pub(crate) outcomes: BTreeMap<u32, Result<Json, CallError>>,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) prompts: Vec<AuthPrompt>,
    pub(crate) ready: bool,
    deadline: Option<Instant>,
    calls: u32,
    open: Vec<ConnId>,
}

enum Work {
    Request { conn: ConnId, request: HttpRequest },
    Answer { conn: ConnId, answer: Result<Answer, ConnErrorKind> },
    Store { reply: StoreReply, operation: Box<StoreOperation> },
    Stored { reply: StoreReply, outcome: Result<StoreOutcome, StoreError> },
    User(AuthPrompt),
}

struct Due {
    at: Instant,
    agent: usize,
    work: Work,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) server: Resource,
    pub(crate) issuers: Vec<Issuer>,
    pub(crate) store: MemoryStore,
    pub(crate) secrets: Secrets,
    pub(crate) user: User,
    pub(crate) agents: Vec<Option<Agent>>,
    /// All requests but those of MCP: `GET https://…`.
    pub(crate) asked: Vec<String>,
    pub(crate) requests: usize,
    /// What goes wrong with which request, counted without those of MCP.
    pub(crate) fault: Option<(usize, Fault)>,
    pub(crate) looks: usize,
    pub(crate) store_fault: Option<(usize, StoreFault)>,
    /// Addresses that lead elsewhere.
    pub(crate) redirects: BTreeMap<String, String>,
    /// Answers in place of the usual, by `POST https://…`, each once.
    pub(crate) instead: VecDeque<(String, Answer)>,
    pub(crate) latency: Duration,
    pub(crate) store_latency: Duration,
    pub(crate) random: Random,
    /// Where users were sent back to, without going there.
    pub(crate) came_back: Vec<String>,
    due: Vec<Due>,
}

/// How a client is set up.
pub(crate) struct Setup {
    pub(crate) auth: AuthConfig,
    pub(crate) client: ClientConfig,
    pub(crate) http: HttpClientConfig,
    pub(crate) seed: u64,
    /// Seconds by which its clock is behind.
    pub(crate) behind: u64,
}

pub(crate) fn code_grant() -> AuthConfig {
    let mut config = AuthConfig::new(Grant::code(REDIRECT));
    config.interactive = true;
    config
}

pub(crate) fn grant(grant: Grant) -> AuthConfig {
    let mut config = AuthConfig::new(grant);
    config.interactive = true;
    config
}

impl Setup {
    pub(crate) fn new(auth: AuthConfig) -> Self {
        let mut client = ClientConfig::new(Implementation::new("c", "1"));
        client.negotiation = Negotiation::default();
        let mut http = HttpClientConfig::new(SERVER).unwrap();
        http.listen = false;
        Self { auth, client, http, seed: 1, behind: 0 }
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn behind(mut self, seconds: u64) -> Self {
        self.behind = seconds;
        self
    }
}

impl World {
    /// A server with one authorization server, as most have it.
    pub(crate) fn new() -> Self {
        let mut server = Resource::new(SERVER);
        server.names(PRM, &[ISSUER]);
        Self {
            now: Instant::ZERO,
            server,
            issuers: vec![Issuer::new(ISSUER)],
            store: MemoryStore::new(),
            secrets: Secrets::default(),
            user: User::Willing,
            agents: Vec::new(),
            asked: Vec::new(),
            requests: 0,
            fault: None,
            looks: 0,
            store_fault: None,
            redirects: BTreeMap::new(),
            instead: VecDeque::new(),
            latency: Duration::ZERO,
            store_latency: Duration::ZERO,
            random: Random::new(0),
            came_back: Vec::new(),
            due: Vec::new(),
        }
    }

    pub(crate) fn unix(&self) -> u64 {
        EPOCH + self.now.since(Instant::ZERO).as_secs()
    }

    /// Starts a client. Returns its number.
    pub(crate) fn start(&mut self, setup: Setup) -> usize {
        let unix_time = Duration::from_secs(EPOCH - setup.behind);
        let http = setup.http.authorization(setup.auth, Seed::from_number(setup.seed), unix_time);
        let client = HttpClient::new(setup.client, http, self.now).delegating();
        self.agents.push(Some(Agent {
            client,
            outcomes: BTreeMap::new(),
            closed: None,
            prompts: Vec::new(),
            ready: false,
            deadline: None,
            calls: 0,
            open: Vec::new(),
        }));
        self.agents.len() - 1
    }

    /// Starts a client, calls a tool, and lets whatever happens happen.
    pub(crate) fn connect(&mut self, auth: AuthConfig) -> usize {
        let agent = self.start(Setup::new(auth));
        self.run();
        agent
    }

    pub(crate) fn agent(&mut self, agent: usize) -> &mut Agent {
        self.agents[agent].as_mut().expect("it is alive")
    }

    /// Calls a tool. Returns the number of the call.
    pub(crate) fn call(&mut self, agent: usize, tool: &str) -> u32 {
        self.call_with(agent, tool, &CallOptions::new())
    }

    pub(crate) fn call_with(&mut self, agent: usize, tool: &str, options: &CallOptions) -> u32 {
        let now = self.now;
        let agent = self.agent(agent);
        agent.calls += 1;
        let token = agent.calls;
        agent.client.call::<CallTool>(&CallToolParams::new(tool), options, token, now).expect("it is accepted");
        token
    }

    /// Calls a tool, and waits for what comes of it.
    pub(crate) fn calls(&mut self, agent: usize, tool: &str) -> Result<Json, CallError> {
        let call = self.call(agent, tool);
        self.run();
        let outcome = self.agent(agent).outcomes.remove(&call);
        outcome.unwrap_or_else(|| panic!("the call is open: {:#?}", self.asked))
    }

    /// How a call failed for want of authorization.
    #[track_caller]
    pub(crate) fn refusal(&mut self, agent: usize, tool: &str) -> AuthError {
        match self.calls(agent, tool) {
            Err(CallError::Authorization(error)) => *error,
            other => panic!("{other:?}\n{:#?}", self.asked),
        }
    }

    /// Why a client could not connect.
    #[track_caller]
    pub(crate) fn failure(&mut self, agent: usize) -> AuthError {
        let asked = format!("{:#?}", self.asked);
        let closed = self.agent(agent).closed.clone();
        match closed {
            Some(CloseReason::Negotiation(NegotiationError::Authorization(error))) => *error,
            other => panic!("{other:?}\n{asked}"),
        }
    }

    #[track_caller]
    pub(crate) fn is_ready(&mut self, agent: usize) {
        let asked = format!("{:#?}", self.asked);
        let agent = self.agent(agent);
        assert!(agent.ready && agent.closed.is_none(), "{:?}\n{asked}", agent.closed);
    }

    /// Does all that can be done now, and whatever takes time but is under way.
    pub(crate) fn run(&mut self) {
        self.run_while(|_| true);
    }

    /// Goes on as long as something is under way and the test wants it.
    pub(crate) fn run_while(&mut self, wanted: impl Fn(&Self) -> bool) {
        loop {
            self.poll_all();
            if !wanted(self) {
                return;
            }
            let Some(next) = self.next_due() else { return };
            self.wake_until(self.due[next].at);
            self.poll_all();
            // Something may have been given up meanwhile.
            if let Some(next) = self.next_due().filter(|next| self.due[*next].at <= self.now) {
                let due = self.due.remove(next);
                self.perform(due);
            }
        }
    }

    /// Lets time go by.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.poll_all();
        loop {
            let due = self.next_due().map(|next| self.due[next].at).filter(|at| *at <= end);
            let deadline = self.deadline().filter(|at| *at <= end);
            match (due, deadline) {
                (Some(due), deadline) if deadline.is_none_or(|deadline| due <= deadline) => {
                    self.now = self.now.max(due);
                    let next = self.next_due().unwrap();
                    let due = self.due.remove(next);
                    self.perform(due);
                }
                (_, Some(deadline)) => self.wake_until(deadline),
                _ => break,
            }
            self.poll_all();
        }
        self.now = end;
        self.wake();
        self.poll_all();
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.agents.iter().flatten().filter_map(|agent| agent.deadline).min()
    }

    fn next_due(&self) -> Option<usize> {
        (0..self.due.len()).min_by_key(|at| self.due[*at].at)
    }

    /// Lets time go by until then, stopping wherever a client wants to be woken.
    fn wake_until(&mut self, end: Instant) {
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.wake();
            self.poll_all();
        }
        self.now = self.now.max(end);
    }

    fn wake(&mut self) {
        for agent in self.agents.iter_mut().flatten() {
            agent.client.handle_timeout(self.now);
        }
    }

    fn later(&mut self, agent: usize, latency: Duration, work: Work) {
        let at = self.now + self.random.duration(&(Duration::ZERO..=latency));
        self.due.push(Due { at, agent, work });
    }

    fn poll_all(&mut self) {
        for agent in 0..self.agents.len() {
            self.poll(agent);
        }
    }

    fn poll(&mut self, number: usize) {
        for _ in 0..10_000 {
            let Some(agent) = &mut self.agents[number] else { return };
            let work = match agent.client.poll() {
                Output::Open { conn, target } => {
                    assert_eq!(target, Target::Exchange);
                    let request = agent.client.request(conn).expect("it is to be made");
                    agent.open.push(conn);
                    self.secrets.check_request(&request);
                    Work::Request { conn, request: (*request).clone() }
                }
                Output::Close(conn) => {
                    agent.open.retain(|open| *open != conn);
                    continue;
                }
                Output::Idle { deadline } => {
                    assert!(deadline.is_none_or(|deadline| deadline > self.now), "it wants to be woken in the past");
                    agent.deadline = deadline;
                    return;
                }
                Output::Event(event) => {
                    let shown = format!("{event:?}");
                    match event {
                        ClientEvent::Prompt(prompt) => {
                            agent.prompts.push(prompt.clone());
                            Work::User(prompt)
                        }
                        ClientEvent::Store { reply, operation } => {
                            self.secrets.check_text(&shown, &[]);
                            Work::Store { reply, operation }
                        }
                        ClientEvent::Completed { token, outcome, .. } => {
                            let outcome = outcome.map(|result| result.to_json());
                            check_error(&self.secrets, outcome.as_ref().err());
                            let twice = agent.outcomes.insert(token, outcome);
                            assert!(twice.is_none(), "a call completes once");
                            continue;
                        }
                        ClientEvent::Closed(reason) => {
                            if !shown.contains("LoginNeeded") {
                                self.secrets.check_text(&format!("{shown} {reason}"), &[]);
                            }
                            agent.closed = Some(reason);
                            continue;
                        }
                        ClientEvent::Ready(_) => {
                            agent.ready = true;
                            continue;
                        }
                        _ => {
                            self.secrets.check_text(&shown, &[]);
                            continue;
                        }
                    }
                }
            };
            match work {
                Work::User(_) => self.later(number, Duration::ZERO, work),
                Work::Store { .. } => self.later(number, self.store_latency, work),
                _ => self.later(number, self.latency, work),
            }
        }
        panic!("the client does not come to rest: {:#?}", self.asked);
    }

    fn perform(&mut self, Due { agent: number, work, .. }: Due) {
        match work {
            Work::Request { conn, request } => {
                let answer = self.serve(&request);
                if let Some(answer) = answer {
                    self.later(number, self.latency, Work::Answer { conn, answer });
                }
            }
            Work::Answer { conn, answer } => self.answer(number, conn, answer),
            Work::Store { reply, operation } => {
                self.looks += 1;
                let fault = self.store_fault.filter(|(at, _)| *at == self.looks).map(|(_, fault)| fault);
                let outcome = match fault {
                    Some(StoreFault::Silent) => return,
                    Some(StoreFault::Error) => Err(StoreError("the disk is full".into())),
                    Some(StoreFault::ErrorAfter) => {
                        let _done = operation.perform(&mut self.store);
                        Err(StoreError("the disk is full".into()))
                    }
                    Some(StoreFault::Conflict) => {
                        self.touch();
                        operation.perform(&mut self.store)
                    }
                    None => operation.perform(&mut self.store),
                };
                self.learn();
                self.later(number, self.store_latency, Work::Stored { reply, outcome });
            }
            Work::Stored { reply, outcome } => {
                let now = self.now;
                let unix_time = Duration::from_secs(EPOCH) + now.since(Instant::ZERO);
                self.agent(number).client.set_unix_time(unix_time, now);
                self.agent(number).client.stored(reply, outcome, now);
            }
            Work::User(prompt) => self.prompted(number, &prompt),
        }
    }

    /// Somebody writes what is stored once more.
    pub(crate) fn touch(&mut self) {
        let stored = self.store.load(SERVER).unwrap();
        let record = stored.as_ref().map(|stored| stored.record.clone()).unwrap_or_default();
        self.store.swap(SERVER, stored.map(|stored| stored.version), Some(&record)).unwrap();
    }

    /// What clients drew themselves is in the store.
    fn learn(&mut self) {
        let Some(stored) = self.store.load(SERVER).unwrap() else { return };
        for (state, pending) in &stored.record.pending {
            let host = pending.token_endpoint.split("//").nth(1).unwrap().split(['/', ':']).next().unwrap();
            self.secrets.keep(pending.code_verifier.expose(), host);
            self.secrets.keep(state, host);
        }
    }

    fn serve(&mut self, request: &HttpRequest) -> Option<Result<Answer, ConnErrorKind>> {
        self.requests += 1;
        assert!(self.requests < MOST_REQUESTS, "there is no end to it: {:#?}", &self.asked[self.asked.len() - 20..]);
        let url = request.url.to_string();
        if url == self.server.url {
            return Some(Ok(self.respond(request)));
        }
        self.asked.push(format!("{} {url}", request.method));
        // The program vouches for some.
        let vouched = [self.server.host.as_str(), "localhost", "idp.example"].contains(&request.url.host());
        assert_eq!(request.public_only, !vouched);
        let fault = self.fault.filter(|(at, _)| *at == self.asked.len()).map(|(_, fault)| fault);
        let said = match fault {
            Some(Fault::Refused) => return Some(Err(ConnErrorKind::NotOpened)),
            Some(Fault::Stalled) => return None,
            Some(Fault::Unwell) => return Some(Ok(Answer::new(503))),
            // What is done is done, whether the answer comes or not.
            _ => self.respond(request),
        };
        Some(match fault {
            Some(Fault::Broken) => Err(ConnErrorKind::Broken),
            Some(Fault::Garbage) => Ok(Answer { body: b"\x00\xff{]<html>".to_vec(), status: 200, ..said }),
            Some(Fault::Truncated) => {
                Ok(Answer { body: said.body[..said.body.len() / 2].to_vec(), status: 200, ..said })
            }
            Some(Fault::StalledBody) => Ok(said.open()),
            Some(Fault::WrongType) => {
                Ok(Answer { body: b"<html>".to_vec(), ..Answer::new(200) }.header("Content-Type", "text/html"))
            }
            Some(Fault::Huge) => Ok(Answer { body: vec![b' '; 1 << 20], ..said }),
            _ => Ok(said),
        })
    }

    fn respond(&mut self, request: &HttpRequest) -> Answer {
        let (url, host) = (request.url.to_string(), request.url.host());
        let asked = format!("{} {url}", request.method);
        if let Some(at) = self.instead.iter().position(|(instead, _)| *instead == asked) {
            return self.instead.remove(at).unwrap().1;
        }
        if let Some(elsewhere) = self.redirects.get(&url) {
            return Answer::new(302).header("Location", elsewhere);
        }
        let unix = self.unix();
        let resource_host = self.server.host.clone();
        let mut now = Now { secrets: &mut self.secrets, unix, resource_host: &resource_host };
        let is_document = self.server.documents.contains_key(request.url.target());
        if host == self.server.host && (url == self.server.url || is_document) {
            return self.server.serve(request, &self.issuers, unix);
        }
        let mut answer = Answer::new(404);
        for issuer in self.issuers.iter_mut().filter(|issuer| issuer.host == host) {
            answer = issuer.serve(request, &mut now);
            if answer.status != 404 {
                break;
            }
        }
        answer
    }

    fn answer(&mut self, number: usize, conn: ConnId, answer: Result<Answer, ConnErrorKind>) {
        let now = self.now;
        let agent = self.agent(number);
        if !agent.open.contains(&conn) {
            return;
        }
        match answer {
            Ok(answer) => {
                agent.client.response(conn, answer.status, &answer.headers, now);
                agent.client.body(conn, &answer.body, now);
                if answer.ends {
                    agent.client.read_eof(conn, now);
                }
            }
            Err(kind) => agent.client.conn_failed(conn, ConnError::new(kind, "out of order"), now),
        }
    }

    fn prompted(&mut self, number: usize, prompt: &AuthPrompt) {
        let back = match (prompt, self.user) {
            (_, User::Absent) => return,
            (_, User::Unwilling) => {
                let refused = AuthError::Denied { error: "closed".into(), description: String::new() };
                let now = self.now;
                return self.agent(number).client.finish_login(Err(refused), now);
            }
            (AuthPrompt::Browser { url }, User::Willing) => self.log_in(url),
            (AuthPrompt::Device { url, user_code, .. }, User::Willing) => {
                assert!(self.issuers.iter().any(|issuer| url.starts_with(&issuer.issuer)) && user_code == "WDJB-MJHT");
                return;
            }
            other => panic!("{other:?}"),
        };
        let now = self.now;
        self.agent(number).client.finish_login(Ok(Redirected::from_url(&back)), now);
    }

    /// A user logs in on a page. Returns where the browser is sent.
    pub(crate) fn log_in(&mut self, url: &str) -> String {
        let (page, query) = url.split_once('?').expect("a query");
        let unix = self.unix();
        let resource_host = self.server.host.clone();
        let issuer = self.issuers.iter_mut().find(|issuer| {
            let published = issuer.publishes.get("authorization_endpoint").and_then(Value::as_str);
            published.map_or_else(|| page == format!("{}/authorize", issuer.issuer), |published| page == published)
        });
        let issuer = issuer.unwrap_or_else(|| panic!("there is no page at {page}"));
        let mut now = Now { secrets: &mut self.secrets, unix, resource_host: &resource_host };
        let back = issuer.authorize(query, &mut now);
        self.came_back.push(back.clone());
        back
    }

    /// A client is gone, in the middle of whatever it did. Nobody hears what it was about to say.
    pub(crate) fn kill(&mut self, agent: usize) {
        self.due.retain(|due| due.agent != agent);
        self.agents[agent] = None;
    }

    /// Closes a client and sees that nothing is left.
    #[track_caller]
    pub(crate) fn close(&mut self, number: usize) {
        let now = self.now;
        self.agent(number).client.close(now);
        self.run();
        let closed = self.agents[number].take().expect("it is alive");
        assert!(closed.closed.is_some() && closed.client.is_idle(), "something is left: {:#?}", self.asked);
        assert_eq!(closed.deadline, None);
    }

    #[track_caller]
    pub(crate) fn close_all(&mut self) {
        for agent in 0..self.agents.len() {
            if self.agents[agent].is_some() {
                self.close(agent);
            }
        }
    }
}

/// The pages that users are sent to hold the state of their login; nothing else may be told.
fn check_error(secrets: &Secrets, error: Option<&CallError>) {
    let Some(error) = error else { return };
    if !matches!(error, CallError::Authorization(error) if matches!(**error, AuthError::LoginNeeded { .. })) {
        secrets.check_text(&format!("{error:?} {error}"), &[]);
    }
}
