//! What the client handles of all adapters share: settings, handlers, and what becomes of a machine's events.
//!
//! | module | what |
//! |---|---|
//! | `connect_error` | why there is none |
//! | `feed` | what a subscription receives |
//! | `handle` | what the handles and builders have in common |
//! | `sync` | those for threads |
//! | `asynchronous` | those for futures |

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(feature = "auth")]
use windlass::auth::{AuthError, AuthPrompt, Redirected, StoreOperation};
#[cfg(feature = "http")]
use windlass::client::ChallengeReply;
#[cfg(feature = "auth")]
use windlass::client::StoreReply;
use windlass::client::{
    CallId, CallOptions, ClientConfig, ClientEvent, InputReply, InputResponse, PageLimits, Pages, Peer,
    ServerNotification,
};
#[cfg(feature = "http")]
use windlass::codec::http1::Headers;
use windlass::link::AnyClient;
#[cfg(feature = "http")]
use windlass::link::http::{HeaderError, HttpClient};
use windlass::link::stdio::StdioClient;
use windlass::model::{
    CreateMessageParams, ElicitParams, Era, Implementation, InputRequest, ProgressParams, SubscriptionFilter,
    TraceContext, key,
};
use windlass::{CloseReason, Json, RpcError, SendError};
#[cfg(feature = "http")]
use windlass::{ConnId, HttpFailure};

#[cfg(feature = "auth")]
use crate::auth::SharedStore;
#[cfg(feature = "http")]
use crate::drive::Reading;
use crate::drive::endpoint::Connector;
use crate::drive::shared::{self, Driven, HasHub, Shared, WritePolicy};
use crate::drive::{Hub, Program};
use crate::handles::call_back;
#[cfg(feature = "http")]
use crate::handles::challenge::Challenge;
use crate::handles::completion::{ProgressHandler, Token};
#[cfg(feature = "auth")]
use crate::handles::login::Login;
#[cfg(feature = "http")]
use crate::net::HttpTarget;
use crate::wait::leaving;
use crate::wait::{Closure, Lock, Place, WaitClosed};
use crate::{Clock, Closer, ConnectError, Grace};

pub(crate) mod asynchronous;
pub(crate) mod connect_error;
mod feed;
mod handle;
pub(crate) mod sync;

pub(crate) use handle::{
    CallResult, CallStyle, InFlight, all_pages, client_handle, client_settings, for_each_input, subscription_handle,
};

/// The machine of a client.
pub(crate) type Machine = AnyClient<Token>;

/// A handler for requests for input with `P` in them, which gives `A` to be turned into an answer.
pub(crate) type InputHandler<P, A> = Arc<dyn Fn(P) -> A + Send + Sync>;

/// What a program has to say to a server's notifications.
pub(crate) type NotificationHandler = Arc<dyn Fn(ServerNotification) + Send + Sync>;

/// Finds other credentials for a server that wants them.
#[cfg(feature = "http")]
pub(crate) type ChallengeHandler = Arc<dyn Fn(Challenge) + Send + Sync>;

/// Sends a user to log in.
#[cfg(feature = "auth")]
pub(crate) type LoginHandler = Arc<dyn Fn(Login) + Send + Sync>;

/// How a client is set up, before it is connected.
pub(crate) struct ClientSettings {
    pub(crate) config: ClientConfig,
    pub(crate) callbacks: Callbacks,
    pub(crate) grace: Grace,
    pub(crate) closer: Closer,
}

/// What a program wants to hear of.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) on_notification: Option<NotificationHandler>,
    pub(crate) on_malformed: Option<Arc<dyn Fn(String) + Send + Sync>>,
    /// Says which trace a call belongs to that begins now.
    pub(crate) trace: Option<Arc<dyn Fn() -> Option<TraceContext> + Send + Sync>>,
    #[cfg(feature = "http")]
    pub(crate) on_challenge: Option<ChallengeHandler>,
    #[cfg(feature = "auth")]
    pub(crate) on_login: Option<LoginHandler>,
}

impl Callbacks {
    /// The options with the trace that the call belongs to, if they name none.
    fn traced<'a>(&self, options: &'a CallOptions) -> Cow<'a, CallOptions> {
        let named = options.meta.as_ref().is_some_and(|meta| meta.contains_key(key::TRACEPARENT));
        match self.trace.as_ref().filter(|_| !named).and_then(|trace| trace()) {
            Some(trace) => Cow::Owned(options.clone().trace(&trace)),
            None => Cow::Borrowed(options),
        }
    }
}

