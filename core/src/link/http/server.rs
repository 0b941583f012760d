//! The server's end of HTTP: one endpoint, many connections, both eras side by side.
//!
//! `admission` judges a request by its head, `authorization` by its token, `posts` by its message; `connections` has the connections and the streams on them;
//! `sessions` the roles that answer, and where their messages go.

mod admission;
#[cfg(feature = "auth")]
mod authorization;
mod config;
mod connection;
mod connections;
mod memory;
mod mirrored;
mod posts;
mod sessions;
mod streams;
#[cfg(not(feature = "auth"))]
mod without_auth;
#[cfg(not(feature = "auth"))]
use without_auth as authorization;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

use authorization::Tokens;
pub use config::HttpServerConfig;
use connections::Connections;
use sessions::{STATELESS, Sessions};
use streams::StreamId;

use serde::Serialize;

use crate::entropy::{Entropy, Seed};
use crate::error::{CloseReason, ConnError, SendError};
use crate::json::Json;
use crate::jsonrpc::RpcError;
use crate::machine::{ConnId, Machine, Output, Sealed};
use crate::model::{LoggingMessageParams, Notice};
use crate::observer::{Observation, Phase};
use crate::rpc::{LinkedRole, RequestKey};
use crate::server::{Offer, Registry, Reply, ReplyTo, Server, ServerConfig, ServerEvent, is_private, written};
use crate::time::{Instant, earliest};

/// An MCP server behind an HTTP endpoint. `H` is what the program registers, `T` is not used: a server with many clients
/// has none to call, and handlers ask for input in both eras.
///
/// The adapter listens; for each connection that it accepts it calls [`accept`](Self::accept), and moves bytes under the
/// name that it gets.
///
/// ```
/// use windlass::link::http::{HttpServer, HttpServerConfig};
/// use windlass::model::{Implementation, Tool};
/// use windlass::server::{Registry, ServerConfig};
/// use windlass::{Instant, Machine, Output, Seed};
///
/// let now = Instant::ZERO;
/// let mut registry = Registry::new();
/// registry.add_tool(Tool::without_arguments("answer"), "the handler");
/// let config = ServerConfig::new(Implementation::new("doc", "1"));
/// let http = HttpServerConfig::on_loopback();
/// let mut server: HttpServer<(), &str> = HttpServer::new(config, http, registry, &Seed::from_number(1), now);
///
/// let conn = server.accept(now);
/// let request = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n";
/// server.read_buf(conn)[..request.len()].copy_from_slice(request);
/// server.read_done(conn, request.len(), now);
/// assert!(matches!(server.poll(), Output::Idle { .. }));
/// assert!(server.write_buf(conn).starts_with(b"HTTP/1.1 404 Not Found\r\n"));
/// ```
pub struct HttpServer<T, H> {
    offer: Arc<Offer<H>>,
    /// Whether the sessions have another offer than this one.
    offer_changed: bool,
    entropy: Entropy,
    connections: Connections,
    sessions: Sessions<T, H>,
    tokens: Tokens,
    events: Events<T, H>,
    /// What the last event borrows.
    params: Option<Json>,
    now: Instant,
    drain_until: Option<Instant>,
    closed: Option<CloseReason>,
    reported_closed: bool,
}

