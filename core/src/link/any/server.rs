//! A server on either link.

#[cfg(feature = "http")]
use alloc::boxed::Box;

use serde::Serialize;

use crate::call::{CallId, CallOptions};
use crate::error::{ConnError, Refused, SendError};
use crate::jsonrpc::RpcError;
#[cfg(feature = "http")]
use crate::link::http::HttpServer;
use crate::link::stdio::StdioServer;
#[cfg(feature = "http")]
use crate::machine::ConnId;
use crate::machine::{Machine, Output, Sealed};
use crate::model::LoggingMessageParams;
use crate::rpc::RequestKey;
#[cfg(feature = "auth")]
use crate::server::{Principal, TokenRejected, VerifyReply};
use crate::server::{Registry, Reply, ReplyTo, ServerEvent};
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

impl<T, H: Clone> AnyServer<T, H> {
    /// What is offered. Clients that want to know are told of changes.
    pub fn registry(&mut self) -> &mut Registry<H> {
        either!(self, server => server.registry())
    }

    /// A handler is done.
    pub fn respond(&mut self, reply: ReplyTo, outcome: Result<Reply, RpcError>, now: Instant) {
        either!(self, server => server.respond(reply, outcome, now))
    }

    /// The program has found out whose a token is: see [`HttpServer::verified`]. Nobody shows one on a stream.
    #[cfg(feature = "auth")]
    pub fn verified(&mut self, reply: VerifyReply, outcome: Result<Principal, TokenRejected>, now: Instant) {
        if let Self::Http(server) = self {
            server.verified(reply, outcome, now);
        }
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
    /// the notification: see `StdioServer::notify` and `HttpServer::notify`.
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