#[cfg(feature = "http")]
impl Callbacks {
    /// Has a client over HTTP behave as they want.
    fn prepare(&self, target: &mut HttpTarget, clock: &Clock) {
        target.config.answers_challenges = self.on_challenge.is_some();
        // Without one, tries to reach the server again are not spread, which harms only where clients are many.
        target.config.seed = target.config.seed.take().or_else(|| crate::seed().ok());
        #[cfg(feature = "auth")]
        if let (Some(authorization), Ok(seed)) = (&target.authorization, crate::seed()) {
            let mut config = authorization.config.clone();
            config.interactive = self.on_login.is_some();
            target.config = target.config.clone().authorization(config, seed, clock.unix_time_at_origin());
        }
        #[cfg(not(feature = "auth"))]
        let _ = clock;
    }
}

/// The handlers for requests for input.
pub(crate) struct InputHandlers<A> {
    pub(crate) elicit: Option<InputHandler<ElicitParams, A>>,
    pub(crate) sample: Option<InputHandler<CreateMessageParams, A>>,
    pub(crate) roots: Option<InputHandler<(), A>>,
    /// For what the specification does not have, by method, with the parameters as they came.
    pub(crate) methods: BTreeMap<String, InputHandler<Json, A>>,
}

impl ClientSettings {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Self {
            config: ClientConfig::new(Implementation::new(name, version)),
            callbacks: Callbacks::default(),
            grace: Grace::default(),
            closer: Closer::new(),
        }
    }
}

impl<A> InputHandlers<A> {
    pub(crate) fn none() -> Self {
        Self { elicit: None, sample: None, roots: None, methods: BTreeMap::new() }
    }

    /// What answers a request, wherever that may take its time; `None` if nothing does.
    pub(crate) fn for_request(&self, request: InputRequest) -> Option<Box<dyn FnOnce() -> A + Send>>
    where
        A: 'static,
    {
        fn with<P: Send + 'static, A: 'static>(
            handler: &Option<InputHandler<P, A>>,
            params: P,
        ) -> Option<Box<dyn FnOnce() -> A + Send>> {
            let handler = handler.clone()?;
            Some(Box::new(move || handler(params)))
        }
        match request {
            InputRequest::Elicit(params) => with(&self.elicit, params),
            InputRequest::Sample(params) => with(&self.sample, params),
            InputRequest::Roots(_) => with(&self.roots, ()),
            InputRequest::Other { method, params } => {
                let handler = self.methods.get(&method).cloned();
                with(&handler, params.unwrap_or_else(Json::empty_object))
            }
            _ => None,
        }
    }
}

/// What a request says that the specification does not have.
pub(crate) fn params_of<P: DeserializeOwned>(method: &str, params: &Json) -> Result<P, RpcError> {
    params.decode().map_err(|error| RpcError::invalid_params(format!("the parameters of {method} are wrong: {error}")))
}

/// Something to do once the machine is free.
pub(crate) enum ClientAction {
    /// Wake whoever waits for a call.
    Finish(Token),
    /// Tell of progress.
    Progress(ProgressHandler, ProgressParams),
    /// Answer a request for input.
    Input(InputReply, Box<InputRequest>),
    /// Tell of a notification.
    Notification(ServerNotification),
    /// Tell of something that was no message.
    Malformed(String),
    /// Ask for other credentials.
    #[cfg(feature = "http")]
    Challenged(ChallengeReply, Box<HttpFailure>),
    /// Look into the store.
    #[cfg(feature = "auth")]
    Store(StoreReply, Box<StoreOperation>),
    /// Send the user to log in.
    #[cfg(feature = "auth")]
    Login(AuthPrompt),
}

/// What a client's driver and handles share.
///
/// Nothing about it is generic, so that it is compiled here, and the engine with it, and not again by each program.
pub(crate) struct ClientCore {
    shared: Lock<Shared<Machine, Self>>,
    /// Makes the driver look again.
    wake: Arc<dyn Fn() + Send + Sync>,
    peer: Lock<Option<Arc<Peer>>>,
    closure: Closure,
    callbacks: Callbacks,
    page_limits: PageLimits,
    /// Where tokens are kept.
    #[cfg(feature = "auth")]
    store: Option<SharedStore>,
}

