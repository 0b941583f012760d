//! All connections: their timers here, the streams on them in `streaming`, which of them make room for others in `eviction`.
//! What is known here is which message goes where, not what it says.

mod eviction;
mod streaming;

pub(super) use eviction::eviction_candidates;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
#[cfg(feature = "auth")]
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::admission::Refusal;
use super::config::HttpServerConfig;
use super::connection::{Arrival, Connection, Overdue};
use super::memory::{Memory, SMALL, Waiting};
use super::streams::{ResponseStream, StreamId};
use crate::limits::Limits;
use crate::machine::ConnId;
use crate::rpc::RequestKey;
#[cfg(feature = "auth")]
use crate::server::Principal;
use crate::time::{Instant, earliest};

pub(super) struct Connections {
    pub(super) config: HttpServerConfig,
    most_bytes: usize,
    by_id: BTreeMap<ConnId, Box<Connection>>,
    streams: BTreeMap<StreamId, ResponseStream>,
    requests: BTreeMap<RequestKey, StreamId>,
    /// Streams of each session that are over and can still be resumed, oldest first.
    finished: BTreeMap<u32, VecDeque<StreamId>>,
    /// Bytes of events that are kept for clients that come back.
    kept_bytes: usize,
    memory: Memory,
    timers: BTreeSet<(Instant, ConnId)>,
    /// Connections with bytes that nobody has looked at.
    ready: VecDeque<ConnId>,
    /// Connections that have something to write, or room to read, that their driver does not know of.
    moving: VecDeque<ConnId>,
    /// Connections that the adapter is to close.
    done: VecDeque<ConnId>,
    /// Requests whose client is gone, in the era in which that cancels them.
    abandoned: VecDeque<RequestKey>,
    next_conn: u32,
    next_stream: u64,
    draining: bool,
}

impl Connections {
    pub(super) fn new(config: HttpServerConfig, limits: &Limits) -> Self {
        Self {
            memory: Memory::new(config.memory_bytes),
            config,
            most_bytes: limits.message_bytes,
            by_id: BTreeMap::new(),
            streams: BTreeMap::new(),
            requests: BTreeMap::new(),
            finished: BTreeMap::new(),
            kept_bytes: 0,
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            moving: VecDeque::new(),
            done: VecDeque::new(),
            abandoned: VecDeque::new(),
            next_conn: 0,
            next_stream: 1,
            draining: false,
        }
    }

    /// A client has connected.
    pub(super) fn accept(&mut self, client: Option<IpAddr>, now: Instant) -> ConnId {
        // Names come round again after four billion, and a listener may live that long.
        while self.by_id.contains_key(&ConnId(self.next_conn)) {
            self.next_conn = self.next_conn.wrapping_add(1);
        }
        let conn = ConnId(self.next_conn);
        self.next_conn = self.next_conn.wrapping_add(1);
        if self.draining || !self.has_place() {
            self.done.push_back(conn);
            return conn;
        }
        self.by_id.insert(conn, Box::new(Connection::new(&self.config, client, now)));
        self.arm(conn);
        conn
    }

    pub(super) fn space(&mut self, conn: ConnId) -> &mut [u8] {
        let most = if self.memory.is_short() { SMALL } else { usize::MAX };
        if !self.reads(conn) {
            return &mut [];
        }
        let Some(connection) = self.by_id.get_mut(&conn) else { return &mut [] };
        self.memory.promise(connection, &self.config);
        connection.space(&self.config, most)
    }

    /// Whether there is room for what comes. If there is none, the driver is signalled when there is.
    pub(super) fn reads(&mut self, conn: ConnId) -> bool {
        let Some(connection) = self.by_id.get_mut(&conn) else { return false };
        let (wants, held, expected) =
            (connection.reads(&self.config), connection.counted, connection.expected(&self.config));
        let fits = self.memory.has_room(held, expected);
        connection.reads_paused = !(wants && fits);
        if wants && !fits && !core::mem::replace(&mut connection.waits_for_memory, true) {
            self.memory.wait(Waiting { conn, held, more: expected });
        }
        wants && fits
    }

