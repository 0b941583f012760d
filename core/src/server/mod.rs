//! The server role: a registry of what is offered, dispatch of requests to it, and whatever handlers need on the way.
//! Legacy and modern clients are served side by side.
//!
//! Which methods there are, in which era, is in `dispatch`; the life of a handler's call is in `handling`, and how it gets
//! its inputs in either era in `inputs`; what clients are told of changes is in `subscriptions`, and what the program tells
//! them by itself in `notices`.

mod config;
mod dispatch;
mod event;
mod handling;
mod inputs;
mod invocation;
mod notices;
mod params;
mod registry;
mod state;
mod subscriptions;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

#[cfg(feature = "http")]
pub(crate) use crate::principal::Identity;
pub use crate::principal::{Principal, TokenRejected, VerifyReply};
pub use config::{Caller, InvalidDeclaration, ServerConfig};
pub use event::ServerEvent;
use handling::ServerRequest;
use inputs::ParamsOf;
pub use invocation::{Asking, HandlerError, Invocation, Invoked, Needs, Reply, ReplyTo, path_of};
#[cfg(feature = "http")]
pub(crate) use notices::is_private;
pub(crate) use notices::written;
pub(crate) use params::Params;
pub(crate) use registry::Changes;
pub use registry::Registry;
pub use state::StateId;
use state::UsedStates;

pub use crate::call::{CallId, CallOptions, decode};
use crate::entropy::Entropy;
use crate::error::{CallError, CloseReason, Refused, SendError};
use crate::json::{Json, JsonText, write_json};
use crate::jsonrpc::{Id, Malformed, Message, RpcError, Splice};
use crate::limits::Limits;
use crate::model::{
    EmptyParams, LoggingLevel, Method, MethodInfo, Ping, ProtocolVersion, Side, SubscriptionFilter, key,
};
use crate::observer::Outcome;
pub use crate::rpc::KeepAliveConfig;
use crate::rpc::{KeepAlive, KeepAliveStep, LinkKind, LinkedRole, Pending, RequestKey, Rpc, Timing};
use crate::time::{Instant, earliest};

/// The server role, without the byte stream.
pub(crate) struct Server<T, H> {
    offer: Arc<Offer<H>>,
    rpc: Rpc<Call<T>, ServerRequest>,
    legacy: Legacy,
    last_caller: Option<LastCaller>,
    used_states: UsedStates,
    /// Events that borrow nothing from the bytes that came in.
    queue: VecDeque<ServerEvent<'static, T, H>>,
    keep_alive: Option<Box<KeepAlive>>,
    closed: Option<Box<CloseReason>>,
}

/// What all sessions of a server have in common: what it is and what it offers.
#[derive(Clone)]
pub(crate) struct Offer<H> {
    pub(crate) config: ServerConfig,
    pub(crate) registry: Registry<H>,
    /// `"io.modelcontextprotocol/serverInfo":{…}`, which every modern result carries.
    result_meta: Box<[u8]>,
}

impl<H> Offer<H> {
    /// What has changed about the lists since the last time.
    pub(crate) fn take_changes(&mut self) -> Changes {
        core::mem::take(&mut self.registry.changes)
    }

    pub(crate) fn new(mut config: ServerConfig, mut registry: Registry<H>, entropy: &mut Entropy) -> Self {
        // What was there from the start is no change.
        registry.changes = Changes::default();
        registry.trim();
        config.state_key.get_or_insert_with(|| entropy.bytes());
        let mut result_meta = Vec::new();
        let _ = write_json(&mut result_meta, key::SERVER_INFO);
        result_meta.push(b':');
        let _ = write_json(&mut result_meta, &config.info);
        Self { config, registry, result_meta: result_meta.into() }
    }
}

/// The caller of the last modern request, with what it was read from.
struct LastCaller {
    /// The protocol version, the capabilities and the name, as they came.
    text: [Box<str>; 3],
    caller: Arc<Caller>,
}

