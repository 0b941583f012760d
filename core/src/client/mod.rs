//! The client role: it finds out which era the server speaks, makes calls, answers the server's requests for input,
//! keeps subscriptions and caches results. One program text serves both eras.
//!
//! The state of a connection changes in `negotiate` only, which `reinitialize` begins once more; the life of a call in this
//! file; what the server asks of the program is in `input`, subscriptions are in `listen`.

mod cache;
mod config;
mod event;
mod gate;
mod input;
mod link_events;
mod listen;
mod methods;
mod negotiate;
mod notification;
mod pages;
mod queue;
mod reinitialize;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde::Serialize;

use cache::{Cache, CacheKey};
pub use config::{ClientConfig, Negotiation, Peer};
#[cfg(feature = "auth")]
pub use event::StoreReply;
pub use event::{ChallengeReply, ClientEvent, Update};
use input::{Gathering, Retry, SpareRetries};
pub use input::{InputKey, InputReply, InputResponse};
use listen::LegacyListen;
use negotiate::{Current, Phase};
pub use notification::ServerNotification;
pub use pages::{PageError, PageLimits, Pages};
pub(crate) use queue::Event;

pub use crate::call::{CallId, CallOptions, decode};
use crate::error::{CallError, CloseReason, Refused, SendError};
use crate::json::{Json, JsonText, write_json};
use crate::jsonrpc::{Id, Malformed, Message, RpcError, Splice};
use crate::limits::Limits;
use crate::model::meta::is_engines_key;
use crate::model::{
    Discover, Era, LoggingLevel, Meta, Method, MethodInfo, Ping, Readable, ResultHead, ResultType, SetLevel,
    SetLevelParams, Side,
};
use crate::observer::Outcome;
pub use crate::rpc::KeepAliveConfig;
use crate::rpc::{KeepAlive, KeepAliveStep, LinkKind, LinkedRole, Pending, Rpc, Timing};
use crate::time::{Instant, earliest};

/// The client role, without the byte stream.
pub(crate) struct Client<T> {
    config: ClientConfig,
    rpc: Rpc<Call<T>, InputKey>,
    phase: Current,
    /// Whether the negotiation is gone through once more, with a server that has changed.
    reinitializing: bool,
    peer: Option<Arc<Peer>>,
    /// The members that every modern request carries in its `_meta`, as text.
    request_meta: Box<[u8]>,
    log_level: Option<LoggingLevel>,
    queue: VecDeque<Event<'static, T, Json>>,
    /// The number of the open request of each call that is in a later round; first rounds have the call's own.
    rounds: BTreeMap<CallId, i64>,
    gathering: BTreeMap<CallId, Gathering<T>>,
    legacy_listens: BTreeMap<CallId, LegacyListen<T>>,
    next_input: u64,
    cache: Cache,
    keep_alive: Option<Box<KeepAlive>>,
    scratch: Vec<u8>,
    spare_retries: SpareRetries,
    /// The requests that nobody waits for any more, for a link that has an exchange to close for each.
    cancelled: Vec<i64>,
}

/// What an open request is for.
pub(crate) enum Call<T> {
    /// `server/discover` to find out the era.
    Probe,
    /// `initialize`.
    Initialize,
    /// A keep-alive ping.
    Ping,
    /// A legacy `resources/subscribe` on behalf of a subscription.
    Subscribe(CallId),
    /// A request whose answer nobody waits for.
    Ignored,
    /// A call of the program's.
    User(UserCall<T>),
}

/// A call of the program's.
pub(crate) struct UserCall<T> {
    call: CallId,
    token: T,
    /// What to send again if the server needs input first.
    retry: Option<Box<Retry>>,
    /// Where to keep the result.
    cache: Option<Box<CacheKey>>,
    /// Whether this is a `subscriptions/listen`.
    listen: bool,
    /// The last progress, which only ever grows.
    progress: f64,
}

