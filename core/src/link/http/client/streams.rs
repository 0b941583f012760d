//! Streams that outlive a response: those that are opened again, the one for what comes unasked, and the one of the
//! HTTP+SSE transport of 2024-11-05.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::body::{Body, Form};
use super::config::is_sendable;
use super::exchange::{Attempts, Context, Exchange, ExchangeState, Head, Purpose, Tried, Yield, is_passing};
use super::exchanges::Exchanges;
use super::request::{self, Common};
use crate::entropy::{Entropy, Seed};
use crate::error::{CallError, CloseReason, ConnError, ConnErrorKind};
use crate::observer::Observation;
use crate::rpc::{LinkedRole, Outgoing};
use crate::url::Url;

/// The least time between two tries: a server that says `retry: 0` is not asked without pause.
const LEAST_RETRY: Duration = Duration::from_millis(50);

/// How far the waits grow between tries that bring nothing, unless the server asks for more: often enough that nobody
/// waits long for a server that is well again, and seldom enough that one that is not hardly notices.
const MOST_PAUSE: Duration = Duration::from_secs(30);

/// The most that is waited at the server's word: one that says never is asked once a day whether it means it.
const MOST_RETRY: Duration = Duration::from_secs(24 * 3600);

/// How long a stream may take to begin, and on the HTTP+SSE transport to name its endpoint.
const BEGIN_TIME: Duration = Duration::from_secs(10);

/// How long a stream has to last to be one that works, even if nothing comes on it: proxies cut those that are quiet.
const STEADY_TIME: Duration = Duration::from_secs(10);

/// What is known of streams beyond one of them.
pub(super) struct Streams {
    /// What the waits before streams are opened again are spread with.
    entropy: Option<Entropy>,
    /// How often the listening stream was opened again without bringing anything, in whichever session.
    listens_without_progress: u32,
    /// Whether the listening stream was there, and is not opened again by itself.
    pub(super) lost_listener: bool,
}

/// How messages travel.
pub(super) enum Transport {
    /// Each message is a POST, and answers come in the response.
    Streamable,
    /// The same, while the older transport is tried.
    FallingBack(Fallback),
    /// Each message is a POST, and everything from the server comes on one stream.
    Events { endpoint: Url },
}

/// The handshake, while the older transport is tried.
pub(super) struct Fallback {
    message: Outgoing,
    /// Why the newer one did not do.
    error: CallError,
}

impl Streams {
    pub(super) fn new(seed: Option<&Seed>) -> Self {
        Self { entropy: seed.map(Entropy::new), listens_without_progress: 0, lost_listener: false }
    }
}

impl Transport {
    pub(super) fn is_streamable(&self) -> bool {
        !matches!(self, Self::Events { .. })
    }

    /// The handshake, if the older transport is being tried.
    pub(super) fn fallback(&self) -> Option<&Fallback> {
        if let Self::FallingBack(fallback) = self { Some(fallback) } else { None }
    }

    /// Does not try the older transport any more. Returns the handshake, if it was tried.
    pub(super) fn abandon_fallback(&mut self) -> Option<Fallback> {
        self.fallback()?;
        match core::mem::replace(self, Self::Streamable) {
            Self::FallingBack(fallback) => Some(fallback),
            _ => None,
        }
    }
}

impl Fallback {
    pub(super) fn request_id(&self) -> i64 {
        self.message.request_id().unwrap_or_default()
    }
}