/// What the legacy client of this connection has done so far. Modern requests never look here.
struct Legacy {
    caller: Option<Arc<Caller>>,
    /// Whether `notifications/initialized` has come, so that the server may speak up by itself.
    operating: bool,
    log_level: LoggingLevel,
    subscriptions: SubscriptionFilter,
}

/// What a request of the server's is for.
pub(crate) enum Call<T> {
    /// An input that a handler asked for, under a name.
    Input { request: RequestKey, name: String },
    /// A keep-alive ping.
    Ping,
    /// A call of the program's.
    User { call: CallId, token: T },
}

impl<T, H: Clone> Server<T, H> {
    pub(crate) fn new(offer: Arc<Offer<H>>) -> Self {
        let rpc = Rpc::new(&offer.config.limits, &offer.config.observer, LinkKind::Stream);
        Self::with(offer, rpc)
    }

    /// One of the roles behind an endpoint: for a legacy session, or for all modern clients.
    pub(crate) fn one_of_many(offer: Arc<Offer<H>>, index: u32, stateless: bool) -> Self {
        let rpc = Rpc::one_of_many(&offer.config.limits, &offer.config.observer, index, stateless);
        Self::with(offer, rpc)
    }

    fn with(offer: Arc<Offer<H>>, rpc: Rpc<Call<T>, ServerRequest>) -> Self {
        Self {
            rpc,
            offer,
            legacy: Legacy {
                caller: None,
                operating: false,
                log_level: LoggingLevel::Info,
                subscriptions: SubscriptionFilter::new()
                    .with_tools_list_changed(true)
                    .with_prompts_list_changed(true)
                    .with_resources_list_changed(true),
            },
            last_caller: None,
            used_states: UsedStates::default(),
            queue: VecDeque::new(),
            keep_alive: None,
            closed: None,
        }
    }

    /// What the client may cost.
    pub(crate) fn limits(&self) -> &Limits {
        &self.offer.config.limits
    }

    /// What is offered, to be changed. Other sessions of the same server do not see it.
    pub(crate) fn registry(&mut self) -> &mut Registry<H> {
        &mut Arc::make_mut(&mut self.offer).registry
    }

    /// Another offer takes the place of the one that was.
    pub(crate) fn renew(&mut self, offer: Arc<Offer<H>>, changes: Changes) {
        self.offer = offer;
        self.tell_changes(changes);
    }

    /// Refuses a request for something that the role does not see, such as its headers.
    pub(crate) fn refuse(&mut self, id: &Id, error: &RpcError) {
        self.rpc.refuse(Some(id), false, error);
    }

    /// As many requests may be open at a time.
    pub(crate) fn set_most_requests(&mut self, most: usize) {
        self.rpc.room.set_incoming_requests(most);
    }

    /// What was negotiated with a legacy client.
    pub(crate) fn legacy_version(&self) -> Option<ProtocolVersion> {
        self.legacy.caller.as_ref().map(|caller| caller.version)
    }

