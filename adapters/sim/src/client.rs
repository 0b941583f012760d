//! A client machine with a small program around it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use windlass::auth::{AuthError, AuthPrompt, AuthStore, MemoryStore, Redirected, StoreOperation};
use windlass::client::{
    CallId, CallOptions, ClientConfig, ClientEvent, InputKey, InputReply, InputResponse, Peer, StoreReply, Update,
};
use windlass::link::AnyClient;
use windlass::link::http::{HttpClient, HttpClientConfig};
use windlass::link::stdio::StdioClient;
use windlass::model::{InputRequest, Method, Notice, SubscriptionFilter};
use windlass::{
    CallError, CloseReason, ConnId, Counters, Instant, Json, Machine, Output, RpcError, SendError, Target, earliest,
};

use crate::party::{Log, Party, Want, machine_as_party};

/// A client with a program that makes calls, answers requests for input and remembers how each call ended.
///
/// Calls are numbered from 1; the number is the machine's token.
pub struct SimClient {
    machine: AnyClient<u64>,
    conn: Option<ConnId>,
    now: Instant,
    calls: u64,
    ids: BTreeMap<u64, CallId>,
    outcomes: BTreeMap<u64, Result<Json, CallError>>,
    updates: BTreeMap<u64, Vec<String>>,
    answer: AnswerInput,
    inputs: BTreeMap<u64, InputReply>,
    input_numbers: BTreeMap<InputKey, u64>,
    due: BTreeSet<(Instant, u64)>,
    answers: BTreeMap<u64, Result<InputResponse, RpcError>>,
    next_input: u64,
    /// Where what is granted is kept.
    store: SimStore,
    login: AnswerLogin,
    closed: Option<CloseReason>,
}

/// A store that several clients share.
pub type SimStore = Rc<RefCell<dyn AuthStore>>;

type AnswerLogin = Box<dyn FnMut(&AuthPrompt) -> Option<Result<Redirected, AuthError>>>;

/// When and how a program answers a request for input.
#[derive(Clone, Debug)]
pub enum InputAnswer {
    /// At once.
    Now(Result<InputResponse, RpcError>),
    /// After some time, unless the request is withdrawn before.
    After(Duration, Result<InputResponse, RpcError>),
    /// When the test calls [`SimClient::answer_input`].
    Later,
}

type AnswerInput = Box<dyn FnMut(&InputRequest) -> InputAnswer>;

impl SimClient {
    /// A client that has not said anything yet, and that leaves every request for input open.
    pub fn new(config: ClientConfig) -> Self {
        Self::of(StdioClient::new(config, Instant::ZERO).into(), Instant::ZERO)
    }

    /// The same, over HTTP.
    pub(crate) fn over_http(config: ClientConfig, http: HttpClientConfig, now: Instant) -> Self {
        Self::of(HttpClient::new(config, http, now).into(), now)
    }

    fn of(machine: AnyClient<u64>, now: Instant) -> Self {
        Self {
            machine,
            conn: None,
            now,
            calls: 0,
            ids: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            updates: BTreeMap::new(),
            answer: Box::new(|_| InputAnswer::Later),
            inputs: BTreeMap::new(),
            input_numbers: BTreeMap::new(),
            due: BTreeSet::new(),
            answers: BTreeMap::new(),
            next_input: 1,
            store: Rc::new(RefCell::new(MemoryStore::new())),
            login: Box::new(|_| None),
            closed: None,
        }
    }

    /// Answers requests for input from now on as `answer` says.
    pub fn on_input(&mut self, answer: impl FnMut(&InputRequest) -> InputAnswer + 'static) {
        self.answer = Box::new(answer);
    }

    /// Keeps what is granted to it in this store from now on, which others may share. Until then it has one of its own.
    pub fn share_store(&mut self, store: SimStore) {
        self.store = store;
    }

    /// Sends users to log in from now on as `login` says: they come back with something, or do not want to, or (`None`) it is
    /// not known yet; see [`finish_login`](Self::finish_login). It is called if the client's configuration says that users can
    /// be asked: [`AuthConfig::interactive`](windlass::auth::AuthConfig::interactive).
    pub fn on_login(&mut self, login: impl FnMut(&AuthPrompt) -> Option<Result<Redirected, AuthError>> + 'static) {
        self.login = Box::new(login);
    }

    /// A user came back, or does not want to.
    pub fn finish_login(&mut self, outcome: Result<Redirected, AuthError>) {
        self.machine.finish_login(outcome, self.now);
    }