impl ClientCore {
    pub(crate) fn new(
        settings: ClientSettings,
        connector: Connector,
        write_policy: WritePolicy,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> Arc<Self> {
        let ClientSettings { config, callbacks, grace, closer } = settings;
        let (clock, page_limits) = (Clock::new(), PageLimits::of(&config));
        #[cfg(feature = "auth")]
        let store = match &connector {
            Connector::Http(target) => target.store(),
            _ => None,
        };
        let hub = match connector {
            #[cfg(feature = "http")]
            Connector::Http(mut target) => {
                callbacks.prepare(&mut target, &clock);
                let machine = HttpClient::new(config, target.config.clone(), clock.now());
                Hub::over_http(machine, *target, clock, grace, &wake)
            }
            stream => Hub::new(StdioClient::new(config, clock.now()).into(), clock, stream, grace),
        };
        Self::on(
            hub,
            (callbacks, page_limits, closer),
            write_policy,
            wake,
            #[cfg(feature = "auth")]
            store,
        )
    }

    /// A client for one call, without a handshake before it.
    #[cfg(feature = "http")]
    pub(crate) fn for_one_call<P: Serialize + ?Sized>(
        settings: ClientSettings,
        mut target: HttpTarget,
        version: windlass::model::ProtocolVersion,
        call: (&str, &P),
        token: Token,
        (write_policy, wake): (WritePolicy, Arc<dyn Fn() + Send + Sync>),
    ) -> Result<Arc<Self>, SendError> {
        let ClientSettings { config, callbacks, grace, closer } = settings;
        let (clock, page_limits) = (Clock::new(), PageLimits::of(&config));
        callbacks.prepare(&mut target, &clock);
        let call = (call.0, call.1, &CallOptions::new());
        let machine = HttpClient::for_one_call(config, target.config.clone(), version, call, token, clock.now())?;
        #[cfg(feature = "auth")]
        let store = target.store();
        let hub = Hub::over_http(machine, target, clock, grace, &wake);
        Ok(Self::on(
            hub,
            (callbacks, page_limits, closer),
            write_policy,
            wake,
            #[cfg(feature = "auth")]
            store,
        ))
    }

    fn on(
        hub: Hub<Machine>,
        (callbacks, page_limits, closer): (Callbacks, PageLimits, Closer),
        write_policy: WritePolicy,
        wake: Arc<dyn Fn() + Send + Sync>,
        #[cfg(feature = "auth")] store: Option<SharedStore>,
    ) -> Arc<Self> {
        let shared = Shared::new(hub, write_policy);
        let (peer, closure) = (Lock::default(), Closure::default());
        let core = Arc::new(Self {
            shared,
            wake,
            peer,
            closure,
            callbacks,
            page_limits,
            #[cfg(feature = "auth")]
            store,
        });
        closer.attach(&core);
        core
    }

    /// Does what needs no runtime; gives back what does.
    pub(crate) fn perform(self: &Arc<Self>, action: ClientAction) -> Option<(InputReply, Box<InputRequest>)> {
        match action {
            #[cfg(feature = "http")]
            ClientAction::Challenged(reply, failure) => {
                let challenge = Challenge::new(failure, self.clone(), reply);
                if let Some(handler) = &self.callbacks.on_challenge {
                    call_back(|| handler(challenge));
                }
            }
            #[cfg(feature = "auth")]
            ClientAction::Store(reply, operation) => self.look_into_store(reply, *operation),
            #[cfg(feature = "auth")]
            ClientAction::Login(prompt) => {
                let login = Login::new(prompt, self.clone());
                if let Some(handler) = &self.callbacks.on_login {
                    call_back(|| handler(login));
                }
            }
            ClientAction::Finish(token) => token.finish(),
            ClientAction::Progress(handler, params) => call_back(|| handler(params)),
            ClientAction::Notification(notification) => {
                if let Some(handler) = &self.callbacks.on_notification {
                    call_back(|| handler(notification));
                }
            }
            ClientAction::Malformed(detail) => {
                if let Some(handler) = &self.callbacks.on_malformed {
                    call_back(|| handler(detail));
                }
            }
            ClientAction::Input(reply, request) => return Some((reply, request)),
        }
        None
    }

    /// Leads through the pages of a listing that begins now.
    pub(crate) fn pages(&self, options: &CallOptions) -> Pages {
        // Whoever lists is connected, so the peer is known.
        let era = self.peer().map_or(Era::Modern, |peer| peer.version.era());
        Pages::new(self.page_limits.clone(), era, options.clone(), self.now())
    }

    pub(crate) fn now(&self) -> windlass::Instant {
        self.shared().hub.now()
    }

    /// Starts a call. `Ok` means that the token will be completed.
    pub(crate) fn start<P: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &P,
        options: &CallOptions,
        token: Token,
    ) -> Result<CallId, SendError> {
        let options = self.callbacks.traced(options);
        self.change(|machine, now| machine.call_raw(method, params, &options, token, now))
            .map_err(|refused| refused.why)
    }

