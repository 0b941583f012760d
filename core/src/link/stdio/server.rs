//! The server's end of the stream.

use alloc::sync::Arc;
use core::time::Duration;

use serde::Serialize;

use super::super::line_stream::{Incoming, LineStream, StreamControl};
use crate::buffer::ReadBuffer;
use crate::call::{CallId, CallOptions};
use crate::entropy::{Entropy, Seed};
use crate::error::{CloseReason, ConnError, Refused, SendError};
use crate::jsonrpc::RpcError;
use crate::machine::{Machine, Output, Sealed, Target};
use crate::model::{LoggingMessageParams, Method, Notice};
use crate::observer::Observation;
use crate::rpc::{Counters, LinkedRole, RequestKey};
use crate::server::{Offer, Registry, Reply, ReplyTo, Server, ServerConfig, ServerEvent, written};
use crate::time::{Instant, earliest};

/// How long handlers may go on after the client has closed its end. What it asked for before is answered if that is
/// quick; a client that waits for the process to exit is not kept waiting for long.
const DRAIN: Duration = Duration::from_millis(400);

/// An MCP server on one byte stream, for legacy and modern clients alike. `H` is whatever the program registers as a
/// handler, usually a shared function; `T` is the token of calls of its own.
///
/// ```
/// use windlass::link::stdio::StdioServer;
/// use windlass::model::{Implementation, Tool};
/// use windlass::server::{Registry, ServerConfig, ServerEvent};
/// use windlass::{Instant, Machine, Output, Seed};
///
/// let mut registry = Registry::new();
/// registry.add_tool(Tool::without_arguments("answer"), "the handler");
/// let config = ServerConfig::new(Implementation::new("doc", "1"));
/// let mut server: StdioServer<(), &str> =
///     StdioServer::new(config, registry, &Seed::from_number(1), Instant::ZERO);
/// assert!(matches!(server.poll(), Output::Open { .. }));
/// ```
pub struct StdioServer<T, H> {
    server: Server<T, H>,
    stream: LineStream,
    now: Instant,
    /// When to close regardless of what handlers still do, once the client has closed its end.
    drain_until: Option<Instant>,
    reported_closed: bool,
}

impl<T, H: Clone> StdioServer<T, H> {
    /// A server that waits for its client.
    pub fn new(config: ServerConfig, registry: Registry<H>, seed: &Seed, now: Instant) -> Self {
        Self {
            stream: LineStream::new(&config.limits),
            server: Server::new(Arc::new(Offer::new(config, registry, &mut Entropy::new(seed)))),
            now,
            drain_until: None,
            reported_closed: false,
        }
    }

    /// What is offered. Clients that want to know are told of changes.
    pub fn registry(&mut self) -> &mut Registry<H> {
        self.server.registry()
    }

    /// A handler is done.
    pub fn respond(&mut self, reply: ReplyTo, outcome: Result<Reply, RpcError>, now: Instant) {
        self.now = now;
        self.server.respond(reply, outcome, now);
    }

    /// Reports progress on a request, if its client wants it and it goes forward.
    pub fn progress(&mut self, request: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.server.progress(request, progress, total, message);
    }

    /// Logs to the client, if it wants messages of this severity. Modern clients get only what belongs to a request.
    pub fn log(&mut self, request: Option<RequestKey>, message: &LoggingMessageParams) {
        self.server.log(request, message);
    }

    /// Tells those who subscribed that a resource has changed.
    pub fn resource_updated(&mut self, uri: &str) {
        self.server.resource_updated(uri);
    }

    /// Tells the client of a request something, or the legacy client if no request is named, as far as its revision has
    /// the notification. A request that is over still names a legacy client.
    ///
    /// # Errors
    ///
    /// When there is no such client, or its revision or the protocol does not allow it.
    pub fn notify<N: Notice>(&mut self, request: Option<RequestKey>, params: &N::Params) -> Result<(), SendError> {
        self.notify_raw(request, N::NAME, params)
    }

