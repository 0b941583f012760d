//! A client over exchanges: requests of HTTP that somebody makes, responses that come back.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use super::closing::Closing;
use super::config::{HeaderError, HttpClientConfig, check_header};
use super::events::Held;
use super::exchange::{Ending, Exchange, ExchangeId, Purpose, Stage};
use super::redirects::Moved;
use super::renewing::Suspect;
use super::request::HttpRequest;
use super::sending::{Gate, Mismatch, Parked};
use super::streams::{Fallback, Transport};
use super::tools::KnownTools;
use super::turns::Turns;
use crate::client::{CallOptions, ChallengeReply, Client, ClientConfig, ClientEvent, Event};
use crate::codec::http1::Headers;
use crate::entropy::Entropy;
use crate::error::{CloseReason, ConnError, Refused};
use crate::json::Json;
use crate::model::ProtocolVersion;
use crate::session::LinkKind;
use crate::table::Table;
use crate::time::{Instant, earliest};

/// An MCP client for a program that makes requests of HTTP by its own means: a browser's `fetch`, a company's client.
///
/// Each [`Start`](ExchangeOutput::Start) is a request to be made; what comes back goes into [`response`](Self::response),
/// [`body`](Self::body) and [`end`](Self::end), or [`failed`](Self::failed). Bodies are to be handed over as they come: a
/// server may speak for hours in one. Redirects are not to be followed on the way, for only this machine knows where
/// credentials may go.
///
/// Programs that have sockets use [`HttpClient`](super::HttpClient), which is this on HTTP/1.1.
///
/// ```
/// use windlass::Instant;
/// use windlass::client::{ClientConfig, ClientEvent, Event};
/// use windlass::codec::http1::Headers;
/// use windlass::link::http::{Exchanges, ExchangeOutput, HttpClientConfig};
/// use windlass::model::Implementation;
///
/// let now = Instant::ZERO;
/// let http = HttpClientConfig::new("http://localhost:3000/mcp")?;
/// let mut client: Exchanges<u32> = Exchanges::new(ClientConfig::new(Implementation::new("doc", "1")), http, now);
/// let ExchangeOutput::Start { exchange, request } = client.poll() else { panic!("it begins with a request") };
/// assert_eq!((request.method, request.headers.get("mcp-method")), ("POST", Some("server/discover")));
///
/// client.response(exchange, 200, &Headers::from([("Content-Type", "application/json")]), now);
/// client.body(exchange, br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#, now);
/// client.end(exchange, now);
/// assert!(matches!(client.poll(), ExchangeOutput::Event(ClientEvent::Ready(_))));
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
pub struct Exchanges<T> {
    pub(super) client: Client<T>,
    pub(super) http: HttpClientConfig,
    pub(super) now: Instant,
    pub(super) exchanges: Table<u64, Box<Exchange>>,
    next_exchange: u64,
    pub(super) timers: Table<(Instant, u64), ()>,
    /// Exchanges that something came for.
    pub(super) ready: VecDeque<u64>,
    pub(super) controls: VecDeque<Control>,
    pub(super) turns: Turns,
    /// What the waits before streams are opened again are spread with.
    pub(super) entropy: Option<Entropy>,
    /// How often the listening stream was opened again without bringing anything, in whichever session.
    pub(super) fruitless_listens: u32,
    /// Whether the listening stream was there, and was given up.
    pub(super) lost_listener: bool,
    pub(super) gate: Gate,
    /// Messages that were taken back, to be sent before all others.
    pub(super) parked: VecDeque<Parked>,
    /// Calls that were refused as if the server had changed, until it is known whether it has.
    pub(super) suspects: Vec<Suspect>,
    /// When one was last a reason to ask the server.
    pub(super) suspected_at: Option<Instant>,
    /// The session's id.
    pub(super) session: Option<String>,
    /// How often client and server have begun anew.
    pub(super) beginnings: u32,
    pub(super) credentials: u32,
    pub(super) transport: Transport,
    pub(super) fallback: Option<Fallback>,
    pub(super) moved: Moved,
    pub(super) tools: KnownTools,
    /// Calls that wait for a fresh listing of the tools, by the number of the request for it.
    pub(super) mismatches: BTreeMap<i64, Mismatch>,
    pub(super) closing: Closing,
    started: bool,
    /// Whether to close when the only call is over.
    pub(super) only_call: bool,
    /// What is given out next.
    pub(super) event: Option<Event<'static, T, Held>>,
    /// What the last event borrows from, if it had JSON of its own.
    pub(super) borrowed: Option<Json>,
}

