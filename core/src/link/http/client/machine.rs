//! The exchanges on connections of HTTP/1.1.

use alloc::sync::Arc;

use serde::Serialize;

use super::config::{HeaderError, HttpClientConfig};
use super::exchanges::Exchanges;
use super::open::ExchangeControl;
use super::pool::{Answers, Pool, PoolOutput};
use super::request::HttpRequest;
#[cfg(feature = "auth")]
use crate::auth::{AuthError, Redirected, StoreError, StoreOutcome};
#[cfg(feature = "auth")]
use crate::client::StoreReply;
use crate::client::{CallOptions, ChallengeReply, Client, ClientConfig, ClientEvent};
use crate::codec::http1::{Headers, ResponseHead};
use crate::error::{ConnError, Refused};
use crate::machine::{ConnId, Machine, Output, Sealed, Target};
use crate::model::ProtocolVersion;
use crate::observer::Observation;
use crate::rpc::LinkedRole;
use crate::time::{Instant, earliest};

/// An MCP client over HTTP. `T` is the token that goes in with a call and comes back with its completion.
///
/// It asks for connections by [`Output::Open`] with [`Target::Http`], several at a time: a call that waits has one, and
/// so has each stream of the server's. A connection that is refused or breaks fails the exchange on it and nothing
/// else. What that means for an adapter is [said above](crate::link::http).
///
/// ```
/// use windlass::client::ClientConfig;
/// use windlass::link::http::{HttpClient, HttpClientConfig};
/// use windlass::model::Implementation;
/// use windlass::{Instant, Machine, Output, Target};
///
/// let now = Instant::ZERO;
/// let http = HttpClientConfig::new("https://example.com/mcp")?;
/// let mut client: HttpClient<u32> = HttpClient::new(ClientConfig::new(Implementation::new("doc", "1")), http, now);
/// let Output::Open { conn, target: Target::Http(target) } = client.poll() else { panic!("a connection comes first") };
/// assert_eq!((&target.host[..], target.port, target.tls), ("example.com", 443, true));
/// assert!(client.write_buf(conn).starts_with(b"POST /mcp HTTP/1.1\r\nHost: example.com\r\n"));
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
pub struct HttpClient<T> {
    exchanges: Exchanges<T>,
    pool: Pool,
    /// Whether somebody else makes the requests, in place of the pool.
    delegates: bool,
    now: Instant,
}

/// A client whose requests of HTTP somebody else can make: a browser's `fetch`, a company's client. See
/// [`HttpClient::delegating`].
pub trait HttpExchanges: Machine {
    /// The request to be made for a [`Target::Exchange`], until its response is over.
    fn request(&self, exchange: ConnId) -> Option<Arc<HttpRequest>>;

    /// The head of a response is there. Interim ones (1xx) are not reported.
    fn response(&mut self, exchange: ConnId, status: u16, headers: &Headers, now: Instant);

    /// A part of the body of a response is there. Poll after each, for this is where messages come from.
    fn body(&mut self, exchange: ConnId, bytes: &[u8], now: Instant);
}

impl<T> HttpClient<T> {
    /// A client that begins to negotiate at once.
    pub fn new(config: ClientConfig, http: HttpClientConfig, now: Instant) -> Self {
        Self::on(Exchanges::new(config, http, now), now)
    }

    /// A client for one call, without a handshake before it: see [`HttpOneShot`](super::HttpOneShot).
    pub fn for_one_call<P: Serialize + ?Sized>(
        config: ClientConfig,
        http: HttpClientConfig,
        version: ProtocolVersion,
        call: (&str, &P, &CallOptions),
        token: T,
        now: Instant,
    ) -> Result<Self, Refused<T>> {
        Ok(Self::on(Exchanges::for_one_call(config, http, version, call, token, now)?, now))
    }

    pub(super) fn on(exchanges: Exchanges<T>, now: Instant) -> Self {
        Self { pool: Pool::new(&exchanges.http), exchanges, delegates: false, now }
    }

