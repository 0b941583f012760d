//! Either link behind one type, for adapters whose handles work the same over both.

#[cfg(feature = "http")]
use alloc::boxed::Box;
#[cfg(feature = "http")]
use alloc::sync::Arc;

use serde::Serialize;

#[cfg(feature = "http")]
use super::http::{HeaderError, HttpClient, HttpExchanges, HttpRequest, HttpServer};
use super::stdio::{StdioClient, StdioServer};
#[cfg(feature = "http")]
use crate::client::ChallengeReply;
use crate::client::{CallId, CallOptions, Client, ClientEvent};
#[cfg(feature = "http")]
use crate::codec::http1::Headers;
use crate::error::{ConnError, Refused, SendError};
use crate::jsonrpc::RpcError;
use crate::machine::{ConnId, Machine, Output, Sealed};
use crate::model::LoggingMessageParams;
use crate::server::{Registry, Reply, ReplyTo, ServerEvent};
use crate::session::RequestKey;
use crate::time::Instant;

/// A server on a stream of its own, or behind an endpoint of HTTP.
///
/// ```
/// use windlass::link::AnyServer;
/// use windlass::link::stdio::StdioServer;
/// use windlass::model::Implementation;
/// use windlass::server::{Registry, ServerConfig};
/// use windlass::{Instant, Machine, Output, Seed};
///
/// let config = ServerConfig::new(Implementation::new("doc", "1"));
/// let stdio = StdioServer::<(), ()>::new(config, Registry::new(), &Seed::from_number(1), Instant::ZERO);
/// let mut server = AnyServer::from(stdio);
/// assert!(matches!(server.poll(), Output::Open { .. }));
/// ```
#[allow(clippy::large_enum_variant, reason = "there is one for each connection, and the small one has no box to cross")]
pub enum AnyServer<T, H> {
    /// On a byte stream.
    Stdio(StdioServer<T, H>),
    /// Behind an endpoint.
    #[cfg(feature = "http")]
    Http(Box<HttpServer<T, H>>),
}

impl<T, H> From<StdioServer<T, H>> for AnyServer<T, H> {
    fn from(server: StdioServer<T, H>) -> Self {
        Self::Stdio(server)
    }
}

#[cfg(feature = "http")]
impl<T, H> From<HttpServer<T, H>> for AnyServer<T, H> {
    fn from(server: HttpServer<T, H>) -> Self {
        Self::Http(Box::new(server))
    }
}

/// Does the same with whichever it is.
macro_rules! either {
    ($self:ident, $machine:ident => $do:expr) => {
        match $self {
            Self::Stdio($machine) => $do,
            #[cfg(feature = "http")]
            Self::Http($machine) => $do,
        }
    };
}

/// The part of [`Machine`] that moves bytes and time.
macro_rules! moves_either {
    () => {
        fn read_buf(&mut self, conn: ConnId) -> &mut [u8] {
            either!(self, machine => machine.read_buf(conn))
        }

        fn reads(&mut self, conn: ConnId) -> bool {
            either!(self, machine => machine.reads(conn))
        }

        fn read_done(&mut self, conn: ConnId, count: usize, now: Instant) {
            either!(self, machine => machine.read_done(conn, count, now))
        }

        fn read_eof(&mut self, conn: ConnId, now: Instant) {
            either!(self, machine => machine.read_eof(conn, now))
        }

        fn write_buf(&self, conn: ConnId) -> &[u8] {
            either!(self, machine => machine.write_buf(conn))
        }

        fn next_to_move(&mut self) -> Option<ConnId> {
            either!(self, machine => machine.next_to_move())
        }

        fn write_done(&mut self, conn: ConnId, count: usize, now: Instant) {
            either!(self, machine => machine.write_done(conn, count, now))
        }

        fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant) {
            either!(self, machine => machine.conn_failed(conn, why, now))
        }

        fn takes_connections(&self) -> bool {
            either!(self, machine => machine.takes_connections())
        }

        fn is_over(&self) -> bool {
            either!(self, machine => machine.is_over())
        }

        fn handle_timeout(&mut self, now: Instant) {
            either!(self, machine => machine.handle_timeout(now))
        }
    };
}

/// A client on a stream of its own, or over HTTP.
///
/// ```
/// use windlass::client::ClientConfig;
/// use windlass::link::AnyClient;
/// use windlass::link::stdio::StdioClient;
/// use windlass::model::Implementation;
/// use windlass::{Instant, Machine, Output};
///
/// let stdio = StdioClient::<()>::new(ClientConfig::new(Implementation::new("doc", "1")), Instant::ZERO);
/// let mut client = AnyClient::from(stdio);
/// assert!(matches!(client.poll(), Output::Open { .. }));
/// ```
#[allow(clippy::large_enum_variant, reason = "there is one for each connection, and the small one has no box to cross")]
pub enum AnyClient<T> {
    /// On a byte stream.
    Stdio(StdioClient<T>),
    /// Over HTTP.
    #[cfg(feature = "http")]
    Http(Box<HttpClient<T>>),
}

impl<T> From<StdioClient<T>> for AnyClient<T> {
    fn from(client: StdioClient<T>) -> Self {
        Self::Stdio(client)
    }
}

#[cfg(feature = "http")]
impl<T> From<HttpClient<T>> for AnyClient<T> {
    fn from(client: HttpClient<T>) -> Self {
        Self::Http(Box::new(client))
    }
}

impl<T> AnyClient<T> {
    client_methods!();