/// What [`Exchanges::poll`] wants next.
#[derive(Debug)]
pub enum ExchangeOutput<'a, T> {
    /// Something for the program.
    Event(ClientEvent<'a, T>),
    /// Make this request.
    Start {
        /// The name by which the machine knows the exchange.
        exchange: ExchangeId,
        /// The request.
        request: Arc<HttpRequest>,
    },
    /// Give this exchange up: close its stream at once. Whatever still comes of it is ignored.
    Abort(ExchangeId),
    /// Nothing more until a response, a call or the deadline comes.
    Idle {
        /// When to call [`Exchanges::handle_timeout`].
        deadline: Option<Instant>,
    },
}

/// What is to be done about exchanges.
pub(super) enum Control {
    Start(u64),
    Abort(u64),
}

impl<T> Exchanges<T> {
    /// A client that begins to negotiate at once.
    pub fn new(config: ClientConfig, http: HttpClientConfig, now: Instant) -> Self {
        Self {
            client: Client::new(config, LinkKind::Exchanges),
            entropy: http.seed.as_ref().map(Entropy::new),
            fruitless_listens: 0,
            lost_listener: false,
            http,
            now,
            exchanges: Table::new(),
            next_exchange: 1,
            timers: Table::new(),
            ready: VecDeque::new(),
            controls: VecDeque::new(),
            turns: Turns::default(),
            gate: Gate::Open,
            parked: VecDeque::new(),
            suspects: Vec::new(),
            suspected_at: None,
            session: None,
            beginnings: 0,
            credentials: 0,
            transport: Transport::Streamable,
            fallback: None,
            moved: Moved::default(),
            tools: KnownTools::default(),
            mismatches: BTreeMap::new(),
            closing: Closing::No,
            started: false,
            only_call: false,
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
        let mut exchanges = Self { started: true, only_call: true, ..Self::new(config, http, now) };
        exchanges.client.call_unasked(version, method, params, options, token, now)?;
        Ok(exchanges)
    }

    client_methods!();

    /// Answers a challenge: with headers, which from now on are sent with every request in place of their namesakes, the
    /// request is made once more, and nothing is answered from the cache that was told to somebody else; without, it fails
    /// with what the server said.
    pub fn answer_challenge(
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

    /// Whether nothing is open: no call, no request, no timer, nothing to send. A stream on which the server may speak
    /// unasked does not count until the client is closed.
    pub fn is_idle(&self) -> bool {
        let standing = |exchange: &Exchange| {
            matches!(exchange.purpose, Purpose::Listen(_) | Purpose::Events) && self.client.closed().is_none()
        };
        self.client.is_idle()
            && self.client.outbox().len() == 0
            && self.parked.is_empty()
            && self.mismatches.is_empty()
            && matches!(self.gate, Gate::Open)
            && self.controls.is_empty()
            && self.event.is_none()
            && self.exchanges.iter().all(|(_, exchange)| standing(exchange))
    }

    /// The head of a response is there. Interim ones (1xx) are not to be told.
    pub fn response(&mut self, exchange: ExchangeId, status: u16, headers: &Headers, now: Instant) {
        self.now = now;
        if self.exchanges.get(&exchange.0).is_some_and(|exchange| matches!(exchange.stage, Stage::Asked)) {
            self.head(exchange.0, status, headers);
        }
    }

    /// A part of the body of a response is there. Poll after each, for this is where messages come from.
    pub fn body(&mut self, exchange: ExchangeId, bytes: &[u8], now: Instant) {
        self.now = now;
        let Some(open) = self.exchanges.get_mut(&exchange.0) else { return };
        if !matches!(open.stage, Stage::Answering) || open.body.overflowed {
            return;
        }
        open.body.feed(bytes, self.client.limits());
        self.ready.push_back(exchange.0);
    }

    /// A response is complete.
    pub fn end(&mut self, exchange: ExchangeId, now: Instant) {
        self.over(exchange, Ending::Complete, now);
    }

    /// A request could not be made, or its response broke off.
    pub fn failed(&mut self, exchange: ExchangeId, why: ConnError, now: Instant) {
        self.over(exchange, Ending::Broken(why), now);
    }

    fn over(&mut self, exchange: ExchangeId, ending: Ending, now: Instant) {
        self.now = now;
        let Some(open) = self.exchanges.get_mut(&exchange.0).filter(|exchange| exchange.is_running()) else { return };
        if matches!(ending, Ending::Complete) {
            open.body.end();
        }
        open.stage = Stage::Over(ending);
        self.turn_over(exchange.0);
        self.ready.push_back(exchange.0);
    }

    /// The deadline has come. Calling it early or twice is harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some((&(at, exchange), ())) = self.timers.first() {
            if at > now {
                break;
            }
            self.timers.remove(&(at, exchange));
            if let Some(open) = self.exchanges.get_mut(&exchange) {
                open.deadline = None;
                self.expired(exchange);
            }
        }
        self.gate_expired();
        self.client.handle_timeout(now);
        self.closing_expired();
    }

