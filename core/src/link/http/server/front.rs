//! The side of the server that faces the network: connections, the streams on them, and their timers. It knows which
//! message goes where, not what it says.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::admission::Refusal;
use super::config::HttpServerConfig;
use super::connection::{Arrival, Connection, Overdue};
use super::streams::{EventLog, Stream, StreamId, parse_event_id};
use crate::codec::sse;
use crate::limits::Limits;
use crate::machine::ConnId;
use crate::model::ProtocolVersion;
use crate::session::RequestKey;
use crate::time::Instant;

const SESSION_HEADER: &str = "Mcp-Session-Id";

pub(super) struct Front {
    pub(super) config: HttpServerConfig,
    most_bytes: usize,
    connections: BTreeMap<ConnId, Box<Connection>>,
    streams: BTreeMap<StreamId, Stream>,
    requests: BTreeMap<RequestKey, StreamId>,
    /// Streams of each session that are over and can still be resumed, oldest first.
    finished: BTreeMap<u32, VecDeque<StreamId>>,
    /// Bytes of events that are kept for clients that come back.
    kept_bytes: usize,
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

impl Front {
    pub(super) fn new(config: HttpServerConfig, limits: &Limits) -> Self {
        Self {
            config,
            most_bytes: limits.message_bytes,
            connections: BTreeMap::new(),
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

    // Connections

    /// A client has connected.
    pub(super) fn accept(&mut self, now: Instant) -> ConnId {
        // Names come round again after four billion, and a listener may live that long.
        while self.connections.contains_key(&ConnId(self.next_conn)) {
            self.next_conn = self.next_conn.wrapping_add(1);
        }
        let conn = ConnId(self.next_conn);
        self.next_conn = self.next_conn.wrapping_add(1);
        if self.draining || self.connections.len() >= self.config.connections {
            self.done.push_back(conn);
            return conn;
        }
        self.connections.insert(conn, Box::new(Connection::new(&self.config, now)));
        self.arm(conn);
        conn
    }

    pub(super) fn space(&mut self, conn: ConnId) -> &mut [u8] {
        match self.connections.get_mut(&conn) {
            Some(connection) => connection.space(&self.config),
            None => &mut [],
        }
    }

    pub(super) fn filled(&mut self, conn: ConnId, count: usize) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.filled(count);
            self.ready.push_back(conn);
        }
    }

    pub(super) fn unwritten(&self, conn: ConnId) -> &[u8] {
        self.connections.get(&conn).map_or(&[], |connection| connection.unwritten())
    }

    pub(super) fn wrote(&mut self, conn: ConnId, count: usize, now: Instant) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        connection.wrote(count, now);
        match connection.is_over() {
            true => self.close(conn),
            false => self.arm(conn),
        }
    }