impl<T> Exchanges<T> {
    fn common(&self) -> Common<'_> {
        Common { version: self.client.spoken(), session: self.handshake.session.as_deref(), extra: &self.http.headers }
    }

    /// How long to wait before a stream is opened again: the first time as long as the server says, then longer and longer
    /// while that brings nothing.
    fn pause(&mut self, exchange: &Exchange, attempts: Attempts) -> Duration {
        let asked_for = exchange.body.events().and_then(|events| events.retry());
        let first = asked_for.map_or(self.http.reconnect_after, |asked_for| asked_for.min(MOST_RETRY)).max(LEAST_RETRY);
        let doublings = attempts.without_progress.saturating_sub(1);
        let pause = first.saturating_mul(1 << doublings.min(16)).min(MOST_PAUSE.max(first));
        let spread =
            self.streams.entropy.as_mut().filter(|_| doublings > 0).map(|entropy| u16::from_le_bytes(entropy.bytes()));
        // A quarter, in parts of 65,536.
        pause + pause / (4 << 16) * spread.unwrap_or(0).into()
    }

    /// The stream of a request broke off. If the server has given its events ids, it can be asked for the rest.
    /// Returns it if it cannot.
    pub(super) fn resume(&mut self, mut exchange: Exchange) -> Option<Exchange> {
        let brought = self.brought_by(&exchange);
        let Purpose::Request(asked) = &mut exchange.purpose else { return Some(exchange) };
        asked.attempts = asked.attempts.after(brought);
        let (number, attempts) = (asked.number, asked.attempts);
        let id = exchange.body.events().map(|events| events.last_event_id()).unwrap_or_default();
        let known = !id.is_empty() && is_sendable("Last-Event-ID", id).is_ok();
        if !known || !self.may_resume() || attempts.without_event > self.http.reconnects || !self.client.is_open(number)
        {
            return Some(exchange);
        }
        self.wait(exchange, attempts);
        None
    }

    /// What a stream that is over has brought.
    fn brought_by(&self, exchange: &Exchange) -> Yield {
        let lasted = match exchange.head {
            Head::Accepted { at, .. } if matches!(exchange.body.form, Form::Events) => self.now >= at + STEADY_TIME,
            _ => false,
        };
        // A server that tells once more what it was said to have told already brings nothing.
        let last = exchange.body.events().map(|events| events.last_event_id()).unwrap_or_default();
        let is_new = last.is_empty() || exchange.request.headers.get("last-event-id") != Some(last);
        let Body { has_event, has_message, .. } = exchange.body;
        Yield { event: has_event || lasted, progress: (has_message && is_new) || lasted }
    }

    /// Keeps a stream until its time to be opened again has come.
    fn wait(&mut self, mut exchange: Exchange, attempts: Attempts) {
        let after = self.pause(&exchange, attempts);
        self.client.observe(|| Observation::Reconnect { after, attempt: attempts.without_event });
        let at = self.now + after;
        exchange.state = ExchangeState::Waiting;
        exchange.deadline = Some(at);
        self.open.keep(exchange);
    }

    /// Opens a stream again, behind the last event that came.
    pub(super) fn reconnect(&mut self, id: u32) {
        let Some(old) = self.drop_exchange(id) else { return };
        let last = old.body.events().map(|events| String::from(events.last_event_id()));
        let url = self.endpoint("GET");
        let request = request::get(url, last.as_deref(), &self.common());
        let listens = matches!(old.purpose, Purpose::Listen(_));
        self.start(Exchange {
            context: Context { in_session: self.handshake.session.is_some(), ..self.context() },
            body: old.body.again(),
            tried: Tried { authorizations: old.tried.authorizations, ..Tried::default() },
            deadline: listens.then(|| self.now + BEGIN_TIME),
            ..Exchange::new(old.purpose, request)
        });
    }

    /// Opens the stream on which the server may speak unasked.
    pub(super) fn open_listener(&mut self) {
        let url = self.endpoint("GET");
        let request = request::get(url, None, &self.common());
        let attempts = Attempts { without_event: 0, without_progress: self.streams.listens_without_progress };
        let mut exchange = Exchange::new(Purpose::Listen(attempts), request);
        exchange.deadline = Some(self.now + BEGIN_TIME);
        self.start(exchange);
    }

    pub(super) fn drop_listener(&mut self) {
        self.drop_where(|purpose| matches!(purpose, Purpose::Listen(_)));
    }

    /// Nothing is to be heard on the listening stream for now. It is opened again later, unless there is another by then.
    pub(super) fn interrupt_listener(&mut self) {
        let listens = |exchange: &Exchange| matches!(exchange.purpose, Purpose::Listen(_)) && exchange.is_under_way();
        let running = self.open.iter().find(|(_, exchange)| listens(exchange)).map(|(id, _)| id);
        if let Some(exchange) = running.and_then(|id| self.drop_exchange(id)) {
            self.listener_over(exchange);
        }
    }

    pub(super) fn drop_events(&mut self) {
        self.drop_where(|purpose| matches!(purpose, Purpose::Events));
    }

    pub(super) fn drop_where(&mut self, unwanted: impl Fn(&Purpose) -> bool) {
        let unwanted: Vec<_> =
            self.open.iter().filter(|(_, exchange)| unwanted(&exchange.purpose)).map(|(id, _)| id).collect();
        for id in unwanted {
            self.drop_exchange(id);
        }
    }

    /// The listening stream is over. One that was never there is done without; one that was is opened again.
    pub(super) fn listener_over(&mut self, mut exchange: Exchange) {
        self.listening_decided();
        let brought = self.brought_by(&exchange);
        let Purpose::Listen(attempts) = &mut exchange.purpose else { return };
        *attempts = attempts.after(brought);
        let attempts = *attempts;
        self.streams.listens_without_progress = attempts.without_progress;
        let was_open = exchange.body.events().is_some();
        match was_open && attempts.without_event <= self.http.reconnects {
            true if self.client.closed().is_none() => self.wait(exchange, attempts),
            true => {}
            false => self.listener_lost(was_open),
        }
    }

    /// The listening stream is not opened again by itself. Whoever waits for what would come on it is told.
    pub(super) fn listener_lost(&mut self, was_open: bool) {
        if !was_open && !self.streams.lost_listener {
            return;
        }
        self.streams.lost_listener = true;
        let detail = "the stream on which the server tells of changes broke, and could not be opened again";
        self.client.end_legacy_listens(&CallError::Transport(ConnError::new(ConnErrorKind::Broken, detail)));
    }

    /// Opens the listening stream again that was given up, if somebody has subscribed since.
    pub(super) fn listen_again(&mut self) {
        if self.streams.lost_listener && self.client.has_legacy_listens() {
            let listens = self.open.iter().any(|(_, exchange)| matches!(exchange.purpose, Purpose::Listen(_)));
            if !listens {
                self.open_listener();
            }
        }
    }

    /// The server does not let this client listen. If it did before, that may mean that something else is the matter.
    pub(super) fn listener_refused(&mut self, exchange: Exchange, status: u16) {
        let was_open = exchange.body.events().is_some();
        match status {
            // Without a program that answers there never are others.
            401 | 403 if self.http.answers_challenges || self.listener_wants_authorization(&exchange) => {
                self.listener_not_allowed(exchange);
            }
            404 if was_open && exchange.context.in_session => {
                // If there can be no other session now, the next attempt to listen is the next attempt at that.
                let generation = exchange.context.generation;
                self.listener_over(exchange);
                self.session_of_generation_lost(generation);
            }
            _ if is_passing(status) => self.listener_over(exchange),
            _ => self.listener_lost(was_open),
        }
    }

    /// The server wants other credentials for the listening stream. Nobody is asked for its sake, but it is opened again
    /// when there are others.
    fn listener_not_allowed(&mut self, mut exchange: Exchange) {
        let outdated = exchange.context.credentials < self.credentials;
        exchange.purpose = Purpose::Listen(Attempts::default());
        exchange.state = ExchangeState::Refused;
        exchange.deadline = None;
        self.open.keep(exchange);
        if outdated {
            self.listen_with_other_credentials();
        }
    }

    /// There are other credentials, with which the server may let this client listen.
    pub(super) fn listen_with_other_credentials(&mut self) {
        let refused = self.open.iter().find(|(_, exchange)| matches!(exchange.state, ExchangeState::Refused));
        let Some(id) = refused.map(|(id, _)| id) else { return };
        if let Some(exchange) = self.open.get_mut(id) {
            exchange.tried.authorizations += 1;
        }
        self.reconnect(id);
    }

    /// The server does not know Streamable HTTP, it seems: tries the transport before it.
    pub(super) fn fall_back(&mut self, handshake: Outgoing, error: CallError) {
        let common = Common { version: None, session: None, extra: &self.http.headers };
        let request = request::get(self.http.url.clone(), None, &common);
        let mut exchange = Exchange::new(Purpose::Events, request);
        exchange.deadline = Some(self.now + BEGIN_TIME);
        self.start(exchange);
        self.transport = Transport::FallingBack(Fallback { message: handshake, error });
    }

    /// The server says where messages go on the HTTP+SSE transport.
    pub(super) fn endpoint_named(&mut self, id: u32, endpoint: &str) {
        let Some(fallback) = self.transport.abandon_fallback() else { return };
        let endpoint = self.http.url.join(endpoint.trim());
        match endpoint {
            // An endpoint elsewhere would be given what is meant for this server.
            Ok(endpoint) if endpoint.is_same_origin(&self.http.url) => {
                self.open.set_deadline(id, None);
                self.transport = Transport::Events { endpoint };
                self.post(fallback.message, false);
            }
            _ => {
                self.drop_exchange(id);
                let detail = "the server names an endpoint of another origin, or none";
                self.fail_call(fallback.request_id(), CallError::InvalidResponse(detail.into()));
            }
        }
    }

    /// The stream of the HTTP+SSE transport cannot be read any further.
    pub(super) fn events_broken(&mut self, detail: String) {
        match self.transport.abandon_fallback() {
            Some(fallback) => self.fail_call(fallback.request_id(), CallError::InvalidResponse(detail)),
            None => self.client.close(CloseReason::Transport(ConnError::new(ConnErrorKind::Broken, detail))),
        }
    }

    /// The stream of the HTTP+SSE transport is over, or was never there.
    pub(super) fn events_over(&mut self) {
        match self.transport.abandon_fallback() {
            Some(fallback) => match fallback.error {
                CallError::Remote(ref error) => self.answer_with(fallback.request_id(), error.clone()),
                _ => self.fail_call(fallback.request_id(), fallback.error),
            },
            // The session is the stream's, and ends with it.
            None if !self.transport.is_streamable() => self.client.close(CloseReason::PeerClosed),
            None => {}
        }
    }
}