    pub(super) fn filled(&mut self, conn: ConnId, count: usize, now: Instant) {
        if let Some(connection) = self.by_id.get_mut(&conn) {
            connection.filled(count, now);
            self.memory.count(connection);
            self.ready.push_back(conn);
        }
    }

    /// Whose connection it is, if that is known.
    pub(super) fn client_of(&self, conn: ConnId) -> Option<IpAddr> {
        self.by_id.get(&conn).and_then(|connection| connection.client)
    }

    pub(super) fn unwritten(&self, conn: ConnId) -> &[u8] {
        self.by_id.get(&conn).map_or(&[], |connection| connection.unwritten())
    }

    pub(super) fn wrote(&mut self, conn: ConnId, count: usize, now: Instant) {
        let Some(connection) = self.by_id.get_mut(&conn) else { return };
        connection.wrote(count, now);
        self.memory.count(connection);
        match connection.is_over() {
            true => self.close(conn),
            false => self.arm(conn),
        }
    }

    /// The client sends nothing more. What it has sent is still looked at.
    pub(super) fn ended(&mut self, conn: ConnId) {
        if let Some(connection) = self.by_id.get_mut(&conn) {
            connection.ended = true;
            self.ready.push_back(conn);
        }
    }

    pub(super) fn has(&self, conn: ConnId) -> bool {
        self.by_id.contains_key(&conn)
    }

    /// The client is gone, or there is no use in going on with it.
    pub(super) fn close(&mut self, conn: ConnId) {
        // It may have been closed before, while the driver did not ask.
        let Some(connection) = self.by_id.remove(&conn) else { return };
        self.memory.recount(connection.counted, 0);
        self.done.push_back(conn);
        if let Some(armed) = connection.armed {
            self.timers.remove(&(armed, conn));
        }
        let Some(id) = connection.stream() else { return };
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.conn = None;
        // In the legacy era a client that is gone may come back for the rest; in the modern era it has cancelled.
        if stream.log.is_none() {
            self.abandoned.extend(stream.open.iter().copied());
            self.end_stream(id);
        }
    }

    /// What came in on any connection.
    pub(super) fn next_arrival(&mut self, now: Instant) -> Option<(ConnId, Arrival)> {
        while let Some(conn) = self.ready.pop_front() {
            let Some(connection) = self.by_id.get_mut(&conn) else { continue };
            let arrival = connection.next(&self.config, self.most_bytes, now);
            let ended = connection.ended;
            self.memory.count(connection);
            signal_driver(&mut self.moving, conn, connection, &self.config);
            self.arm(conn);
            match arrival {
                Some(arrival) => {
                    if ended {
                        self.ready.push_back(conn);
                    }
                    return Some((conn, arrival));
                }
                None if ended => self.with(conn, |connection| connection.heard_out(now)),
                None => {}
            }
        }
        None
    }

    /// Does something with a connection, and what follows from it.
    fn with(&mut self, conn: ConnId, act: impl FnOnce(&mut Connection)) {
        let Some(connection) = self.by_id.get_mut(&conn) else { return };
        act(connection);
        self.memory.count(connection);
        signal_driver(&mut self.moving, conn, connection, &self.config);
        if connection.overflows(&self.config) {
            return self.close(conn);
        }
        if connection.has_more() {
            self.ready.push_back(conn);
        }
        if connection.is_over() {
            return self.close(conn);
        }
        self.arm(conn);
    }

    fn each(&mut self, act: impl Fn(&mut Connection)) {
        let conns: Vec<_> = self.by_id.keys().copied().collect();
        for conn in conns {
            self.with(conn, &act);
        }
    }

    pub(super) fn next_to_move(&mut self, now: Instant) -> Option<ConnId> {
        self.moving.pop_front().or_else(|| self.next_with_memory(now))
    }

    /// A connection that has waited for memory and can be read now.
    fn next_with_memory(&mut self, now: Instant) -> Option<ConnId> {
        let conn = self.memory.next_with_room(|conn| !self.by_id.contains_key(&conn))?;
        if let Some(connection) = self.by_id.get_mut(&conn) {
            connection.waits_for_memory = false;
            // From now on it is up to the client again.
            connection.moved = now;
        }
        Some(conn)
    }

