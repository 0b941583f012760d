//! The exchanges on connections of HTTP/1.1.

use alloc::boxed::Box;

use serde::Serialize;

use super::carrier::{Carried, Carrier};
use super::config::{HeaderError, HttpClientConfig};
use super::exchange::ExchangeId;
use super::exchanges::{Control, Exchanges};
use super::pool::{Answers, Pool, PoolOutput};
use crate::client::{CallOptions, ChallengeReply, Client, ClientConfig, ClientEvent};
use crate::codec::http1::{Headers, ResponseHead};
use crate::error::{ConnError, Refused};
use crate::machine::{ConnId, Machine, Output, Sealed, Target};
use crate::model::ProtocolVersion;
use crate::observer::Observation;
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
    /// Who makes the requests, if it is not the pool.
    carrier: Option<Box<dyn Carrier>>,
    /// How much of what it tells has been taken in since the machine was idle.
    news: usize,
    now: Instant,
}

/// How much of what a carrier tells is taken in before its driver looks after other things: a server may speak faster than
/// anybody listens.
const NEWS_AT_ONCE: usize = 16;

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
        Self { pool: Pool::new(&exchanges.http), exchanges, carrier: None, news: 0, now }
    }

    /// The same, with requests made by somebody else: it never asks for a connection.
    #[must_use]
    pub fn through(self, carrier: Box<dyn Carrier>) -> Self {
        Self { carrier: Some(carrier), ..self }
    }

    client_methods!();

    /// Answers a challenge: with headers, which from now on are sent with every request in place of their namesakes, the
    /// request is made once more; without, it fails with what the server said.
    pub fn answer_challenge(
        &mut self,
        reply: ChallengeReply,
        headers: Option<&Headers>,
        now: Instant,
    ) -> Result<(), HeaderError> {
        self.now = now;
        self.exchanges.answer_challenge(reply, headers, now)
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
    fn head(&mut self, exchange: u64, head: &ResponseHead, now: Instant) {
        self.response(ExchangeId(exchange), head.status, &head.headers, now);
    }

    fn body(&mut self, exchange: u64, bytes: &[u8], now: Instant) {
        Self::body(self, ExchangeId(exchange), bytes, now);
    }

    fn end(&mut self, exchange: u64, now: Instant) {
        Self::end(self, ExchangeId(exchange), now);
    }

    fn failed(&mut self, exchange: u64, why: ConnError, now: Instant) {
        Self::failed(self, ExchangeId(exchange), why, now);
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
        self.pool.read_eof(conn, &mut self.exchanges, now);
    }

    fn write_buf(&self, conn: ConnId) -> &[u8] {
        self.pool.write_buf(conn)
    }

    fn next_to_move(&mut self) -> Option<ConnId> {
        self.pool.next_to_move()
    }

    fn is_over(&self) -> bool {
        self.exchanges.has_told_closed() && self.pool.is_empty() && self.pool.is_quiet()
    }

    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.now = now;
        if let Some(exchange) = self.pool.write_done(conn, count) {
            self.exchanges.request_sent(exchange);
        }
    }

    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant) {
        self.now = now;
        self.pool.conn_failed(conn, why, &mut self.exchanges, now);
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
                self.control(control);
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
                if self.news == NEWS_AT_ONCE {
                    self.news = 0;
                    return Output::Idle { deadline: Some(self.now) };
                }
                if let Some((exchange, news, at)) = self.carrier.as_mut().and_then(|carrier| carrier.next()) {
                    self.news += 1;
                    self.take(exchange, news, at);
                    continue;
                }
                self.news = 0;
                if self.pool.lets_go() {
                    continue;
                }
                return Output::Idle { deadline: earliest(self.exchanges.deadline(), self.pool.deadline()) };
            }
        }
    }
}

impl<T> HttpClient<T> {
    fn control(&mut self, control: Control) {
        if let Some(carrier) = &mut self.carrier {
            match control {
                Control::Start(exchange) => {
                    self.exchanges.request_sent(exchange);
                    if let Some(request) = self.exchanges.request(exchange) {
                        carrier.start(ExchangeId(exchange), request.clone());
                    }
                }
                Control::Abort(exchange) => carrier.abort(ExchangeId(exchange)),
            }
            return;
        }
        match control {
            Control::Start(exchange) => {
                let Some(request) = self.exchanges.request(exchange) else { return };
                if let Err(why) = self.pool.start(exchange, request.clone(), self.now) {
                    self.exchanges.failed(ExchangeId(exchange), why, self.now);
                }
            }
            Control::Abort(exchange) => self.pool.abort(exchange),
        }
    }

    /// Takes in what came of a request that was made elsewhere.
    fn take(&mut self, exchange: ExchangeId, news: Carried, at: Instant) {
        // It may have waited while other things happened.
        self.now = self.now.max(at);
        match news {
            Carried::Response { status, headers } => self.exchanges.response(exchange, status, &headers, self.now),
            Carried::Body(bytes) => self.exchanges.body(exchange, &bytes, self.now),
            Carried::End => self.exchanges.end(exchange, self.now),
            Carried::Failed(why) => self.exchanges.failed(exchange, why, self.now),
        }
    }
}