    /// One message of the client's.
    pub(crate) fn handle<'a>(&mut self, message: Message<'a>, now: Instant) -> Option<ServerEvent<'a, T, H>> {
        self.rpc.watch_at(now);
        match message {
            Message::Request { id, method, params } => {
                self.request(&id, &method, Params::read(params), None, now);
                None
            }
            Message::Notification { method, params } => self.notification(method, params, now),
            Message::Response { id: Some(id), outcome } => {
                let (_, pending) = self.rpc.settle(&id, || Outcome::of(&outcome))?;
                self.settled(pending.token, outcome, now)
            }
            Message::Response { id: None, .. } => {
                self.rpc.count(|counters| counters.unknown_answers += 1);
                None
            }
        }
    }

    fn settled<'a>(
        &mut self,
        call: Call<T>,
        outcome: Result<JsonText<'a>, RpcError>,
        now: Instant,
    ) -> Option<ServerEvent<'a, T, H>> {
        match call {
            Call::Input { request, name } => {
                self.input_arrived(request, name, outcome.map(Json::from));
                None
            }
            Call::Ping => {
                if let Some(keep_alive) = &mut self.keep_alive {
                    keep_alive.answered(now);
                }
                None
            }
            Call::User { call, token } => {
                let outcome = outcome.map_err(CallError::Remote);
                Some(ServerEvent::Completed { call, token, outcome })
            }
        }
    }

    /// A call of the program's to a legacy client. The modern era has none: handlers ask for input instead.
    pub(crate) fn call<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        if let Err(why) = self.may_call(method) {
            return Err(Refused::new(why, token));
        }
        let asked = match self.asked_by_call(method, params) {
            Ok(asked) => asked,
            Err(why) => return Err(Refused::new(why, token)),
        };
        let call = CallId(self.rpc.next_number());
        let total = options.total_timeout.unwrap_or(self.offer.config.input_timeout);
        let timing = Timing::new(options.idle_timeout.unwrap_or_default(), total);
        let (splice, own) = (Splice::default(), Call::User { call, token });
        let sent = match &asked {
            Some(request) => self.rpc.call(None, method, &ParamsOf(request), splice, timing, own, now),
            None => self.rpc.call(None, method, params, splice, timing, own, now),
        };
        match sent {
            Ok(_) => Ok(call),
            Err(Refused { why, token: Call::User { token, .. } }) => Err(Refused::new(why, token)),
            Err(_) => unreachable!("a refused call gives its own token back"),
        }
    }

    fn may_call(&self, method: &str) -> Result<(), SendError> {
        if self.closed.is_some() {
            return Err(SendError::Closed);
        }
        let caller = self.legacy.caller.as_ref().filter(|_| self.legacy.operating).ok_or(SendError::NotReady)?;
        let client = &caller.capabilities;
        let known = MethodInfo::find(method).filter(|known| known.is_sent_by(Side::Server));
        let capability = known.and_then(|known| known.capability);
        if let Some(missing) = capability.filter(|capability| !capability.is_declared_by_client(client)) {
            return Err(SendError::NotSupported { method: method.into(), capability: missing.name() });
        }
        if self.rpc.has_room() { Ok(()) } else { Err(self.rpc.full()) }
    }

    /// Gives up a call of the program's.
    pub(crate) fn cancel(&mut self, call: CallId, reason: &str) {
        if !matches!(self.rpc.token(call.0), Some(Call::User { .. })) {
            return;
        }
        if let Some(Pending { token: Call::User { call, token }, .. }) = self.rpc.withdraw(call.0) {
            self.rpc.notify_cancelled(call.0, reason);
            self.queue.push_back(ServerEvent::Completed { call, token, outcome: Err(CallError::Cancelled) });
        }
    }

    /// The client sent something that is no message.
    pub(crate) fn malformed(&mut self, mut malformed: Malformed, now: Instant) {
        self.rpc.watch_at(now);
        self.rpc.malformed(&malformed);
        self.rpc.recognize(&mut malformed);
        if let Some(error) = malformed.answer() {
            self.rpc.refuse(malformed.id.as_ref(), self.wants_null_id(), &error);
        } else if let Some(id) = malformed.id.as_ref().filter(|_| malformed.response) {
            if let Some((_, pending)) = self.rpc.settle(id, || Outcome::Failed) {
                self.settled_badly(pending.token, CallError::InvalidResponse(malformed.to_string()), now);
            }
        }
        self.queue.push_back(ServerEvent::Malformed(malformed));
    }

    /// Revisions up to 2025-06-18 require the id of an error, even if it is null.
    fn wants_null_id(&self) -> bool {
        self.legacy.caller.as_ref().is_some_and(|caller| caller.version.requires_id_in_errors())
    }

    pub(crate) fn allows_batches(&self) -> bool {
        self.legacy.caller.as_ref().is_some_and(|caller| caller.version.allows_batches())
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(self.rpc.deadline(), self.keep_alive.as_deref().and_then(KeepAlive::deadline))
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some((number, pending)) = self.rpc.expire(now) {
            let after = pending.waited(now);
            if !matches!(pending.token, Call::Ping) {
                self.rpc.notify_cancelled(number, "the request timed out");
            }
            self.settled_badly(pending.token, CallError::TimedOut { after }, now);
        }
        if let Some(step) = self.keep_alive.as_mut().and_then(|keep_alive| keep_alive.due(now)) {
            self.keep_alive_step(step, now);
        }
    }

    /// A call of ours has no usable answer.
    fn settled_badly(&mut self, call: Call<T>, error: CallError, now: Instant) {
        match call {
            Call::Input { request, name } => {
                let detail = match error {
                    CallError::TimedOut { after } => alloc::format!("no answer within {after:?}"),
                    other => other.to_string(),
                };
                self.input_arrived(request, name, Err(RpcError::internal(detail)));
            }
            Call::Ping => {
                if let Some(step) = self.keep_alive.as_deref_mut().map(KeepAlive::missed) {
                    self.keep_alive_step(step, now);
                }
            }
            Call::User { call, token } => {
                self.queue.push_back(ServerEvent::Completed { call, token, outcome: Err(error) })
            }
        }
    }

    fn keep_alive_step(&mut self, step: KeepAliveStep, now: Instant) {
        match step {
            KeepAliveStep::Ping(timeout) => {
                let params = EmptyParams::default();
                let _ = self.rpc.call(
                    None,
                    Ping::NAME,
                    &params,
                    Splice::default(),
                    Timing::exactly(timeout),
                    Call::Ping,
                    now,
                );
            }
            KeepAliveStep::GiveUp { missed } => self.close(CloseReason::KeepAliveFailed { missed }),
        }
    }

    pub(crate) fn closed(&self) -> Option<&CloseReason> {
        self.closed.as_deref()
    }

    /// Whether every request of the client's has been answered, so that closing loses nothing.
    pub(crate) fn is_drained(&self) -> bool {
        self.rpc.requests().all(|(_, request)| request.data.is_subscription())
    }

    pub(crate) fn next_event(&mut self) -> Option<ServerEvent<'static, T, H>> {
        self.queue.pop_front()
    }

    /// Gives back the memory that nothing needs now.
    pub(crate) fn trim(&mut self) {
        self.rpc.trim();
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.rpc.is_idle() && self.queue.is_empty()
    }
}

