//! A client over exchanges: requests of HTTP that somebody makes, responses that come back.

use alloc::sync::Arc;

use serde::Serialize;

use super::authorizing::Authorizing;
use super::closing::Closing;
use super::config::{HeaderError, HttpClientConfig, check_header};
use super::events::Held;
use super::exchange::{Context, Exchange, ExchangeState, Outcome, Purpose};
use super::handshake::Handshake;
use super::open::{ExchangeControl, OpenExchanges};
use super::redirects::Moved;
use super::request::HttpRequest;
use super::streams::{Streams, Transport};
use super::tools::KnownTools;
use crate::client::{CallOptions, ChallengeReply, Client, ClientConfig, Event};
use crate::codec::http1::Headers;
use crate::error::{CloseReason, ConnError, ConnErrorKind, Refused};
use crate::json::Json;
use crate::model::ProtocolVersion;
use crate::observer::{Observation, Phase};
use crate::rpc::{LinkKind, LinkedRole};
use crate::time::{Instant, earliest};

/// The role on exchanges, whoever makes them: it says which to make and which to abort, and is told what comes of them.
pub(super) struct Exchanges<T> {
    pub(super) client: Client<T>,
    pub(super) http: HttpClientConfig,
    pub(super) now: Instant,
    pub(super) open: OpenExchanges,
    pub(super) handshake: Handshake,
    /// How often the program has given other credentials.
    pub(super) credentials: u32,
    pub(super) authorizing: Authorizing,
    pub(super) transport: Transport,
    pub(super) streams: Streams,
    pub(super) moved: Moved,
    pub(super) tools: KnownTools,
    pub(super) closing: Closing,
    course: Course,
    /// What is given out next.
    pub(super) event: Option<Event<'static, T, Held>>,
    /// What the last event borrows from, if it had JSON of its own.
    pub(super) borrowed: Option<Json>,
}

/// What is made of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// It is negotiated when it is first polled.
    Fresh,
    /// It is negotiated, and then whatever the program wants.
    Negotiated,
    /// One call without negotiation.
    OneCall,
}

impl<T> Exchanges<T> {
    /// A client that begins to negotiate at once.
    pub(super) fn new(config: ClientConfig, http: HttpClientConfig, now: Instant) -> Self {
        Self {
            client: Client::new(config, LinkKind::Exchanges),
            streams: Streams::new(http.seed.as_ref()),
            authorizing: Authorizing::new(&http),
            http,
            now,
            open: OpenExchanges::default(),
            handshake: Handshake::default(),
            credentials: 0,
            transport: Transport::Streamable,
            moved: Moved::default(),
            tools: KnownTools::default(),
            closing: Closing::No,
            course: Course::Fresh,
            event: None,
            borrowed: None,
        }
    }

    /// A client that takes a revision for granted, makes one call and closes.
    pub(super) fn for_one_call<P: Serialize + ?Sized>(
        config: ClientConfig,
        http: HttpClientConfig,
        version: ProtocolVersion,
        call: (&str, &P, &CallOptions),
        token: T,
        now: Instant,
    ) -> Result<Self, Refused<T>> {
        let (method, params, options) = call;
        let mut exchanges = Self { course: Course::OneCall, ..Self::new(config, http, now) };
        exchanges.client.call_unasked(version, method, params, options, token, now)?;
        Ok(exchanges)
    }

    pub(super) fn makes_one_call(&self) -> bool {
        self.course == Course::OneCall
    }

    /// What is so now, for an exchange in no session.
    pub(super) fn context(&self) -> Context {
        let generation = self.handshake.generation;
        Context { generation, in_session: false, credentials: self.credentials }
    }

    /// See [`HttpClient::answer_challenge`](super::HttpClient::answer_challenge).
    pub(super) fn answer_challenge(
        &mut self,
        reply: ChallengeReply,
        headers: Option<&Headers>,
        now: Instant,
    ) -> Result<(), HeaderError> {
        self.now = now;
        let checked =
            headers.map_or(Ok(()), |headers| headers.iter().try_for_each(|(name, value)| check_header(name, value)));
        let headers = headers.filter(|_| checked.is_ok());
        if let Some(headers) = headers {
            self.http.headers = super::request::replaced(&self.http.headers, headers);
            self.credentials += 1;
            self.client.drop_cache();
            self.listen_with_other_credentials();
        }
        self.challenge_answered(reply.exchange, headers.is_some());
        checked
    }

    /// The role, to do something at a time.
    pub(super) fn at(&mut self, now: Instant) -> &mut Client<T> {
        self.now = now;
        &mut self.client
    }

    pub(super) fn role(&self) -> &Client<T> {
        &self.client
    }

    /// Whether nothing is open. A stream on which the server may speak unasked does not count until the client is closed.
    pub(super) fn is_idle(&self) -> bool {
        let standing = |exchange: &Exchange| {
            matches!(exchange.purpose, Purpose::Listen(_) | Purpose::Events) && self.client.closed().is_none()
        };
        self.client.is_idle()
            && self.client.outbox().len() == 0
            && self.handshake.is_idle()
            && self.authorizing.is_idle()
            && self.tools.is_idle()
            && !self.open.has_control()
            && self.event.is_none()
            && self.open.iter().all(|(_, exchange)| standing(exchange))
    }