    /// The same for a notification that has no type here.
    ///
    /// # Errors
    ///
    /// The same, and when the parameters are no JSON object.
    pub fn notify_raw<P: Serialize + ?Sized>(
        &mut self,
        request: Option<RequestKey>,
        method: &str,
        params: &P,
    ) -> Result<(), SendError> {
        self.server.notify(request, method, &written(params)?)
    }

    /// Calls the client, which only the legacy era has; handlers ask for input instead, in both.
    pub fn call<M: Method>(
        &mut self,
        params: &M::Params,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        self.call_raw(M::NAME, params, options, token, now)
    }

    /// Calls the client with a method that has no type here.
    pub fn call_raw<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        self.now = now;
        self.server.call(method, params, options, token, now)
    }

    /// Gives up a call to the client.
    pub fn cancel(&mut self, call: CallId, reason: &str) {
        self.server.cancel(call, reason);
    }

    /// Closes the connection. `Closed` is the last event.
    pub fn close(&mut self, now: Instant) {
        self.now = now;
        self.server.close(CloseReason::Requested);
    }

    /// Ends the connection because nobody is left to carry it on, which is told as the reason. `Closed` is the last
    /// event.
    pub fn abandon(&mut self, why: ConnError, now: Instant) {
        self.now = now;
        self.server.close(CloseReason::Transport(why));
    }

    /// What was ignored so far.
    pub fn counters(&self) -> Counters {
        self.server.counters()
    }

    /// Whether nothing is open: no call, no request, no timer, no byte to write.
    pub fn is_idle(&self) -> bool {
        self.server.is_idle() && self.server.outbox().len() == 0
    }
}

impl<T, H> Sealed for StdioServer<T, H> {}

impl<T, H: Clone> Machine for StdioServer<T, H> {
    type Event<'a>
        = ServerEvent<'a, T, H>
    where
        Self: 'a;

    moves_bytes!(server);

    fn is_over(&self) -> bool {
        self.reported_closed
    }

    fn poll(&mut self) -> Output<ServerEvent<'_, T, H>> {
        let Self { server, stream: LineStream { inbox, reader, life }, now, drain_until, reported_closed } = self;
        let (inbox, now): (&ReadBuffer, Instant) = (inbox, *now);
        server.close_if_unread();
        server.flush_changes();
        loop {
            if drain_until.is_some_and(|until| server.is_drained() || until <= now) {
                server.close(CloseReason::PeerClosed);
            }
            if server.closed().is_some() {
                life.close(now);
            }
            match life.control(server.outbox()) {
                Some(StreamControl::Open(conn)) => {
                    server.observe(|| Observation::Opened(conn));
                    return Output::Open { conn, target: Target::Peer };
                }
                Some(StreamControl::Close(conn)) => {
                    server.observe(|| Observation::Closed(conn));
                    return Output::Close(conn);
                }
                None => {}
            }
            if let Some(event) = server.next_event() {
                return Output::Event(event);
            }
            let incoming =
                if life.is_open() { reader.next(inbox, server.limits(), server.allows_batches()) } else { None };
            match incoming {
                Some(Incoming::Message(message, bytes)) => {
                    server.observe_incoming(&message, bytes);
                    if let Some(event) = server.handle(message, now) {
                        return Output::Event(event);
                    }
                }
                Some(Incoming::Malformed(malformed)) => server.malformed(malformed, now),
                Some(Incoming::End) => {
                    server.stop_waiting_for_input();
                    *drain_until = Some(now + DRAIN);
                }
                None => {
                    return match server.closed() {
                        Some(reason) if life.is_closed() && !*reported_closed => {
                            *reported_closed = true;
                            Output::Event(ServerEvent::Closed(reason.clone()))
                        }
                        Some(_) => Output::Idle { deadline: life.deadline() },
                        None => {
                            let own = earliest(*drain_until, life.deadline());
                            Output::Idle { deadline: earliest(own, server.deadline()) }
                        }
                    };
                }
            }
        }
    }
}
