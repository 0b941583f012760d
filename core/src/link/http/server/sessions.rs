//! The roles behind the endpoint: one for all modern clients, who have no sessions, and one for each legacy session.
//! [`HttpServer::with_role`] is the one way to do something with a role, so that what it has to say never stays with it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt::Write as _;
use core::net::IpAddr;
use core::time::Duration;

use super::connections::{Connections, eviction_candidates};
use super::streams::StreamId;
use super::{Events, HttpServer, ReplyPath};
use crate::entropy::Entropy;
use crate::jsonrpc::code;
use crate::model::ProtocolVersion;
use crate::rpc::{LinkedRole, OutgoingKind, RequestKey};
use crate::server::{Identity, Offer, Server, ServerEvent};
use crate::time::{Instant, earliest};

/// The index of the role that serves the modern era.
pub(super) const STATELESS: u32 = 0;

pub(super) struct Sessions<T, H> {
    stateless: Server<T, H>,
    legacy: BTreeMap<u32, Box<LegacySession<T, H>>>,
    /// By what clients call them.
    ids: BTreeMap<Box<str>, u32>,
    timers: BTreeSet<(Instant, u32)>,
    /// How many there are whose clients have not been heard of since they began them.
    pub(super) fresh: usize,
    next: u32,
}

pub(super) struct LegacySession<T, H> {
    server: Server<T, H>,
    pub(super) id: Box<str>,
    /// The stream for what belongs to no request.
    standalone: Option<StreamId>,
    /// When the client was last heard of.
    pub(super) seen: Instant,
    /// Whether it has not been heard of since it began the session.
    pub(super) fresh: bool,
    client: Option<IpAddr>,
    /// Who began it, where the server is protected. Nobody else can have anything to do with it.
    principal: Option<Box<Identity>>,
    armed: Option<Instant>,
}

/// A role with which something is done.
struct Reached<'a, T, H> {
    index: u32,
    server: &'a mut Server<T, H>,
    /// The stream for what belongs to no request, which all modern clients together have none of.
    standalone: Option<&'a mut Option<StreamId>>,
}

impl<T, H: Clone> Sessions<T, H> {
    /// `connections` bounds what all modern clients together have open: each of their requests has one.
    pub(super) fn new(offer: Arc<Offer<H>>, connections: usize) -> Self {
        let mut stateless = Server::one_of_many(offer, STATELESS, true);
        stateless.set_most_requests(connections);
        Self { stateless, legacy: BTreeMap::new(), ids: BTreeMap::new(), timers: BTreeSet::new(), fresh: 0, next: 1 }
    }

    pub(super) fn begin(
        &mut self,
        offer: Arc<Offer<H>>,
        client: Option<IpAddr>,
        principal: Option<Identity>,
        entropy: &mut Entropy,
        now: Instant,
    ) -> u32 {
        // Zero is taken, and after four thousand million sessions the first may still be there.
        while self.next == STATELESS || self.legacy.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let index = self.next;
        self.next = self.next.wrapping_add(1);
        let mut id = String::new();
        for byte in entropy.bytes::<24>() {
            let _ = write!(id, "{byte:02x}");
        }
        let id: Box<str> = id.into();
        self.ids.insert(id.clone(), index);
        let mut server = Server::one_of_many(offer, index, false);
        server.watch_session(Some(&id));
        let principal = principal.map(Box::new);
        let session =
            LegacySession { server, id, standalone: None, seen: now, fresh: true, client, principal, armed: None };
        self.legacy.insert(index, Box::new(session));
        self.fresh += 1;
        index
    }

    pub(super) fn end(&mut self, index: u32) {
        let Some(session) = self.legacy.remove(&index) else { return };
        self.ids.remove(&session.id);
        self.fresh -= usize::from(session.fresh);
        if let Some(armed) = session.armed {
            self.timers.remove(&(armed, index));
        }
    }