    /// The client sends nothing more. What it has sent is still looked at.
    pub(super) fn ended(&mut self, conn: ConnId) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.ended = true;
            self.ready.push_back(conn);
        }
    }

    /// The client is gone, or there is no use in going on with it.
    pub(super) fn close(&mut self, conn: ConnId) {
        self.lost(conn);
        self.done.push_back(conn);
    }

    /// The connection is gone.
    fn lost(&mut self, conn: ConnId) {
        let Some(connection) = self.connections.remove(&conn) else { return };
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
            let Some(connection) = self.connections.get_mut(&conn) else { continue };
            let arrival = connection.next(&self.config, self.most_bytes, now);
            let ended = connection.ended;
            self.tell_driver(conn);
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
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        act(connection);
        self.tell_driver(conn);
        let Some(connection) = self.connections.get(&conn) else { return };
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

    /// Has the driver look at a connection if there is something new to write on it.
    fn tell_driver(&mut self, conn: ConnId) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            if !connection.told && !connection.unwritten().is_empty() {
                connection.told = true;
                self.moving.push_back(conn);
            }
        }
    }

    pub(super) fn next_to_move(&mut self) -> Option<ConnId> {
        self.moving.pop_front()
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

    fn arm(&mut self, conn: ConnId) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
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
        self.timers.first().map(|&(deadline, _)| deadline)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(deadline, conn)) = self.timers.first().filter(|(deadline, _)| *deadline <= now) {
            self.timers.remove(&(deadline, conn));
            let Some(connection) = self.connections.get_mut(&conn) else { continue };
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

    // Streams

    /// Opens a stream for the answers to what `conn` asked.
    pub(super) fn open_stream(
        &mut self,
        conn: ConnId,
        session: u32,
        version: Option<ProtocolVersion>,
        standalone: bool,
    ) -> StreamId {
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        let log = (session != 0).then(|| EventLog::new(version));
        let json = self.config.json_answers && !standalone;
        self.streams.insert(id, Stream { session, conn: Some(conn), standalone, json, log, ..Stream::default() });
        self.with(conn, |connection| connection.attach(id));
        id
    }

    /// Opens a stream for the answers to a batch, which is one of events.
    pub(super) fn open_batch(&mut self, conn: ConnId, session: u32, version: Option<ProtocolVersion>) -> StreamId {
        let id = self.open_stream(conn, session, version, false);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.json = false;
            // It is not over when the first of its requests is answered.
            stream.standalone = true;
        }
        id
    }

    /// All requests of a batch are known.
    pub(super) fn all_asked(&mut self, id: StreamId, now: Instant) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.standalone = false;
        if stream.open.is_empty() {
            self.finish(id, now);
        }
    }

    /// Opens a stream that waits for its connection.
    pub(super) fn open_detached(&mut self, session: u32, version: Option<ProtocolVersion>) -> StreamId {
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        let log = Some(EventLog::new(version));
        self.streams.insert(id, Stream { session, log, standalone: true, ..Stream::default() });
        id
    }

    /// The answer on a stream tells the client which session it began.
    pub(super) fn announce(&mut self, id: StreamId, session: &str) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.announced = Some(session.into());
        }
    }

    /// A request will be answered on a stream.
    pub(super) fn expect(&mut self, stream: StreamId, request: RequestKey) {
        if let Some(open) = self.streams.get_mut(&stream) {
            open.open.push(request);
            self.requests.insert(request, stream);
        }
    }

    pub(super) fn stream_of(&self, request: RequestKey) -> Option<StreamId> {
        self.requests.get(&request).copied()
    }

    /// Whether the next message would be the first and the last thing on its stream, so that it need not be a stream.
    pub(super) fn is_untouched(&self, id: StreamId) -> bool {
        let Some(stream) = self.streams.get(&id).filter(|stream| !stream.standalone && stream.open.len() <= 1) else {
            return false;
        };
        let connection = stream.conn.and_then(|conn| self.connections.get(&conn));
        connection.is_some_and(|connection| !connection.has_events())
    }

    /// Whether an answer that is alone on its stream is to be JSON.
    pub(super) fn may_be_json(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.json)
    }

    /// Sends a message on a stream, or keeps it for when the client comes back.
    pub(super) fn send(&mut self, id: StreamId, message: &[u8], now: Instant) {
        self.start_events(id, now);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let (most, most_bytes) = (self.config.replay_events, self.config.replay_bytes);
        let event = stream.log.as_mut().map(|log| {
            self.kept_bytes -= log.bytes();
            let event = log.keep(id, message, most, most_bytes, stream.conn.is_some());
            self.kept_bytes += log.bytes();
            event
        });
        if let Some(conn) = stream.conn {
            self.with(conn, |connection| {
                connection.write_events(now, |out| {
                    let written = sse::write_event(out, None, event.as_deref(), message);
                    debug_assert!(written.is_ok(), "ids are digits");
                });
            });
        }
    }

    /// Begins the stream of events, if it has not begun.
    fn start_events(&mut self, id: StreamId, now: Instant) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(conn) = stream.conn else { return };
        let priming = stream.log.as_ref().filter(|log| log.primes).map(|log| log.last_id(id));
        let announced = stream.announced.take();
        let retry = self.config.retry;
        self.with(conn, |connection| {
            if connection.has_events() {
                return;
            }
            let header = announced.as_deref().map(|session| (SESSION_HEADER, session));
            connection.start_events(header.as_slice(), now);
            if let Some(event) = priming {
                connection.write_events(now, |out| {
                    let _ = sse::write_priming_event(out, &event, Some(retry));
                });
            }
        });
    }

    /// Begins a stream of events with nothing to say yet.
    pub(super) fn begin(&mut self, id: StreamId, now: Instant) {
        self.start_events(id, now);
        let Some(conn) = self.streams.get(&id).and_then(|stream| stream.conn) else { return };
        // Some clients wait for a first byte of the body before they believe in the stream.
        self.with(conn, |connection| connection.heartbeat(now));
    }

    /// A request is answered, or will never be. Its stream ends with its last one.
    pub(super) fn settled(&mut self, request: RequestKey, now: Instant) {
        let Some(id) = self.requests.remove(&request) else { return };
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.open.retain(|open| *open != request);
        if stream.open.is_empty() && !stream.standalone {
            self.finish(id, now);
        }
    }

    /// Nothing more will be said on a stream.
    pub(super) fn finish(&mut self, id: StreamId, now: Instant) {
        self.start_events(id, now);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let conn = stream.conn.take();
        let (session, resumable) = (stream.session, stream.log.is_some());
        if let Some(conn) = conn {
            self.with(conn, |connection| connection.end_events(now));
        }
        if !resumable {
            return self.end_stream(id);
        }
        let finished = self.finished.entry(session).or_default();
        // A client may come back for the same stream more than once.
        if !finished.contains(&id) {
            finished.push_back(id);
        }
        if finished.len() > self.config.replay_streams {
            if let Some(oldest) = finished.pop_front() {
                self.end_stream(oldest);
            }
        }
        self.forget_beyond_budget(session, id);
    }

    /// Forgets finished streams, those of the session that made it necessary first, until what is kept for clients that
    /// come back is within its limit.
    fn forget_beyond_budget(&mut self, session: u32, newest: StreamId) {
        while self.kept_bytes > self.config.replay_total_bytes {
            let own = self.finished.get(&session).is_some_and(|own| own.front().is_some_and(|id| *id != newest));
            let other = || self.finished.keys().copied().find(|other| *other != session);
            let Some(name) = own.then_some(session).or_else(other) else { return };
            let Some(queue) = self.finished.get_mut(&name) else { return };
            let oldest = queue.pop_front();
            if queue.is_empty() {
                self.finished.remove(&name);
            }
            if let Some(oldest) = oldest {
                self.end_stream(oldest);
            }
        }
    }

    /// Answers without a stream.
    pub(super) fn answer_plainly(&mut self, id: StreamId, status: u16, message: &[u8], now: Instant) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let (conn, announced) = (stream.conn.take(), stream.announced.take());
        self.end_stream(id);
        if let Some(conn) = conn {
            let header = announced.as_deref().map(|session| (SESSION_HEADER, session));
            self.answer(conn, status, header.as_slice(), Some(message), now);
        }
    }

    /// Forgets a stream.
    pub(super) fn end_stream(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.remove(&id) {
            self.kept_bytes -= stream.log.as_ref().map_or(0, EventLog::bytes);
            for request in stream.open {
                self.requests.remove(&request);
            }
        }
    }

    /// Ends the connection that carries a stream; the client is to come back for the rest.
    pub(super) fn interrupt(&mut self, id: StreamId, now: Instant) {
        if self.streams.get(&id).is_none_or(|stream| stream.log.is_none()) {
            return;
        }
        self.start_events(id, now);
        let Some(conn) = self.streams.get_mut(&id).and_then(|stream| stream.conn.take()) else { return };
        let retry = self.config.retry;
        self.with(conn, |connection| {
            connection.write_events(now, |out| sse::write_retry(out, retry));
            connection.end_events(now);
        });
    }

    /// A client comes back for what followed an event.
    pub(super) fn resume(&mut self, conn: ConnId, session: u32, event: &str, now: Instant) -> Result<(), Refusal> {
        let unknown = || Refusal::new(400, "the event is none that can be resumed from");
        let (id, number) = parse_event_id(event).ok_or_else(unknown)?;
        let stream = self.streams.get_mut(&id).filter(|stream| stream.session == session).ok_or_else(unknown)?;
        let old = stream.conn.replace(conn);
        let over = stream.open.is_empty() && !stream.standalone;
        let primes = stream.log.as_ref().is_some_and(|log| log.primes);
        if let Some(old) = old {
            self.with(old, |connection| connection.cut_off(now));
        }
        let retry = self.config.retry;
        self.with(conn, |connection| {
            connection.attach(id);
            connection.start_events(&[], now);
            if primes {
                // It shows the client that it has arrived, even if there is nothing new.
                connection.write_events(now, |out| {
                    let _ = sse::write_priming_event(out, event, Some(retry));
                });
            }
        });
        self.tell_again(id, Some(number), now);
        match over {
            true => self.finish(id, now),
            false => self.begin(id, now),
        }
        Ok(())
    }

    /// Sends what followed an event, or what could not be sent so far.
    fn tell_again(&mut self, id: StreamId, number: Option<u64>, now: Instant) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let (Some(conn), Some(log)) = (stream.conn, &mut stream.log) else { return };
        let missed = log.after(id, number);
        self.with(conn, |connection| {
            for (event, message) in missed {
                connection.write_events(now, |out| {
                    let _ = sse::write_event(out, None, Some(&event), &message);
                });
            }
        });
    }

    /// A new connection takes over a stream.
    pub(super) fn take_over(&mut self, id: StreamId, conn: ConnId, now: Instant) {
        let old = self.streams.get_mut(&id).and_then(|stream| stream.conn.replace(conn));
        if let Some(old) = old {
            self.with(old, |connection| connection.cut_off(now));
        }
        self.with(conn, |connection| connection.attach(id));
        self.begin(id, now);
        self.tell_again(id, None, now);
    }

    pub(super) fn is_attached(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.conn.is_some())
    }

    /// Every stream of a session that is over.
    pub(super) fn end_session(&mut self, session: u32, now: Instant) {
        self.finished.remove(&session);
        let ids: Vec<_> =
            self.streams.iter().filter(|(_, stream)| stream.session == session).map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(conn) = self.streams.get_mut(&id).and_then(|stream| stream.conn.take()) {
                self.with(conn, |connection| connection.cut_off(now));
            }
            self.end_stream(id);
        }
    }

    // What the machine has to know

    pub(super) fn next_done(&mut self) -> Option<ConnId> {
        self.done.pop_front()
    }

    pub(super) fn next_abandoned(&mut self) -> Option<RequestKey> {
        self.abandoned.pop_front()
    }

    /// Whether the machine has something to do about connections that are over.
    pub(super) fn has_news(&self) -> bool {
        !self.done.is_empty() || !self.abandoned.is_empty()
    }

    /// No new connections, and no new requests on the old ones.
    pub(super) fn drain(&mut self) {
        self.draining = true;
        let conns: Vec<_> = self.connections.keys().copied().collect();
        for conn in conns {
            self.with(conn, Connection::close_after_answer);
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Nothing more is answered: what waits is written, and that is all.
    pub(super) fn finish_all(&mut self) {
        let conns: Vec<_> = self.connections.keys().copied().collect();
        for conn in conns {
            self.with(conn, Connection::close_now);
        }
    }

    /// Nothing more is written either.
    pub(super) fn close_all(&mut self) {
        let conns: Vec<_> = self.connections.keys().copied().collect();
        for conn in conns {
            self.close(conn);
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.abandoned.is_empty() && self.done.is_empty()
    }
}