    /// The same, with requests made by somebody else: it never asks for a connection.
    ///
    /// Each [`Output::Open`] has [`Target::Exchange`], and means a request to be made: [`HttpExchanges::request`]. What
    /// comes back goes into [`HttpExchanges::response`] and [`HttpExchanges::body`], as it comes: a server may speak for
    /// hours in one response. [`read_eof`](Machine::read_eof) says that the response is complete, and
    /// [`conn_failed`](Machine::conn_failed) that the request could not be made or its response broke off.
    /// [`Output::Close`] gives an exchange up: its stream is to be closed at once, and whatever still comes of it is
    /// ignored. Redirects are not to be followed on the way, for only this machine knows where credentials may go.
    ///
    /// ```
    /// use windlass::client::{ClientConfig, ClientEvent};
    /// use windlass::codec::http1::Headers;
    /// use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges};
    /// use windlass::model::Implementation;
    /// use windlass::{Instant, Machine, Output, Target};
    ///
    /// let now = Instant::ZERO;
    /// let http = HttpClientConfig::new("http://localhost:3000/mcp")?;
    /// let client: HttpClient<u32> = HttpClient::new(ClientConfig::new(Implementation::new("doc", "1")), http, now);
    /// let mut client = client.delegating();
    /// let Output::Open { conn, target: Target::Exchange } = client.poll() else { panic!("it begins with a request") };
    /// let request = client.request(conn).expect("it is to be made");
    /// assert_eq!((request.method, request.headers.get("mcp-method")), ("POST", Some("server/discover")));
    ///
    /// client.response(conn, 200, &Headers::from([("Content-Type", "application/json")]), now);
    /// client.body(conn, br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#, now);
    /// client.read_eof(conn, now);
    /// assert!(matches!(client.poll(), Output::Event(ClientEvent::Ready(_))));
    /// # Ok::<(), windlass::link::http::UrlError>(())
    /// ```
    #[must_use]
    pub fn delegating(self) -> Self {
        Self { delegates: true, ..self }
    }

    client_methods!();

    /// Answers a challenge: with headers, which from now on are sent with every request in place of their namesakes, the
    /// request is made once more, and nothing is answered from the cache that was said to somebody else; without, it fails
    /// with what the server said.
    pub fn answer_challenge(
        &mut self,
        reply: ChallengeReply,
        headers: Option<&Headers>,
        now: Instant,
    ) -> Result<(), HeaderError> {
        self.now = now;
        self.exchanges.answer_challenge(reply, headers, now)
    }

    /// What the wall clock says, since 1970. It is to be told before [`stored`](Self::stored): what is stored is shared with
    /// others by that clock, and it may have been set since the client began, or have gone on while the machine slept.
    #[cfg(feature = "auth")]
    pub fn set_unix_time(&mut self, unix_time: core::time::Duration, now: Instant) {
        self.exchanges.set_unix_time(unix_time, now);
    }

    /// What came of a [`ClientEvent::Store`].
    #[cfg(feature = "auth")]
    pub fn stored(&mut self, reply: StoreReply, outcome: Result<StoreOutcome, StoreError>, now: Instant) {
        self.now = now;
        self.exchanges.stored(reply, outcome, now);
    }

    /// What came of a [`ClientEvent::Prompt`]: what the user came back with, or why there will be nothing.
    #[cfg(feature = "auth")]
    pub fn finish_login(&mut self, outcome: Result<Redirected, AuthError>, now: Instant) {
        self.now = now;
        self.exchanges.login_finished(outcome, now);
    }

    /// The role, to do something at a time.
    pub(crate) fn at(&mut self, now: Instant) -> &mut Client<T> {
        self.now = now;
        self.exchanges.at(now)
    }

    pub(crate) fn role(&self) -> &Client<T> {
        self.exchanges.role()
    }

    /// Whether nothing is open: no call, no request, no timer, no byte to write. A stream on which the server may speak
    /// unasked, and connections kept for later, do not count until the client is closed.
    pub fn is_idle(&self) -> bool {
        let closed = self.exchanges.client.closed().is_some();
        self.exchanges.is_idle() && self.pool.is_quiet() && (!closed || self.pool.is_empty())
    }
}

impl<T> Answers for Exchanges<T> {
    fn head(&mut self, exchange: u32, head: &ResponseHead, now: Instant) {
        self.response(exchange, head.status, &head.headers, now);
    }

    fn body(&mut self, exchange: u32, bytes: &[u8], now: Instant) {
        Self::body(self, exchange, bytes, now);
    }

    fn end(&mut self, exchange: u32, now: Instant) {
        Self::end(self, exchange, now);
    }