    /// The client of a session was heard of.
    pub(super) fn heard(&mut self, index: u32, now: Instant) {
        let Some(session) = self.legacy.get_mut(&index) else { return };
        session.seen = now;
        self.fresh -= usize::from(core::mem::take(&mut session.fresh));
    }

    /// The session that is to make room for a new one, among those that may go.
    pub(super) fn eviction_candidate(&self, may_go: impl Fn(&LegacySession<T, H>) -> bool) -> Option<u32> {
        let all = self.legacy.iter().map(|(index, session)| (session.client, session.seen, *index));
        let may_go = |index: &u32| self.legacy.get(index).is_some_and(|session| may_go(session));
        eviction_candidates(all, may_go, 1).pop()
    }

    /// The session that a client calls so. One of somebody else is none.
    pub(super) fn find(&self, id: &str, principal: Option<Identity>) -> Option<u32> {
        let index = self.ids.get(id).copied()?;
        let session = self.legacy.get(&index)?;
        (session.principal.as_deref() == principal.as_ref()).then_some(index)
    }

    pub(super) fn len(&self) -> usize {
        self.legacy.len()
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        core::iter::once(STATELESS).chain(self.legacy.keys().copied())
    }

    /// A role, to be asked about something.
    pub(super) fn role(&self, index: u32) -> Option<&Server<T, H>> {
        match index {
            STATELESS => Some(&self.stateless),
            _ => self.legacy.get(&index).map(|session| &session.server),
        }
    }

    fn reach(&mut self, index: u32) -> Option<Reached<'_, T, H>> {
        Some(match index {
            STATELESS => Reached { index, server: &mut self.stateless, standalone: None },
            _ => {
                let LegacySession { server, standalone, .. } = &mut **self.legacy.get_mut(&index)?;
                Reached { index, server, standalone: Some(standalone) }
            }
        })
    }

    /// What was negotiated with the client of a session.
    pub(super) fn version(&self, index: u32) -> Option<ProtocolVersion> {
        self.legacy.get(&index)?.server.legacy_version()
    }

    /// The stream for what belongs to no request of a session.
    pub(super) fn standalone(&mut self, index: u32, connections: &mut Connections) -> Option<StreamId> {
        let session = self.legacy.get_mut(&index)?;
        let open = || connections.open_detached(index, session.server.legacy_version());
        Some(*session.standalone.get_or_insert_with(open))
    }

    pub(super) fn legacy(&mut self, index: u32) -> Option<&mut LegacySession<T, H>> {
        self.legacy.get_mut(&index).map(|session| &mut **session)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.stateless.is_idle() && self.legacy.values().all(|session| session.server.is_idle())
    }

    /// Whether every request has been answered but those that only listen.
    pub(super) fn is_drained(&self) -> bool {
        self.stateless.is_drained() && self.legacy.values().all(|session| session.server.is_drained())
    }

    /// Sets the timer of a session after something happened to it.
    fn arm(&mut self, index: u32, idle: Duration, fresh: Duration) {
        let Some(session) = self.legacy.get_mut(&index) else { return };
        let patience = if session.fresh { fresh } else { idle };
        let deadline = earliest(session.server.deadline(), Some(session.seen + patience));
        if session.armed == deadline {
            return;
        }
        if let Some(armed) = core::mem::replace(&mut session.armed, deadline) {
            self.timers.remove(&(armed, index));
        }
        if let Some(deadline) = deadline {
            self.timers.insert((deadline, index));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        earliest(self.timers.first().map(|&(deadline, _)| deadline), self.stateless.deadline())
    }

    /// A session whose time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<u32> {
        let &(deadline, index) = self.timers.first().filter(|(deadline, _)| *deadline <= now)?;
        self.timers.remove(&(deadline, index));
        if let Some(session) = self.legacy.get_mut(&index) {
            session.armed = None;
        }
        Some(index)
    }
}

impl<T, H: Clone> LegacySession<T, H> {
    /// Whether the client listens, or something that it asked is not answered.
    pub(super) fn is_used(&self, connections: &Connections) -> bool {
        self.standalone.is_some_and(|stream| connections.is_attached(stream)) || !self.server.is_idle()
    }
}