    pub(crate) fn listen(
        &self,
        filter: SubscriptionFilter,
        options: &CallOptions,
        token: Token,
    ) -> Result<CallId, SendError> {
        let options = self.callbacks.traced(options);
        self.change(|machine, now| machine.listen(filter, &options, token, now)).map_err(|refused| refused.why)
    }

    pub(crate) fn cancel(&self, call: CallId, reason: &str) {
        self.change(|machine, now| machine.cancel(call, reason, now));
    }

    pub(crate) fn respond(&self, reply: InputReply, answer: Result<InputResponse, RpcError>) {
        self.change(|machine, now| machine.respond(reply, answer, now));
    }

    #[cfg(feature = "http")]
    pub(crate) fn answer_challenge(&self, reply: ChallengeReply, headers: Option<&Headers>) -> Result<(), HeaderError> {
        self.change(|machine, now| machine.answer_challenge(reply, headers, now))
    }

    /// Does something with the store, where it may take its time.
    #[cfg(feature = "auth")]
    fn look_into_store(self: &Arc<Self>, reply: StoreReply, operation: StoreOperation) {
        let Some(mut store) = self.store.clone() else { return };
        let core = self.clone();
        let look = move || {
            let outcome = operation.perform(&mut store);
            core.change(|machine, now| {
                machine.set_unix_time(Clock::unix_time(), now);
                machine.stored(reply, outcome, now);
            });
        };
        // Without a thread, whoever drives the connection waits.
        if let Err(look) = crate::net::in_background(Box::new(look)) {
            look();
        }
    }

    #[cfg(feature = "auth")]
    pub(crate) fn finish_login(&self, outcome: Result<Redirected, AuthError>) {
        self.change(|machine, now| machine.finish_login(outcome, now));
    }

    pub(crate) fn notify<P: Serialize + ?Sized>(&self, method: &str, params: &P) -> Result<(), SendError> {
        self.change(|machine, now| machine.notify_raw(method, params, now))
    }

    pub(crate) fn close(&self) {
        self.change(|machine, now| machine.close(now));
    }

    /// The last handle is dropped: the connection is closed, and the thread that dropped it does not end before a child
    /// is gone.
    pub(crate) fn leave(&self) {
        self.close();
        let (shutdown, grace) = {
            let hub = &self.shared().hub;
            (hub.shutdown(), hub.grace())
        };
        leaving::wait_at_end_of_thread(&shutdown, grace);
    }

    /// Ends a child by force, and waits until it is gone.
    pub(crate) fn kill(&self) {
        let shutdown = {
            let mut shared = self.shared();
            shared.hub.kill();
            shared.hub.shutdown()
        };
        (self.wake)();
        shutdown.hurry();
    }

    pub(crate) fn counters(&self) -> windlass::Counters {
        self.shared().hub.machine.counters()
    }

    /// Waits until the connection is negotiated.
    pub(crate) fn wait_ready(&self) -> WaitReady<'_> {
        WaitReady { core: self, place: self.closure.waiters().place() }
    }

    /// Why there is no connection, when everything about it is gone.
    pub(crate) fn not_connected(&self, reason: CloseReason) -> ConnectError {
        /// What a dead server wrote arrives within moments; what it left running elsewhere is not waited for.
        const PATIENCE: Duration = Duration::from_millis(100);
        let tail = self.shared().hub.stderr();
        ConnectError::new(reason, tail.map(|tail| tail.lines_at_end(PATIENCE)).unwrap_or_default())
    }

    /// Waits until everything about the connection is over.
    pub(crate) fn wait_closed(&self) -> WaitClosed<'_> {
        self.closure.wait(self.shared().hub.shutdown())
    }

    pub(crate) fn peer(&self) -> Option<Arc<Peer>> {
        self.peer.lock().clone()
    }

    pub(crate) fn closed(&self) -> Option<CloseReason> {
        self.closure.reason()
    }
}

/// Waits until a connection is negotiated.
pub(crate) struct WaitReady<'a> {
    core: &'a ClientCore,
    place: Place,
}

impl WaitReady<'_> {
    /// Ready when it is, or never will be.
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<Result<(), CloseReason>> {
        self.place.wait(context);
        match (self.core.peer(), self.core.closed()) {
            (Some(_), _) => Poll::Ready(Ok(())),
            (None, Some(reason)) => Poll::Ready(Err(reason)),
            (None, None) => Poll::Pending,
        }
    }
}