    /// Answers a challenge; see [`HttpClient::answer_challenge`]. On other streams there are none.
    #[cfg(feature = "http")]
    pub fn answer_challenge(
        &mut self,
        reply: ChallengeReply,
        headers: Option<&Headers>,
        now: Instant,
    ) -> Result<(), HeaderError> {
        match self {
            Self::Stdio(_) => Ok(()),
            Self::Http(client) => client.answer_challenge(reply, headers, now),
        }
    }

    /// The role, to do something at a time.
    fn at(&mut self, now: Instant) -> &mut Client<T> {
        either!(self, client => client.at(now))
    }

    fn role(&self) -> &Client<T> {
        either!(self, client => client.role())
    }

    /// Whether nothing is open.
    pub fn is_idle(&self) -> bool {
        either!(self, client => client.is_idle())
    }
}

/// On a stream of its own there are no exchanges.
#[cfg(feature = "http")]
impl<T> HttpExchanges for AnyClient<T> {
    fn request(&self, exchange: ConnId) -> Option<Arc<HttpRequest>> {
        if let Self::Http(client) = self { client.request(exchange) } else { None }
    }

    fn response(&mut self, exchange: ConnId, status: u16, headers: &Headers, now: Instant) {
        if let Self::Http(client) = self {
            client.response(exchange, status, headers, now);
        }
    }

    fn body(&mut self, exchange: ConnId, bytes: &[u8], now: Instant) {
        if let Self::Http(client) = self {
            client.body(exchange, bytes, now);
        }
    }
}

impl<T> Sealed for AnyClient<T> {}

impl<T> Machine for AnyClient<T> {
    type Event<'a>
        = ClientEvent<'a, T>
    where
        Self: 'a;

    moves_either!();

    fn poll(&mut self) -> Output<ClientEvent<'_, T>> {
        either!(self, client => client.poll())
    }
}

impl<T, H: Clone> AnyServer<T, H> {
    /// What is offered. Clients that want to know are told of changes.
    pub fn registry(&mut self) -> &mut Registry<H> {
        either!(self, server => server.registry())
    }

    /// A handler is done.
    pub fn respond(&mut self, reply: ReplyTo, outcome: Result<Reply, RpcError>, now: Instant) {
        either!(self, server => server.respond(reply, outcome, now))
    }

    /// Reports progress on a request, if its client wants it and it goes forward.
    pub fn progress(&mut self, request: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>) {
        either!(self, server => server.progress(request, progress, total, message))
    }

    /// Logs to clients that want messages of this severity.
    pub fn log(&mut self, request: Option<RequestKey>, message: &LoggingMessageParams) {
        either!(self, server => server.log(request, message))
    }

    /// Tells those who subscribed that a resource has changed.
    pub fn resource_updated(&mut self, uri: &str) {
        either!(self, server => server.resource_updated(uri))
    }

    /// Tells the client of a request something, or legacy clients if no request is named, as far as their revisions have
    /// the notification: see [`StdioServer::notify`] and [`HttpServer::notify`](super::http::HttpServer::notify).
    ///
    /// # Errors
    ///
    /// When there is no such client, or its revision or the protocol does not allow it.
    pub fn notify_raw<P: Serialize + ?Sized>(
        &mut self,
        request: Option<RequestKey>,
        method: &str,
        params: &P,
    ) -> Result<(), SendError> {
        either!(self, server => server.notify_raw(request, method, params))
    }

    /// Ends the connection that a request came on, while the request goes on: see [`HttpServer::interrupt`].
    #[cfg(feature = "http")]
    pub fn interrupt(&mut self, request: RequestKey) {
        if let Self::Http(server) = self {
            server.interrupt(request);
        }
    }

    /// A client has connected. A server on a stream of its own has no use for another.
    #[cfg(feature = "http")]
    pub fn accept(&mut self, now: Instant) -> Option<ConnId> {
        self.accept_from(None, now)
    }

    /// The same, where it is known whose connection it is.
    #[cfg(feature = "http")]
    pub fn accept_from(&mut self, client: Option<core::net::IpAddr>, now: Instant) -> Option<ConnId> {
        match self {
            Self::Stdio(_) => None,
            Self::Http(server) => Some(server.accept_from(client, now)),
        }
    }

    /// Calls the client. A server with many clients has none to call: its handlers ask for input.
    pub fn call_raw<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        match self {
            Self::Stdio(server) => server.call_raw(method, params, options, token, now),
            #[cfg(feature = "http")]
            Self::Http(_) => Err(Refused::new(SendError::NotReady, token)),
        }
    }

    /// Gives up a call to the client.
    pub fn cancel(&mut self, call: CallId, reason: &str) {
        match self {
            Self::Stdio(server) => server.cancel(call, reason),
            #[cfg(feature = "http")]
            Self::Http(_) => {}
        }
    }

    /// Closes. `Closed` is the last event.
    pub fn close(&mut self, now: Instant) {
        either!(self, server => server.close(now))
    }

    /// Closes at once because nobody is left to carry it on, which is told as the reason. `Closed` is the last event.
    pub fn abandon(&mut self, why: ConnError, now: Instant) {
        either!(self, server => server.abandon(why, now))
    }

    /// Whether nothing is open.
    pub fn is_idle(&self) -> bool {
        either!(self, server => server.is_idle())
    }
}

impl<T, H> Sealed for AnyServer<T, H> {}

impl<T, H: Clone> Machine for AnyServer<T, H> {
    type Event<'a>
        = ServerEvent<'a, T, H>
    where
        Self: 'a;

    moves_either!();

    fn poll(&mut self) -> Output<ServerEvent<'_, T, H>> {
        either!(self, server => server.poll())
    }
}