    /// Starts a call; its number, or why it was refused.
    pub fn call<M: Method>(&mut self, params: &M::Params) -> Result<u64, SendError> {
        self.call_with::<M>(params, &CallOptions::new())
    }

    /// Starts a call with options.
    pub fn call_with<M: Method>(&mut self, params: &M::Params, options: &CallOptions) -> Result<u64, SendError> {
        let now = self.now;
        self.begin(|machine, token| machine.call_raw(M::NAME, params, options, token, now))
    }

    /// Begins a subscription; the number of its call.
    pub fn listen(&mut self, filter: SubscriptionFilter) -> Result<u64, SendError> {
        let now = self.now;
        self.begin(|machine, token| machine.listen(filter, &CallOptions::new(), token, now))
    }

    fn begin(
        &mut self,
        start: impl FnOnce(&mut AnyClient<u64>, u64) -> Result<CallId, windlass::Refused<u64>>,
    ) -> Result<u64, SendError> {
        let token = self.calls + 1;
        match start(&mut self.machine, token) {
            Ok(id) => {
                self.calls = token;
                self.ids.insert(token, id);
                Ok(token)
            }
            Err(refused) => {
                assert_eq!(refused.token, token, "a refused call gives its own token back");
                Err(refused.why)
            }
        }
    }

    /// Gives up a call.
    pub fn cancel(&mut self, call: u64, reason: &str) {
        if let Some(&id) = self.ids.get(&call) {
            self.machine.cancel(id, reason, self.now);
        }
    }

    /// Sends a notification.
    pub fn notify<N: Notice>(&mut self, params: &N::Params) -> Result<(), SendError> {
        self.machine.notify::<N>(params, self.now)
    }

    /// Answers a request for input that was left open, by its number; false if it is not open any more.
    pub fn answer_input(&mut self, number: u64, answer: Result<InputResponse, RpcError>) -> bool {
        let Some(reply) = self.inputs.remove(&number) else { return false };
        self.machine.respond(reply, answer, self.now);
        true
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.machine.close(self.now);
    }

    /// How a call ended, if it has.
    pub fn outcome(&self, call: u64) -> Option<&Result<Json, CallError>> {
        self.outcomes.get(&call)
    }

    /// The result of a call, decoded by its method; `None` if it is open, failed or was something else.
    pub fn result<M: Method>(&self, call: u64) -> Option<M::Output> {
        self.outcomes.get(&call)?.as_ref().ok()?.decode().ok()
    }

    /// The calls that were accepted and are not over.
    pub fn open_calls(&self) -> Vec<u64> {
        (1..=self.calls).filter(|call| !self.outcomes.contains_key(call)).collect()
    }

    /// How many calls were accepted.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// What happened to a call while it was open, as it stands in the transcript.
    pub fn updates(&self, call: u64) -> &[String] {
        self.updates.get(&call).map_or(&[], |updates| updates)
    }