impl HasHub for ClientCore {
    type Machine = Machine;

    fn with_hub<V>(&self, act: impl FnOnce(&mut Hub<Machine>) -> V) -> V {
        act(&mut self.shared().hub)
    }

    #[cfg(feature = "http")]
    fn read_connection(&self, conn: ConnId) -> Reading {
        self.shared().read_connection(conn)
    }
}

impl Driven for ClientCore {
    fn shared(&self) -> MutexGuard<'_, Shared<Machine, Self>> {
        self.shared.lock()
    }

    fn wake_driver(&self) {
        (self.wake)();
    }

    /// The driver is gone: every call completes, and the connection is over.
    fn abandon(self: &Arc<Self>) {
        let why = shared::driver_gone();
        let mut actions = Vec::new();
        let mut shared = self.shared();
        let now = shared.hub.now();
        shared.hub.machine.abandon(why.clone(), now);
        shared.abandon(&why, self, &mut actions);
        drop(shared);
        // Nobody is there to be asked for input any more, nor to answer to.
        actions.into_iter().for_each(|action| drop(self.perform(action)));
    }
}

impl Program<Machine> for ClientCore {
    type Action = ClientAction;

    fn take(&self, event: ClientEvent<'_, Token>, actions: &mut Vec<ClientAction>) {
        match event {
            ClientEvent::Completed { token, outcome, .. } => {
                token.complete(outcome);
                actions.push(ClientAction::Finish(token));
            }
            ClientEvent::Update { token, update, .. } => {
                if let Some((handler, params)) = token.update(update) {
                    actions.push(ClientAction::Progress(handler, params));
                }
            }
            ClientEvent::Input { reply, request } => actions.push(ClientAction::Input(reply, request)),
            ClientEvent::Notification { method, params } if self.callbacks.on_notification.is_some() => {
                let notification = ServerNotification::read(&method, params);
                actions.push(ClientAction::Notification(notification));
            }
            ClientEvent::Malformed(malformed) if self.callbacks.on_malformed.is_some() => {
                let beginning = match &*malformed.beginning {
                    "" => String::new(),
                    beginning => format!(", and begins {beginning:?}"),
                };
                actions
                    .push(ClientAction::Malformed(format!("what is no message was skipped: {malformed}{beginning}")));
            }
            #[cfg(feature = "http")]
            ClientEvent::Challenged { reply, challenge } => actions.push(ClientAction::Challenged(reply, challenge)),
            #[cfg(feature = "auth")]
            ClientEvent::Store { reply, operation } => actions.push(ClientAction::Store(reply, operation)),
            #[cfg(feature = "auth")]
            ClientEvent::Prompt(prompt) => actions.push(ClientAction::Login(prompt)),
            #[cfg(feature = "http")]
            ClientEvent::ToolLeftOut { name, reason } if self.callbacks.on_malformed.is_some() => {
                actions.push(ClientAction::Malformed(format!("the tool {name:?} was left out: {reason}")));
            }
            #[cfg(feature = "http")]
            ClientEvent::NotDelivered(error) if self.callbacks.on_malformed.is_some() => {
                actions.push(ClientAction::Malformed(format!("a message was not delivered: {error}")));
            }
            ClientEvent::Ready(peer) | ClientEvent::Reinitialized(peer) => {
                *self.peer.lock() = Some(peer);
                self.closure.waiters().wake_all();
            }
            ClientEvent::Closed(reason) => self.closure.close(reason),
            // An answer to an input that nobody waits for is ignored by the machine.
            _ => {}
        }
    }
}

/// Gives the answer to a request for input, whatever becomes of the handler: one that panics is answered for.
pub(crate) struct Answering {
    core: Arc<ClientCore>,
    reply: Option<InputReply>,
}

impl Answering {
    pub(crate) fn new(core: Arc<ClientCore>, reply: InputReply) -> Self {
        Self { core, reply: Some(reply) }
    }

    pub(crate) fn answer(mut self, answer: Result<InputResponse, RpcError>) {
        self.give(answer);
    }

    fn give(&mut self, answer: Result<InputResponse, RpcError>) {
        if let Some(reply) = self.reply.take() {
            self.core.respond(reply, answer);
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.give(Err(RpcError::internal("the handler for the request panicked or was stopped")));
    }
}

/// Turns what is not there into an error of the peer's fault.
pub(crate) fn no_handler() -> RpcError {
    RpcError::method_not_found("this client has no handler for the request")
}