impl<T, H: Clone> LinkedRole for Server<T, H> {
    type Call = Call<T>;
    type Request = ServerRequest;

    fn rpc(&self) -> &Rpc<Call<T>, ServerRequest> {
        &self.rpc
    }

    fn rpc_mut(&mut self) -> &mut Rpc<Call<T>, ServerRequest> {
        &mut self.rpc
    }

    /// Ends the connection: open subscriptions are told, handlers are told to stop, nothing more is accepted.
    fn close(&mut self, reason: CloseReason) {
        if self.closed.is_some() {
            return;
        }
        self.end_subscriptions();
        self.rpc.observe_close(&reason);
        self.closed = Some(Box::new(reason.clone()));
        // From here on nothing may be said to the client, not even a log message of the program's.
        self.legacy.operating = false;
        self.keep_alive = None;
        for (_, call) in self.rpc.abandon() {
            if let Call::User { call, token } = call {
                let outcome = Err(CallError::Closed(reason.clone()));
                self.queue.push_back(ServerEvent::Completed { call, token, outcome });
            }
        }
        let open: Vec<_> = self.rpc.requests().map(|(key, _)| key).collect();
        self.rpc.forget_requests();
        self.queue.retain(|event| !matches!(event, ServerEvent::Invoke { .. }));
        self.queue.extend(open.into_iter().map(ServerEvent::Cancelled));
    }
}