/// What waits for the program; a notification with its parameters, which it borrows when its turn comes.
type Events<T, H> = VecDeque<(ServerEvent<'static, T, H>, Option<Json>)>;

/// How long clients may take to read the last answers of a server that has closed. Most have them at once.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Where the answer to a message goes that never became a request: the connection that it came on, and the stream for its
/// answers if there is one.
#[derive(Clone, Copy)]
struct ReplyPath {
    conn: ConnId,
    stream: Option<StreamId>,
}

impl<T, H: Clone> HttpServer<T, H> {
    /// A server that waits for connections.
    pub fn new(config: ServerConfig, http: HttpServerConfig, registry: Registry<H>, seed: &Seed, now: Instant) -> Self {
        let mut entropy = Entropy::new(seed);
        let limits = config.limits.clone();
        let offer = Arc::new(Offer::new(config, registry, &mut entropy));
        Self {
            sessions: Sessions::new(offer.clone(), http.connections),
            connections: Connections::new(http, &limits),
            offer,
            tokens: Tokens::default(),
            offer_changed: false,
            entropy,
            events: VecDeque::new(),
            params: None,
            now,
            drain_until: None,
            closed: None,
            reported_closed: false,
        }
    }

    /// A client has connected: the name of its connection. One that is too many is closed at once.
    pub fn accept(&mut self, now: Instant) -> ConnId {
        self.accept_from(None, now)
    }

    /// The same, where it is known whose connection it is: when there is no room for all, those who take up the most have
    /// to make some.
    pub fn accept_from(&mut self, client: Option<IpAddr>, now: Instant) -> ConnId {
        self.now = now;
        let conn = self.connections.accept(client, now);
        self.observe(|| Observation::Opened(conn));
        conn
    }

    fn observe<'a>(&self, observation: impl FnOnce() -> Observation<'a>) {
        self.offer.config.observer.tell(observation);
    }

    /// What is offered. Clients that want to know are told of changes.
    pub fn registry(&mut self) -> &mut Registry<H> {
        self.offer_changed = true;
        &mut Arc::make_mut(&mut self.offer).registry
    }

    /// A handler is done.
    pub fn respond(&mut self, reply: ReplyTo, outcome: Result<Reply, RpcError>, now: Instant) {
        self.now = now;
        self.with_role(reply.key().session(), None, |server, _| server.respond(reply, outcome, now));
    }

    /// Reports progress on a request, if its client wants it and it goes forward.
    pub fn progress(&mut self, request: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.with_role(request.session(), None, |server, _| server.progress(request, progress, total, message));
    }

    /// Logs to the client of a request, or to all legacy clients, if they want messages of this severity.
    pub fn log(&mut self, request: Option<RequestKey>, message: &LoggingMessageParams) {
        match request {
            Some(key) => drop(self.with_role(key.session(), None, |server, _| server.log(request, message))),
            None => self.each(|server| server.log(None, message)),
        }
    }

    /// Tells those who subscribed that a resource has changed.
    pub fn resource_updated(&mut self, uri: &str) {
        self.each(|server| server.resource_updated(uri));
    }

    /// Tells the client of a request something, or all legacy clients if no request is named, as far as their revisions
    /// have the notification. A request that is over still names a legacy client.
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
        let params = written(params)?;
        let Some(key) = request else {
            if is_private(method) {
                return Err(SendError::Invalid("only the client that was asked may be told; name its request".into()));
            }
            // Some clients may not be ready for it, or speak a revision that does not have it.
            self.each(|server| drop(server.notify(None, method, &params)));
            return Ok(());
        };
        let sent = self.with_role(key.session(), None, |server, _| server.notify(request, method, &params));
        sent.unwrap_or(Err(SendError::Closed))
    }

    /// Ends the connection that a request came on, while the request goes on: its client comes back for the answer. Only
    /// legacy clients can; for others nothing happens.
    pub fn interrupt(&mut self, request: RequestKey) {
        if let Some(stream) = self.connections.stream_of(request) {
            self.connections.interrupt(stream, self.now);
        }
    }

    /// Stops serving: what has been asked is answered, as far as that is quick. `Closed` is the last event.
    pub fn close(&mut self, now: Instant) {
        self.now = now;
        if self.drain_until.is_none() {
            self.drain_until = Some(now + self.connections.config.drain);
            self.connections.drain();
            self.each(Server::end_subscriptions);
        }
    }

    /// Stops serving at once because nobody is left to carry it on, which is told as the reason. `Closed` is the last
    /// event.
    pub fn abandon(&mut self, why: ConnError, now: Instant) {
        self.now = now;
        self.drain_until = Some(now);
        if self.closed.is_none() {
            self.end(CloseReason::Transport(why));
        }
    }

    /// How many legacy sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Whether nothing is open: no request, no event. Connections may be.
    pub fn is_idle(&self) -> bool {
        self.sessions.is_idle() && self.events.is_empty() && self.connections.is_idle() && self.tokens.is_idle()
    }

    /// Does something with each role.
    fn each(&mut self, mut act: impl FnMut(&mut Server<T, H>)) {
        let indices: Vec<_> = self.sessions.indices().collect();
        for index in indices {
            self.with_role(index, None, |server, _| act(server));
        }
    }

    /// Gives every session the registry as it is now, and tells clients what has changed.
    fn spread_changes(&mut self) {
        if !core::mem::take(&mut self.offer_changed) {
            return;
        }
        let changes = Arc::make_mut(&mut self.offer).take_changes();
        let offer = self.offer.clone();
        self.each(|server| server.renew(offer.clone(), changes));
    }

    /// Whether one more session can begin. Those that nobody has come back to make room first, then those that have been
    /// idle for longest.
    fn has_place_for_session(&mut self) -> bool {
        let (most, most_fresh) = (self.connections.config.sessions, self.connections.config.fresh_sessions);
        let mut made = self.sessions.fresh < most_fresh;
        if !made || self.sessions.len() >= most {
            let fresh = self.sessions.eviction_candidate(|session| session.fresh);
            let idle = || self.sessions.eviction_candidate(|session| !session.is_used(&self.connections));
            if let Some(index) = fresh.or_else(idle) {
                self.end_session(index, CloseReason::PeerClosed);
                made = true;
            }
        }
        made && self.sessions.len() < most
    }

    fn end_session(&mut self, index: u32, reason: CloseReason) {
        self.with_role(index, None, |server, _| server.close(reason));
        self.connections.end_session(index, self.now);
        self.sessions.end(index);
    }

    /// Closes everything once what was asked is answered, or it took too long.
    fn drain(&mut self) {
        let Some(until) = self.drain_until else { return };
        if self.closed.is_some() {
            if until <= self.now {
                self.connections.close_all();
            }
            return;
        }
        if !(self.sessions.is_drained() || until <= self.now) {
            return;
        }
        self.drain_until = Some(self.now + LAST_WORDS);
        self.end(CloseReason::Requested);
    }

    fn end(&mut self, reason: CloseReason) {
        let indices: Vec<_> = self.sessions.indices().collect();
        for index in indices {
            self.end_session(index, reason.clone());
        }
        self.closed = Some(reason);
        // Nobody is there any more whom an answer would help.
        self.tokens = Tokens::default();
        self.connections.finish_all();
    }
}