    pub(super) fn answer(
        &mut self,
        conn: ConnId,
        status: u16,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        now: Instant,
    ) {
        self.with(conn, |connection| connection.answer(status, headers, body, now));
    }

    pub(super) fn refuse(&mut self, conn: ConnId, refusal: &Refusal, now: Instant) {
        self.with(conn, |connection| connection.answer_refusal(refusal, now));
    }

    /// It is known who asks: the rest of the request is read.
    #[cfg(feature = "auth")]
    pub(super) fn admit(&mut self, conn: ConnId, principal: Arc<Principal>, now: Instant) {
        self.with(conn, |connection| connection.admit(principal, now));
        self.ready.push_back(conn);
    }

    /// Refuses a request that waits for its token to be verified. Nothing of its body was looked at.
    #[cfg(feature = "auth")]
    pub(super) fn turn_away(&mut self, conn: ConnId, refusal: &Refusal, now: Instant) {
        self.with(conn, |connection| {
            if connection.is_verifying() {
                connection.turn_away(refusal, now);
            }
        });
    }

    fn arm(&mut self, conn: ConnId) {
        let Some(connection) = self.by_id.get_mut(&conn) else { return };
        let deadline = connection.deadline(&self.config);
        // A timer that fires early is harmless, so it is only ever set to something earlier.
        if connection.armed.is_some_and(|armed| deadline.is_none_or(|deadline| armed <= deadline)) {
            return;
        }
        if let Some(armed) = core::mem::replace(&mut connection.armed, deadline) {
            self.timers.remove(&(armed, conn));
        }
        if let Some(deadline) = deadline {
            self.timers.insert((deadline, conn));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        earliest(self.timers.first().map(|&(deadline, _)| deadline), self.memory.deadline())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(deadline, conn)) = self.timers.first().filter(|(deadline, _)| *deadline <= now) {
            self.timers.remove(&(deadline, conn));
            let Some(connection) = self.by_id.get_mut(&conn) else { continue };
            connection.armed = None;
            match connection.overdue(&self.config, now) {
                Overdue::Nothing => self.with(conn, |_| ()),
                Overdue::Close => self.close(conn),
                Overdue::Heartbeat(stream) => {
                    self.start_events(stream, now);
                    self.with(conn, |connection| connection.heartbeat(now));
                }
            }
        }
    }

    pub(super) fn next_done(&mut self) -> Option<ConnId> {
        self.done.pop_front()
    }

    pub(super) fn next_abandoned(&mut self) -> Option<RequestKey> {
        self.abandoned.pop_front()
    }

    /// Whether the machine has something to do about connections that are over.
    pub(super) fn has_pending_work(&self) -> bool {
        !self.done.is_empty() || !self.abandoned.is_empty()
    }

    /// No new connections, and no new requests on the old ones.
    pub(super) fn drain(&mut self) {
        self.draining = true;
        self.each(Connection::close_after_answer);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Nothing more is answered: what waits is written, and that is all.
    pub(super) fn finish_all(&mut self) {
        self.each(Connection::close_now);
    }

    /// Nothing more is written either.
    pub(super) fn close_all(&mut self) {
        while let Some((&conn, _)) = self.by_id.first_key_value() {
            self.close(conn);
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.abandoned.is_empty() && self.done.is_empty()
    }
}

/// Has the driver look at a connection if there is something new to write on it, or room to read again.
fn signal_driver(moving: &mut VecDeque<ConnId>, conn: ConnId, connection: &mut Connection, config: &HttpServerConfig) {
    let writes = !connection.signalled && !connection.unwritten().is_empty();
    // For one that waits for memory the driver is signalled when there is some.
    let reads = connection.reads_paused && !connection.waits_for_memory && connection.reads(config);
    if writes || reads {
        connection.signalled |= writes;
        connection.reads_paused &= !reads;
        moving.push_back(conn);
    }
}