    /// What is known of the server, once it is.
    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.machine.peer()
    }

    /// Why the connection is over, if it is.
    pub fn closed(&self) -> Option<&CloseReason> {
        self.closed.as_ref()
    }

    /// What was ignored so far.
    pub fn counters(&self) -> Counters {
        self.machine.counters()
    }

    /// The machine itself, for what this program does not do. Calls made on it directly are not numbered here.
    pub fn machine(&mut self) -> &mut AnyClient<u64> {
        &mut self.machine
    }

    fn answer_what_is_due(&mut self) {
        while let Some(&(at, number)) = self.due.first().filter(|(at, _)| *at <= self.now) {
            self.due.remove(&(at, number));
            if let Some(answer) = self.answers.remove(&number) {
                self.answer_input(number, answer);
            }
        }
    }

    /// Takes in an input request, and answers it if the program has an answer.
    fn asked(&mut self, reply: InputReply, request: &InputRequest) -> u64 {
        let number = self.next_input;
        self.next_input += 1;
        self.input_numbers.insert(reply.key(), number);
        self.inputs.insert(number, reply);
        match (self.answer)(request) {
            InputAnswer::Now(answer) => {
                self.answer_input(number, answer);
            }
            InputAnswer::After(wait, answer) => {
                self.due.insert((self.now + wait, number));
                self.answers.insert(number, answer);
            }
            InputAnswer::Later => {}
        }
        number
    }

    fn withdrawn(&mut self, key: InputKey) -> String {
        let Some(number) = self.input_numbers.remove(&key) else { return "an input is not needed".into() };
        self.inputs.remove(&number);
        self.answers.remove(&number);
        self.due.retain(|(_, due)| *due != number);
        format!("input {number} is not needed any more")
    }

    /// Takes care of what has happened, until the machine wants something of its driver.
    pub(crate) fn next_want(&mut self, log: &mut Log<'_>) -> Want {
        self.answer_what_is_due();
        loop {
            let seen = match self.machine.poll() {
                Output::Open { conn, target: Target::Http(target) } => return Want::Open(conn, Some(target.host)),
                Output::Open { conn, .. } => return Want::Open(conn, None),
                Output::Close(conn) => return Want::Close(conn),
                Output::Idle { deadline } => {
                    return Want::Rest(earliest(deadline, self.due.first().map(|(at, _)| *at)));
                }
                Output::Event(event) => {
                    assert!(self.closed.is_none(), "nothing comes after `Closed`: {event:?}");
                    seen(event)
                }
            };
            match seen {
                Seen::Text(text) => log.saw(text.trim_end()),
                Seen::Completed(call, outcome) => {
                    match &outcome {
                        Ok(result) => log.saw(&format!("call {call} completed {result}")),
                        Err(error) => log.saw(&format!("call {call} failed: {error}")),
                    }
                    let before = self.outcomes.insert(call, outcome);
                    assert!(before.is_none(), "call {call} completed twice");
                }
                Seen::Update(call, update) => {
                    assert!(!self.outcomes.contains_key(&call), "call {call} is over, but was updated: {update}");
                    log.saw(format!("call {call} {update}").trim_end());
                    self.updates.entry(call).or_default().push(update.trim_end().to_owned());
                }
                Seen::Input(reply, request) => {
                    let wanted = request.method().to_owned();
                    let number = self.next_input;
                    log.saw(&format!("input {number} wanted by {wanted}"));
                    self.asked(reply, &request);
                }
                Seen::Store(reply, operation) => {
                    let outcome = operation.perform(&mut *self.store.borrow_mut());
                    self.machine.stored(reply, outcome, self.now);
                }
                Seen::Prompt(prompt) => {
                    log.saw("the user is to log in");
                    if let Some(outcome) = (self.login)(&prompt) {
                        self.machine.finish_login(outcome, self.now);
                    }
                }
                Seen::InputCancelled(key) => {
                    let text = self.withdrawn(key);
                    log.saw(&text);
                }
                Seen::Closed(reason) => {
                    assert_eq!(self.open_calls(), [0_u64; 0], "every call completes before `Closed`");
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
    Completed(u64, Result<Json, CallError>),
    Update(u64, String),
    Input(InputReply, Box<InputRequest>),
    InputCancelled(InputKey),
    Store(StoreReply, Box<StoreOperation>),
    Prompt(AuthPrompt),
    Closed(CloseReason),
}

fn seen(event: ClientEvent<'_, u64>) -> Seen {
    match event {
        ClientEvent::Ready(peer) => {
            let name = peer.info.as_ref().map_or("a server without a name", |info| &info.name);
            Seen::Text(format!("ready, {} with {name}", peer.version))
        }
        ClientEvent::Completed { token, outcome, .. } => Seen::Completed(token, outcome.map(|result| result.to_json())),
        ClientEvent::Update { token, update, .. } => Seen::Update(
            *token,
            match update {
                Update::Progress(params) => format!("progress {}", params.as_str()),
                Update::Subscribed(filter) => {
                    format!("subscribed to {}", serde_json::to_string(&filter).unwrap_or_default())
                }
                Update::Notification { method, params } => {
                    format!("told {method} {}", params.as_ref().map_or("", |params| params.as_str()))
                }
                other => format!("{other:?}"),
            },
        ),
        ClientEvent::Input { reply, request } => Seen::Input(reply, request),
        ClientEvent::InputCancelled(key) => Seen::InputCancelled(key),
        ClientEvent::Notification { method, params } => {
            Seen::Text(format!("told {method} {}", params.as_ref().map_or("", |params| params.as_str())))
        }
        ClientEvent::Store { reply, operation } => Seen::Store(reply, operation),
        ClientEvent::Prompt(prompt) => Seen::Prompt(prompt),
        ClientEvent::Reinitialized(peer) => Seen::Text(format!("reinitialized, {}", peer.version)),
        ClientEvent::NotDelivered(error) => Seen::Text(format!("not delivered: {error}")),
        ClientEvent::Malformed(malformed) => Seen::Text(format!("malformed: {malformed}")),
        ClientEvent::Closed(reason) => Seen::Closed(reason),
        other => Seen::Text(format!("{other:?}")),
    }
}

impl Party for SimClient {
    machine_as_party!(AnyClient, due);
}