impl<T, H: Clone> HttpServer<T, H> {
    /// Does something with a role, and passes on what it has to say.
    pub(super) fn with_role<R>(
        &mut self,
        index: u32,
        path: Option<ReplyPath>,
        act: impl FnOnce(&mut Server<T, H>, &mut Connections) -> R,
    ) -> Option<R> {
        let Self { sessions, connections, events, now, .. } = self;
        let role = sessions.reach(index)?;
        let result = act(role.server, connections);
        role.pass_on(path, connections, events, *now);
        sessions.arm(index, connections.config.session_idle, connections.config.fresh_session_timeout);
        Some(result)
    }
}

impl<T, H: Clone> Reached<'_, T, H> {
    /// Messages go to where they belong, events to the program.
    fn pass_on(
        mut self,
        path: Option<ReplyPath>,
        connections: &mut Connections,
        events: &mut Events<T, H>,
        now: Instant,
    ) {
        while let Some((label, message)) = self.server.outbox().first() {
            match label.kind {
                OutgoingKind::Request { about: Some(key), .. } | OutgoingKind::Notification { about: Some(key) } => {
                    if let Some(stream) = connections.stream_of(key) {
                        connections.send(stream, message, now);
                    }
                }
                OutgoingKind::Answer { to: Some(key), error } => {
                    if let Some(stream) = connections.stream_of(key) {
                        let status = if self.index == STATELESS { status_of(error, false) } else { 200 };
                        answer(connections, stream, key, status, message, now);
                    }
                }
                OutgoingKind::Answer { to: None, error } => {
                    if let Some(path) = path {
                        refuse(connections, path, status_of(error, true), message, now);
                    }
                }
                OutgoingKind::Request { about: None, .. } | OutgoingKind::Notification { about: None } => {
                    // It is kept until the client listens. All modern clients together are nobody in particular.
                    if let Some(standalone) = &mut self.standalone {
                        let open = || connections.open_detached(self.index, self.server.legacy_version());
                        let stream = *standalone.get_or_insert_with(open);
                        connections.send(stream, message, now);
                    }
                }
            }
            self.server.outbox_mut().pass();
        }
        while let Some(event) = self.server.next_event() {
            if let ServerEvent::Cancelled(key) = event {
                connections.settled(key, now);
            }
            events.push_back((event, None));
        }
    }
}

/// Answers a request on its stream.
fn answer(connections: &mut Connections, stream: StreamId, key: RequestKey, status: u16, message: &[u8], now: Instant) {
    // A status is in the head, which a stream of events would have had already.
    if connections.is_untouched(stream) && (connections.may_be_json(stream) || status != 200) {
        return connections.answer_plainly(stream, status, message, now);
    }
    connections.send(stream, message, now);
    connections.settled(key, now);
}

/// Answers what did not become a request.
fn refuse(connections: &mut Connections, path: ReplyPath, status: u16, message: &[u8], now: Instant) {
    match path.stream {
        Some(stream) if connections.is_untouched(stream) => connections.answer_plainly(stream, status, message, now),
        // Others of the same batch have become requests, or still may.
        Some(stream) => connections.send(stream, message, now),
        None => connections.answer(path.conn, status, &[], Some(message), now),
    }
}

/// The status of an answer in the modern era, by the code of its error. What failed before it was a call is the client's
/// fault; what failed as a call is an answer like any other.
fn status_of(error: Option<i64>, refused: bool) -> u16 {
    match error {
        None => 200,
        Some(code::METHOD_NOT_FOUND) => 404,
        Some(
            code::HEADER_MISMATCH
            | code::MISSING_REQUIRED_CLIENT_CAPABILITY
            | code::UNSUPPORTED_PROTOCOL_VERSION
            | code::PARSE_ERROR
            | code::INVALID_REQUEST,
        ) => 400,
        Some(code::INTERNAL_ERROR) if refused => 503,
        Some(_) if refused => 400,
        Some(_) => 200,
    }
}