impl<T> Client<T> {
    /// A client on a link of this kind.
    pub(crate) fn new(config: ClientConfig, link: LinkKind) -> Self {
        Self {
            rpc: Rpc::new(&config.limits, &config.observer, link),
            config,
            phase: Current::default(),
            reinitializing: false,
            peer: None,
            request_meta: Box::default(),
            log_level: None,
            queue: VecDeque::new(),
            rounds: BTreeMap::new(),
            gathering: BTreeMap::new(),
            legacy_listens: BTreeMap::new(),
            next_input: 1,
            cache: Cache::default(),
            keep_alive: None,
            scratch: Vec::new(),
            spare_retries: SpareRetries::default(),
            cancelled: Vec::new(),
        }
    }

    /// What the server may cost.
    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(crate) fn peer(&self) -> Option<&Arc<Peer>> {
        self.peer.as_ref()
    }

    /// Starts a call.
    pub(crate) fn call<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        let known = MethodInfo::find(method);
        let peer = match self.admitted(known) {
            Ok(peer) => peer,
            Err(why) => return Err(Refused::new(why, token)),
        };
        let modern = peer.version.era() == Era::Modern;
        if let Some(gone) = known.filter(|known| !known.is_in(peer.version) && known.is_sent_by(Side::Client)) {
            return self.call_in_place_of(gone, params, options, token, now);
        }
        let mut user =
            UserCall { call: CallId(0), token, retry: None, cache: None, listen: false, progress: f64::NEG_INFINITY };
        if modern && known.is_some_and(|known| known.cacheable) {
            let mut key = CacheKey { method: method.into(), params: Vec::new() };
            if write_json(&mut key.params, params).is_ok() {
                if !options.fresh {
                    if let Some(result) = self.cache.fresh(&key, now) {
                        return Ok(self.complete_at_once(user.token, result));
                    }
                }
                user.cache = Some(Box::new(key));
            }
        }
        self.send((method, known), params, options, user, now)
    }

    /// A call that the modern era does not have, by other means.
    fn call_in_place_of<P: Serialize + ?Sized>(
        &mut self,
        gone: &MethodInfo,
        params: &P,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        if gone.name == SetLevel::NAME {
            return self.set_modern_log_level(params, token);
        }
        // Asking what the server is shows as well as a ping that it is there; from the cache it would show nothing.
        let fresh = CallOptions { fresh: true, ..options.clone() };
        self.call(Discover::NAME, params, &fresh, token, now)
    }

    /// The peer, if a call may be sent now.
    fn admitted(&self, method: Option<&MethodInfo>) -> Result<Arc<Peer>, SendError> {
        let peer = match (&*self.phase, &self.peer) {
            (Phase::Closed(_), _) => return Err(SendError::Closed),
            (Phase::Ready, Some(peer)) => peer,
            (_, Some(peer)) if self.reinitializing => peer,
            _ => return Err(SendError::NotReady),
        };
        method.map_or(Ok(()), |method| gate::check(method, peer))?;
        if self.rpc.has_room() { Ok(peer.clone()) } else { Err(self.rpc.full()) }
    }

    fn timing(&self, options: &CallOptions) -> Timing {
        let idle = options.idle_timeout.unwrap_or(self.config.idle_timeout);
        Timing::new(idle, options.total_timeout.unwrap_or(self.config.total_timeout))
    }

    /// Sends the first request of a call.
    fn send<P: Serialize + ?Sized>(
        &mut self,
        (method, known): (&str, Option<&'static MethodInfo>),
        params: &P,
        options: &CallOptions,
        mut user: UserCall<T>,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        let timing = self.timing(options);
        let number = self.rpc.next_number();
        let call = CallId(number);
        user.call = call;
        let modern = self.is_modern();
        let handled = known.filter(|known| known.handled);
        let progress = options.progress || handled.is_some();
        let mut meta = core::mem::take(&mut self.scratch);
        self.write_meta(&mut meta, modern, progress.then_some(number), options.meta.as_ref());
        let sent =
            self.rpc.call(None, method, params, Splice { members: b"", meta: &meta }, timing, Call::User(user), now);
        meta.clear();
        self.scratch = meta;
        match sent {
            Ok(sent) => {
                if let Some(method) = handled.filter(|_| modern) {
                    let retry = self.spare_retries.fill(method, self.rpc.params_of(&sent), timing);
                    if let Some(Call::User(user)) = self.rpc.token_mut(sent.number) {
                        user.retry = Some(retry);
                    }
                }
                Ok(call)
            }
            Err(Refused { why, token: Call::User(user) }) => Err(Refused::new(why, user.token)),
            Err(_) => unreachable!("a refused call gives its own token back"),
        }
    }

    fn is_modern(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.version.era() == Era::Modern)
    }

    fn write_meta(&self, out: &mut Vec<u8>, modern: bool, progress_token: Option<i64>, meta: Option<&Meta>) {
        let mut member = |name: &str, value: &dyn Fn(&mut Vec<u8>)| {
            if !out.is_empty() {
                out.push(b',');
            }
            // Writing to memory does not fail, and a text is always JSON.
            let _ = write_json(out, name);
            out.push(b':');
            value(out);
        };
        if let Some(number) = progress_token {
            member("progressToken", &|out| {
                let _ = write_json(out, &number);
            });
        }
        if let (true, Some(level)) = (modern, self.log_level) {
            member(crate::model::key::LOG_LEVEL, &|out| {
                let _ = write_json(out, &level);
            });
        }
        let others = meta.into_iter().flat_map(Meta::iter);
        for (name, value) in others.filter(|(name, _)| !is_engines_key(name)) {
            member(name, &|out| out.extend_from_slice(value.as_str().as_bytes()));
        }
        if modern {
            if !out.is_empty() {
                out.push(b',');
            }
            out.extend_from_slice(&self.request_meta);
        }
    }

    /// The modern era has no request for the log level: every request says its own.
    fn set_modern_log_level<P: Serialize + ?Sized>(&mut self, params: &P, token: T) -> Result<CallId, Refused<T>> {
        let decoded = Json::of(params).and_then(|params| SetLevelParams::read(params.as_text()));
        match decoded {
            Ok(params) => {
                self.log_level = Some(params.level);
                Ok(self.complete_at_once(token, Json::empty_object()))
            }
            Err(error) => Err(Refused::new(SendError::Unencodable(error.to_string()), token)),
        }
    }

    /// A call that needs no request.
    fn complete_at_once(&mut self, token: T, result: Json) -> CallId {
        let call = CallId(self.rpc.take_number());
        self.queue.push_back(Event::Completed { call, token, outcome: Ok(result) });
        call
    }

    /// Gives up a call. The server is told; the call completes with [`CallError::Cancelled`]. A call that is over
    /// already is left alone: cancelling races with the answer.
    pub(crate) fn cancel(&mut self, call: CallId, reason: &str, now: Instant) {
        self.rpc.watch_at(now);
        if let Some(gathering) = self.gathering.remove(&call) {
            self.queue.extend(gathering.open_inputs().map(Event::InputCancelled));
            self.fail(call, gathering.into_token(), CallError::Cancelled);
            return;
        }
        if let Some(listen) = self.legacy_listens.remove(&call) {
            self.end_legacy_listen(call, listen, CallError::Cancelled, now);
            return;
        }
        let number = self.rounds.get(&call).copied().unwrap_or(call.0);
        if !matches!(self.rpc.token(number), Some(Call::User(user)) if user.call == call) {
            return;
        }
        if let Some(Pending { token: Call::User(user), .. }) = self.rpc.withdraw(number) {
            self.cancel_request(number, reason);
            self.rounds.remove(&call);
            self.fail(call, user.token, CallError::Cancelled);
        }
    }

    /// Sends a notification.
    pub(crate) fn notify<P: Serialize + ?Sized>(&mut self, method: &str, params: &P) -> Result<(), SendError> {
        self.admitted(MethodInfo::find(method))?;
        let written = self.rpc.try_notify(None, method, params, Splice::default());
        written.map_err(|error| SendError::Unencodable(error.to_string()))
    }

    /// One message of the server's.
    pub(crate) fn handle<'a>(&mut self, message: Message<'a>, now: Instant) -> Option<Event<'a, T, JsonText<'a>>> {
        self.rpc.watch_at(now);
        match message {
            Message::Response { id: Some(id), outcome } => {
                let (_, pending) = self.rpc.settle(&id, || Outcome::of(&outcome))?;
                let waited = pending.waited(now);
                match pending.token {
                    Call::User(user) => return self.user_settled(user, outcome, waited, now),
                    own => self.settled(own, outcome, now),
                }
                None
            }
            Message::Response { id: None, outcome } => {
                self.unaddressed_error(outcome.err(), now);
                None
            }
            Message::Request { id, method, params } => self.request(id, &method, params),
            Message::Notification { method, params } => self.notification(method, params, now),
        }
    }

    /// One of the engine's own calls was answered.
    fn settled(&mut self, call: Call<T>, outcome: Result<JsonText<'_>, RpcError>, now: Instant) {
        match call {
            Call::Probe => self.probe_answered(outcome, now),
            Call::Initialize => self.initialize_answered(outcome, now),
            Call::Ping => {
                if let Some(keep_alive) = &mut self.keep_alive {
                    keep_alive.answered(now);
                }
            }
            Call::Subscribe(call) => self.legacy_subscribed(call, outcome.map(|_| ()), now),
            Call::Ignored | Call::User(_) => {}
        }
    }

    fn user_settled<'a>(
        &mut self,
        mut user: UserCall<T>,
        outcome: Result<JsonText<'a>, RpcError>,
        waited: Duration,
        now: Instant,
    ) -> Option<Event<'a, T, JsonText<'a>>> {
        self.rounds.remove(&user.call);
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return Some(completed(user, Err(CallError::Remote(error)))),
        };
        if !self.is_modern() {
            return Some(completed(user, Ok(result)));
        }
        match result_type(result) {
            ResultType::Complete => {
                if let Some(retry) = user.retry.take() {
                    self.spare_retries.put_back(retry);
                }
                if let Some(key) = &user.cache {
                    self.cache.store((**key).clone(), result, &self.config.limits, now);
                }
                Some(completed(user, Ok(result)))
            }
            ResultType::InputRequired => match self.gather(user, result, waited, now) {
                Ok(()) => None,
                Err((user, error)) => Some(completed(user, Err(error))),
            },
            other => {
                let detail = alloc::format!("the result is of the type {other}, which this call cannot have");
                Some(completed(user, Err(CallError::InvalidResponse(detail))))
            }
        }
    }

    /// The server sent something that is no message. What could be a request of a legacy server's is answered under
    /// its id; nothing else is: two peers that answer each other's errors would not stop.
    pub(crate) fn malformed(&mut self, mut malformed: Malformed, now: Instant) {
        self.rpc.watch_at(now);
        self.rpc.malformed(&malformed);
        self.rpc.recognize(&mut malformed);
        if let Some(id) = &malformed.id {
            match malformed.answer() {
                Some(error) if !self.is_modern() => self.rpc.refuse(Some(id), false, &error),
                Some(_) => {}
                None => self.invalid_answer(id, malformed.to_string(), now),
            }
        }
        self.queue.push_back(Event::Malformed(malformed));
    }

    fn invalid_answer(&mut self, id: &Id, detail: String, now: Instant) {
        let Some((_, pending)) = self.rpc.settle(id, || Outcome::Failed) else { return };
        match pending.token {
            Call::User(user) => {
                self.rounds.remove(&user.call);
                self.fail(user.call, user.token, CallError::InvalidResponse(detail));
            }
            own => {
                // The engine's own calls treat it as any other error.
                self.settled(own, Err(RpcError::internal(detail)), now);
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(self.rpc.deadline(), self.keep_alive.as_deref().and_then(KeepAlive::deadline))
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        // A legacy server that asks the user something is not slow: the user is.
        if self.rpc.requests().next().is_some() {
            self.rpc.extend_due(now);
        }
        while let Some((number, pending)) = self.rpc.expire(now) {
            let after = pending.waited(now);
            if !matches!(pending.token, Call::User(_)) {
                self.close_stream_of(number);
            }
            match pending.token {
                Call::Probe => self.probe_expired(after, now),
                Call::Initialize => self.initialize_expired(after),
                Call::Ping => self.ping_missed(now),
                Call::Subscribe(call) => self.legacy_subscribe_expired(call, after, now),
                Call::Ignored => {}
                Call::User(user) => {
                    self.cancel_request(number, "the request timed out");
                    self.rounds.remove(&user.call);
                    self.fail(user.call, user.token, CallError::TimedOut { after });
                }
            }
        }
        if let Some(step) = self.keep_alive.as_mut().and_then(|keep_alive| keep_alive.due(now)) {
            self.keep_alive_step(step, now);
        }
    }

    fn ping_missed(&mut self, now: Instant) {
        if let Some(step) = self.keep_alive.as_deref_mut().map(KeepAlive::missed) {
            self.keep_alive_step(step, now);
        }
    }

    fn keep_alive_step(&mut self, step: KeepAliveStep, now: Instant) {
        match step {
            KeepAliveStep::Ping(timeout) => {
                let params = crate::model::EmptyParams::default();
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
        match &*self.phase {
            Phase::Closed(reason) => Some(reason),
            _ => None,
        }
    }

    /// Gives back the memory that nothing needs now.
    pub(crate) fn trim(&mut self) {
        self.rpc.trim();
        self.spare_retries.trim();
        self.scratch = Vec::new();
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    /// Whether nothing is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.rpc.is_idle()
            && self.queue.is_empty()
            && self.rounds.is_empty()
            && self.gathering.is_empty()
            && self.legacy_listens.is_empty()
    }
}

impl<T> LinkedRole for Client<T> {
    type Call = Call<T>;
    type Request = InputKey;

    fn rpc(&self) -> &Rpc<Call<T>, InputKey> {
        &self.rpc
    }

    fn rpc_mut(&mut self) -> &mut Rpc<Call<T>, InputKey> {
        &mut self.rpc
    }

    fn close(&mut self, reason: CloseReason) {
        if matches!(*self.phase, Phase::Closed(_)) {
            return;
        }
        self.rpc.observe_close(&reason);
        self.phase.close(&reason);
        self.keep_alive = None;
        self.rounds.clear();
        for (number, call) in self.rpc.abandon() {
            let Call::User(user) = call else {
                self.close_stream_of(number);
                continue;
            };
            // A server that waits for what it has begun to end is not kept waiting.
            if reason == CloseReason::Requested {
                self.cancel_request(number, "the client is closing");
            } else {
                self.close_stream_of(number);
            }
            self.fail(user.call, user.token, CallError::Closed(reason.clone()));
        }
        for (call, gathering) in core::mem::take(&mut self.gathering) {
            self.queue.extend(gathering.open_inputs().map(Event::InputCancelled));
            self.fail(call, gathering.into_token(), CallError::Closed(reason.clone()));
        }
        for (call, listen) in core::mem::take(&mut self.legacy_listens) {
            self.fail(call, listen.into_token(), CallError::Closed(reason.clone()));
        }
        self.queue.extend(self.rpc.forget_requests().into_iter().map(Event::InputCancelled));
    }
}

fn completed<T>(user: UserCall<T>, outcome: Result<JsonText<'_>, CallError>) -> Event<'_, T, JsonText<'_>> {
    Event::Completed { call: user.call, token: user.token, outcome }
}

/// The type of a modern result. Servers write it first, and most results are complete, so most are told at a glance.
fn result_type(result: JsonText<'_>) -> ResultType {
    let text = result.as_str();
    if text.starts_with(r#"{"resultType":"complete""#) {
        return ResultType::Complete;
    }
    if memchr::memmem::find(text.as_bytes(), b"\"resultType\"").is_none() {
        return ResultType::Complete;
    }
    match result.read::<ResultHead>() {
        Ok(head) => head.result_type.unwrap_or(ResultType::Complete),
        Err(_) => ResultType::Other("unreadable".into()),
    }
}