    /// The head of a response is there.
    pub(super) fn response(&mut self, id: u32, status: u16, headers: &Headers, now: Instant) {
        self.now = now;
        if self.open.get(id).is_some_and(|exchange| matches!(exchange.state, ExchangeState::Asked)) {
            self.head(id, status, headers);
        }
    }

    /// A part of the body of a response is there.
    pub(super) fn body(&mut self, id: u32, bytes: &[u8], now: Instant) {
        self.now = now;
        let Some(open) = self.open.get_mut(id) else { return };
        if !matches!(open.state, ExchangeState::Answering) || open.body.overflowed {
            return;
        }
        open.body.feed(bytes, self.client.limits());
        self.open.mark_ready(id);
    }

    /// A response is complete.
    pub(super) fn end(&mut self, id: u32, now: Instant) {
        self.now = now;
        if let Some(exchange) = self.open.over(id, Outcome::Complete) {
            exchange.body.end();
            self.open.mark_ready(id);
        }
    }

    /// A request could not be made, or its response broke off.
    pub(super) fn failed(&mut self, id: u32, why: ConnError, now: Instant) {
        self.now = now;
        if self.open.get(id).is_some_and(Exchange::is_under_way) {
            self.client.observe(|| Observation::Failed { phase: Phase::Transport, error: &why });
        }
        if self.open.over(id, Outcome::Broken(why)).is_some() {
            self.open.mark_ready(id);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(id) = self.open.next_expired(now) {
            self.expired(id);
        }
        self.authorization_expired();
        self.gate_expired();
        self.client.handle_timeout(now);
        self.closing_expired();
    }

    /// What is to be done next about exchanges.
    pub(super) fn next_control(&mut self) -> Option<ExchangeControl> {
        let held = !self.may_send();
        loop {
            let control = self.open.next_control(self.http.connections.max(1), held)?;
            match control {
                ExchangeControl::Start(id) if !self.add_headers(id) || !self.authorize(id) => {}
                control => return Some(control),
            }
        }
    }

    /// Adds the headers that the program has for a request that is about to be made. Returns whether it can be made.
    fn add_headers(&mut self, id: u32) -> bool {
        let Some(source) = &self.http.request_headers else { return true };
        let Some(exchange) = self.open.get_mut(id) else { return true };
        if matches!(exchange.purpose, Purpose::Authorization) {
            return true;
        }
        let request = Arc::make_mut(&mut exchange.request);
        let mut headers = Headers::new();
        for (name, value) in source.headers(request.method, &request.url) {
            if let Err(why) = check_header(&name, &value) {
                let detail = alloc::format!("the program's header {name}: {why}");
                self.failed(id, ConnError::new(ConnErrorKind::NotOpened, detail), self.now);
                return false;
            }
            headers.push(&name, &value);
        }
        request.headers = super::request::replaced(&request.headers, &headers);
        true
    }

    pub(super) fn request(&self, exchange: u32) -> Option<&Arc<HttpRequest>> {
        self.open.get(exchange).map(|exchange| &exchange.request)
    }

    /// Whether there is nothing left to do but to say that it is over.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.closing, Closing::Done | Closing::Reported)
    }

    pub(super) fn has_reported_closed(&self) -> bool {
        matches!(self.closing, Closing::Reported)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let other = earliest(self.handshake.deadline(), self.closing.deadline());
        let other = earliest(other, self.authorizing.deadline());
        earliest(earliest(self.open.deadline(), other), self.client.deadline())
    }

    /// Goes on until there is an event, something to do about exchanges, or nothing to do. Returns whether there is
    /// something.
    pub(super) fn advance(&mut self) -> bool {
        self.borrowed = None;
        if self.course == Course::Fresh {
            self.course = Course::Negotiated;
            if self.client.closed().is_none() {
                self.client.start(self.now);
            }
        }
        self.listen_again();
        loop {
            while let Some(number) = self.client.next_cancelled() {
                self.call_cancelled(number);
            }
            if self.event.is_some() || self.open.has_control() {
                return true;
            }
            if let Some(event) = self.client.next_event() {
                self.prepare(event.hold(Held::Own));
                continue;
            }
            if self.advance_authorization() {
                // Whatever waited for it may go out now.
                return true;
            }
            self.client.close_if_unread();
            if self.client.closed().is_some() {
                if self.advance_closing() {
                    continue;
                }
            } else if self.send_next() {
                continue;
            }
            if let Some(exchange) = self.open.next_ready() {
                self.receive(exchange);
            } else if self.makes_one_call() && self.client.is_idle() && self.client.closed().is_none() {
                self.client.close(CloseReason::Requested);
            } else {
                return false;
            }
        }
    }

    /// Adds an exchange, to be made with the credentials of now.
    pub(super) fn start(&mut self, mut exchange: Exchange) {
        exchange.context.credentials = self.credentials;
        exchange.unsent_bytes = exchange.request.body.len();
        self.client.add_unsent(exchange.unsent_bytes);
        self.open.start(exchange);
    }

    /// Takes an exchange out. If it is being made, it is aborted.
    pub(super) fn drop_exchange(&mut self, id: u32) -> Option<Exchange> {
        self.request_sent(id);
        self.open.remove(id)
    }

    /// A request is sent, or will not be.
    pub(super) fn request_sent(&mut self, id: u32) {
        if let Some(exchange) = self.open.get_mut(id) {
            self.client.remove_unsent(core::mem::take(&mut exchange.unsent_bytes));
        }
    }
}