    /// What the machine wants next. Call it until it is [`ExchangeOutput::Idle`].
    pub fn poll(&mut self) -> ExchangeOutput<'_, T> {
        loop {
            match self.next_control() {
                Some(Control::Start(exchange)) => {
                    // How fast it is sent is not for this machine to know.
                    self.request_sent(exchange);
                    if let Some(open) = self.exchanges.get(&exchange) {
                        return ExchangeOutput::Start { exchange: ExchangeId(exchange), request: open.request.clone() };
                    }
                    continue;
                }
                Some(Control::Abort(exchange)) => return ExchangeOutput::Abort(ExchangeId(exchange)),
                None => {}
            }
            if !self.advance() {
                return ExchangeOutput::Idle { deadline: self.deadline() };
            }
            if self.event.is_some() {
                break;
            }
        }
        match self.take_event() {
            Some(event) => ExchangeOutput::Event(event),
            // The call ended between the update and now: there is nobody to tell.
            None => ExchangeOutput::Idle { deadline: Some(Instant::ZERO) },
        }
    }

    pub(super) fn request(&self, exchange: u64) -> Option<&Arc<HttpRequest>> {
        self.exchanges.get(&exchange).map(|exchange| &exchange.request)
    }

    /// Whether there is nothing left to do but to say that it is over.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.closing, Closing::Done | Closing::Told)
    }

    pub(super) fn has_told_closed(&self) -> bool {
        matches!(self.closing, Closing::Told)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(&(at, _), ())| at);
        let other = earliest(self.gate.deadline(), self.closing.deadline());
        earliest(earliest(timer, other), self.client.deadline())
    }

    /// Goes on until there is an event, something to do about exchanges, or nothing to do. Returns whether there is
    /// something.
    pub(super) fn advance(&mut self) -> bool {
        self.borrowed = None;
        if !core::mem::replace(&mut self.started, true) && self.client.closed().is_none() {
            self.client.start(self.now);
        }
        self.listen_again();
        loop {
            while let Some(number) = self.client.next_given_up() {
                self.call_given_up(number);
            }
            if self.event.is_some() || !self.controls.is_empty() {
                return true;
            }
            if let Some(event) = self.client.next_event() {
                self.prepare(event.hold(Held::Own));
                continue;
            }
            self.client.close_if_unread();
            if self.client.closed().is_some() {
                if self.advance_closing() {
                    continue;
                }
            } else if self.send_next() {
                continue;
            }
            if let Some(exchange) = self.ready.pop_front() {
                self.receive(exchange);
            } else if self.only_call && self.client.is_idle() && self.client.closed().is_none() {
                self.client.close(CloseReason::Requested);
            } else {
                return false;
            }
        }
    }

    /// Opens an exchange.
    pub(super) fn open(&mut self, mut exchange: Exchange) -> u64 {
        exchange.credentials = self.credentials;
        exchange.unsent_bytes = exchange.request.body.len();
        self.client.add_unsent(exchange.unsent_bytes);
        let id = self.put_back(exchange);
        self.controls.push_back(Control::Start(id));
        id
    }

    /// Puts an exchange on the table that nobody is at.
    pub(super) fn put_back(&mut self, exchange: Exchange) -> u64 {
        let id = self.next_exchange;
        self.next_exchange += 1;
        if let Some(deadline) = exchange.deadline {
            self.timers.insert((deadline, id), ());
        }
        self.exchanges.insert(id, Box::new(exchange));
        id
    }

    /// Takes an exchange off the table. If somebody is still at it, it is aborted.
    pub(super) fn drop_exchange(&mut self, id: u64) -> Option<Exchange> {
        self.request_sent(id);
        self.turn_over(id);
        let exchange = self.exchanges.remove(&id)?;
        if let Some(deadline) = exchange.deadline {
            self.timers.remove(&(deadline, id));
        }
        if exchange.is_running() {
            let unsent =
                self.controls.iter().position(|control| matches!(control, Control::Start(other) if *other == id));
            match unsent {
                Some(at) => drop(self.controls.remove(at)),
                None if self.turns.give_up(id) => {}
                None => self.controls.push_back(Control::Abort(id)),
            }
        }
        Some(*exchange)
    }

    /// A request is sent, or will not be.
    pub(super) fn request_sent(&mut self, id: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            self.client.remove_unsent(core::mem::take(&mut exchange.unsent_bytes));
        }
    }

    /// Sets, changes or ends the deadline of an exchange.
    pub(super) fn set_deadline(&mut self, id: u64, deadline: Option<Instant>) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        if let Some(old) = core::mem::replace(&mut exchange.deadline, deadline) {
            self.timers.remove(&(old, id));
        }
        if let Some(deadline) = deadline {
            self.timers.insert((deadline, id), ());
        }
    }
}