impl<T, H> Sealed for HttpServer<T, H> {}

impl<T, H: Clone> Machine for HttpServer<T, H> {
    type Event<'a>
        = ServerEvent<'a, T, H>
    where
        Self: 'a;

    fn read_buf(&mut self, conn: ConnId) -> &mut [u8] {
        self.connections.space(conn)
    }

    fn reads(&mut self, conn: ConnId) -> bool {
        self.connections.reads(conn)
    }

    fn read_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.now = now;
        self.connections.filled(conn, count, now);
    }

    fn read_eof(&mut self, conn: ConnId, now: Instant) {
        self.now = now;
        self.connections.ended(conn);
    }

    fn write_buf(&self, conn: ConnId) -> &[u8] {
        self.connections.unwritten(conn)
    }

    fn next_to_move(&mut self) -> Option<ConnId> {
        self.connections.next_to_move(self.now)
    }

    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.now = now;
        self.connections.wrote(conn, count, now);
    }

    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant) {
        self.now = now;
        if self.connections.has(conn) {
            self.observe(|| Observation::Failed { phase: Phase::Transport, error: &why });
        }
        self.connections.close(conn);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.connections.handle_timeout(now);
        self.end_overdue_verifications();
        while let Some(index) = self.sessions.due(now) {
            let Some(session) = self.sessions.legacy(index) else { continue };
            if session.is_used(&self.connections) {
                session.seen = now;
            }
            let config = &self.connections.config;
            let patience = if session.fresh { config.fresh_session_timeout } else { config.session_idle };
            if session.seen + patience <= now {
                self.end_session(index, CloseReason::PeerClosed);
                continue;
            }
            self.with_role(index, None, |server, _| server.handle_timeout(now));
        }
        self.with_role(STATELESS, None, |server, _| server.handle_timeout(now));
    }

    fn takes_connections(&self) -> bool {
        self.drain_until.is_none()
    }

    fn is_over(&self) -> bool {
        self.reported_closed
    }

    fn poll(&mut self) -> Output<ServerEvent<'_, T, H>> {
        self.params = None;
        self.spread_changes();
        self.connections.evict_if_short(self.now);
        loop {
            self.drain();
            if let Some(conn) = self.connections.next_done() {
                self.observe(|| Observation::Closed(conn));
                return Output::Close(conn);
            }
            if let Some(key) = self.connections.next_abandoned() {
                self.with_role(key.session(), None, |server, _| server.withdraw_request(key));
                continue;
            }
            if !self.events.is_empty() {
                break;
            }
            match self.connections.next_arrival(self.now) {
                Some((conn, arrival)) => self.arrived(conn, arrival),
                // Looking at what came may have shown that somebody is gone.
                None if self.connections.has_pending_work() => {}
                None => break,
            }
        }
        if let Some((event, params)) = self.events.pop_front() {
            self.params = params;
            return Output::Event(match event {
                ServerEvent::Notification { method, .. } => {
                    ServerEvent::Notification { method, params: self.params.as_ref().map(Json::as_text) }
                }
                event => event,
            });
        }
        if let Some(reason) = self.closed.clone().filter(|_| self.connections.is_empty() && !self.reported_closed) {
            self.reported_closed = true;
            return Output::Event(ServerEvent::Closed(reason));
        }
        let own = earliest(self.connections.deadline(), self.sessions.deadline());
        let own = earliest(own, self.tokens.deadline());
        Output::Idle { deadline: earliest(own, self.drain_until.filter(|_| !self.reported_closed)) }
    }
}