    fn failed(&mut self, exchange: u32, why: ConnError, now: Instant) {
        Self::failed(self, exchange, why, now);
    }
}

impl<T> Sealed for HttpClient<T> {}

impl<T> Machine for HttpClient<T> {
    type Event<'a>
        = ClientEvent<'a, T>
    where
        Self: 'a;

    fn read_buf(&mut self, conn: ConnId) -> &mut [u8] {
        self.pool.read_buf(conn)
    }

    fn reads(&mut self, conn: ConnId) -> bool {
        self.pool.reads(conn)
    }

    fn read_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.now = now;
        self.pool.read_done(conn, count, &mut self.exchanges, now);
    }

    fn read_eof(&mut self, conn: ConnId, now: Instant) {
        self.now = now;
        match self.delegates {
            true => self.exchanges.end(conn.0, now),
            false => self.pool.read_eof(conn, &mut self.exchanges, now),
        }
    }

    fn write_buf(&self, conn: ConnId) -> &[u8] {
        self.pool.write_buf(conn)
    }

    fn next_to_move(&mut self) -> Option<ConnId> {
        self.pool.next_to_move()
    }

    fn is_over(&self) -> bool {
        self.exchanges.has_reported_closed() && self.pool.is_empty() && self.pool.is_quiet()
    }

    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.now = now;
        if let Some(exchange) = self.pool.write_done(conn, count) {
            self.exchanges.request_sent(exchange);
        }
    }

    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant) {
        self.now = now;
        match self.delegates {
            true => self.exchanges.failed(conn.0, why, now),
            false => self.pool.conn_failed(conn, why, &mut self.exchanges, now),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.exchanges.handle_timeout(now);
        if self.pool.handle_timeout(now) {
            // When connections are not worth keeping, memory is not either.
            self.exchanges.client.trim();
        }
    }

    fn poll(&mut self) -> Output<ClientEvent<'_, T>> {
        loop {
            while let Some(control) = self.exchanges.next_control() {
                match control {
                    ExchangeControl::Start(exchange) if self.delegates => {
                        // How fast it is sent is not for this machine to know.
                        self.exchanges.request_sent(exchange);
                        return Output::Open { conn: ConnId(exchange), target: Target::Exchange };
                    }
                    ExchangeControl::Abort(exchange) if self.delegates => return Output::Close(ConnId(exchange)),
                    control => self.control(control),
                }
            }
            if self.exchanges.is_over() {
                self.pool.shut();
            }
            match self.pool.next_output() {
                Some(PoolOutput::Open(conn, target)) => {
                    self.exchanges.client.observe(|| Observation::Opened(conn));
                    return Output::Open { conn, target: Target::Http(target) };
                }
                Some(PoolOutput::Close(conn)) => {
                    self.exchanges.client.observe(|| Observation::Closed(conn));
                    return Output::Close(conn);
                }
                None => {}
            }
            if self.exchanges.has_event() {
                return match self.exchanges.take_event() {
                    Some(event) => Output::Event(event),
                    None => Output::Idle { deadline: Some(self.now) },
                };
            }
            if !self.exchanges.advance() {
                if self.pool.lets_go() {
                    continue;
                }
                return Output::Idle { deadline: earliest(self.exchanges.deadline(), self.pool.deadline()) };
            }
        }
    }
}

impl<T> HttpClient<T> {
    /// Has the pool make a request, or give it up.
    fn control(&mut self, control: ExchangeControl) {
        match control {
            ExchangeControl::Start(exchange) => {
                let Some(request) = self.exchanges.request(exchange) else { return };
                if let Err(why) = self.pool.start(exchange, request.clone(), self.now) {
                    self.exchanges.failed(exchange, why, self.now);
                }
            }
            ExchangeControl::Abort(exchange) => self.pool.abort(exchange),
        }
    }
}

impl<T> HttpExchanges for HttpClient<T> {
    fn request(&self, exchange: ConnId) -> Option<Arc<HttpRequest>> {
        self.exchanges.request(exchange.0).cloned()
    }

    fn response(&mut self, exchange: ConnId, status: u16, headers: &Headers, now: Instant) {
        self.now = now;
        self.exchanges.response(exchange.0, status, headers, now);
    }

    fn body(&mut self, exchange: ConnId, bytes: &[u8], now: Instant) {
        self.now = now;
        self.exchanges.body(exchange.0, bytes, now);
    }
}
