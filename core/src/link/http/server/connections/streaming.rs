//! Streams: which connection carries one, what goes on it, when it ends, and what is told again to a client that comes
//! back.

use alloc::vec::Vec;

use super::super::admission::Refusal;
use super::super::connection::NO_MEMORY;
use super::super::streams::{EventLog, ResponseStream, StreamId, parse_event_id};
use super::Connections;
use crate::codec::sse;
use crate::machine::ConnId;
use crate::model::ProtocolVersion;
use crate::rpc::RequestKey;
use crate::time::Instant;

const SESSION_HEADER: &str = "Mcp-Session-Id";

/// What an event takes beside its message: its name, the names of its fields, and the chunk that it goes in.
const EVENT_BYTES: usize = 96;

/// Whether there is memory for a message of more bytes than this is asked before it is taken.
const LONG: usize = 64 * 1024;

impl Connections {
    /// Opens a stream for the answers to what `conn` asked.
    pub(in super::super) fn open_stream(
        &mut self,
        conn: ConnId,
        session: u32,
        version: Option<ProtocolVersion>,
    ) -> StreamId {
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        let log = (session != 0).then(|| EventLog::new(version));
        let json = self.config.json_answers;
        let mut in_flight = 0;
        self.with(conn, |connection| {
            connection.attach(id);
            in_flight = connection.take_in_flight();
        });
        self.memory.recount(0, in_flight);
        let stream = ResponseStream { session, conn: Some(conn), json, log, in_flight, ..ResponseStream::default() };
        self.streams.insert(id, stream);
        id
    }

    /// Opens a stream for the answers to a batch, which is one of events.
    pub(in super::super) fn open_batch(
        &mut self,
        conn: ConnId,
        session: u32,
        version: Option<ProtocolVersion>,
    ) -> StreamId {
        let id = self.open_stream(conn, session, version);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.json = false;
            // It is not over when the first of its requests is answered.
            stream.standalone = true;
        }
        id
    }

    /// All requests of a batch are known.
    pub(in super::super) fn all_asked(&mut self, id: StreamId, now: Instant) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.standalone = false;
        if stream.open.is_empty() {
            self.finish(id, now);
        }
    }

    /// Opens a stream that waits for its connection.
    pub(in super::super) fn open_detached(&mut self, session: u32, version: Option<ProtocolVersion>) -> StreamId {
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        let log = Some(EventLog::new(version));
        self.streams.insert(id, ResponseStream { session, log, standalone: true, ..ResponseStream::default() });
        id
    }

    /// The answer on a stream tells the client which session it began.
    pub(in super::super) fn announce(&mut self, id: StreamId, session: &str) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.announced = Some(session.into());
        }
    }

    /// A request will be answered on a stream.
    pub(in super::super) fn expect(&mut self, stream: StreamId, request: RequestKey) {
        if let Some(open) = self.streams.get_mut(&stream) {
            open.open.push(request);
            self.requests.insert(request, stream);
        }
    }

    pub(in super::super) fn stream_of(&self, request: RequestKey) -> Option<StreamId> {
        self.requests.get(&request).copied()
    }

    /// Whether the next message would be the first and the last thing on its stream, so that it need not be a stream.
    pub(in super::super) fn is_untouched(&self, id: StreamId) -> bool {
        let Some(stream) = self.streams.get(&id).filter(|stream| !stream.standalone && stream.open.len() <= 1) else {
            return false;
        };
        let connection = stream.conn.and_then(|conn| self.by_id.get(&conn));
        connection.is_some_and(|connection| !connection.has_events())
    }

    /// Whether an answer that is alone on its stream is to be JSON.
    pub(in super::super) fn may_be_json(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.json)
    }

    /// Sends a message on a stream, or keeps it for when the client comes back.
    pub(in super::super) fn send(&mut self, id: StreamId, message: &[u8], now: Instant) {
        let waiting = self.streams.get(&id).and_then(|stream| self.by_id.get(&stream.conn?));
        let waiting = waiting.map_or(0, |connection| connection.counted);
        let conn = |connections: &Self| connections.streams.get(&id)?.conn;
        if !self.has_memory(waiting, message.len(), now) || !self.has_room(conn, EVENT_BYTES + message.len()) {
            return self.give_up(id);
        }
        self.start_events(id, now);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let (most, most_bytes) = (self.config.replay_events, self.config.replay_bytes);
        let event = stream.log.as_mut().map(|log| {
            let before = log.bytes();
            let event = log.keep(id, message, most, most_bytes, stream.conn.is_some());
            self.kept_bytes = self.kept_bytes - before + log.bytes();
            self.memory.recount(before, log.bytes());
            event
        });
        if let Some(conn) = stream.conn {
            self.with(conn, |connection| {
                connection.write_events(now, |out| {
                    out.reserve(message.len() + EVENT_BYTES);
                    let written = sse::write_event(out, None, event.as_deref(), message);
                    debug_assert!(written.is_ok(), "ids are digits");
                });
            });
        }
    }

    /// Whether a message can be copied to where it goes. The budget may allow what the system has not got.
    fn has_room(&mut self, conn: impl FnOnce(&Self) -> Option<ConnId>, bytes: usize) -> bool {
        bytes <= LONG || {
            let conn = conn(self).and_then(|conn| self.by_id.get_mut(&conn));
            conn.is_none_or(|connection| connection.has_room(bytes))
        }
    }

    /// Begins the stream of events, if it has not begun.
    pub(super) fn start_events(&mut self, id: StreamId, now: Instant) {
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
    pub(in super::super) fn begin(&mut self, id: StreamId, now: Instant) {
        self.start_events(id, now);
        let Some(conn) = self.streams.get(&id).and_then(|stream| stream.conn) else { return };
        // Some clients wait for a first byte of the body before they believe in the stream.
        self.with(conn, |connection| connection.heartbeat(now));
    }

    /// A request is answered, or will never be. Its stream ends with its last one.
    pub(in super::super) fn settled(&mut self, request: RequestKey, now: Instant) {
        let Some(id) = self.requests.remove(&request) else { return };
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.open.retain(|open| *open != request);
        if stream.open.is_empty() && !stream.standalone {
            self.finish(id, now);
        }
    }

    /// Nothing more will be said on a stream.
    pub(in super::super) fn finish(&mut self, id: StreamId, now: Instant) {
        self.start_events(id, now);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let conn = stream.conn.take();
        let (session, resumable) = (stream.session, stream.log.is_some());
        self.memory.recount(core::mem::take(&mut stream.in_flight), 0);
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
            self.forget_oldest_of(name);
        }
    }

    /// Forgets a finished stream; false if there is none.
    pub(super) fn forget_oldest(&mut self) -> bool {
        let first = self.finished.keys().next().copied();
        first.is_some_and(|session| self.forget_oldest_of(session))
    }

    fn forget_oldest_of(&mut self, session: u32) -> bool {
        let Some(queue) = self.finished.get_mut(&session) else { return false };
        let oldest = queue.pop_front();
        if queue.is_empty() {
            self.finished.remove(&session);
        }
        if let Some(oldest) = oldest {
            self.end_stream(oldest);
        }
        true
    }

    /// There is no memory for what is to be said on a stream: its client is not kept waiting for it.
    fn give_up(&mut self, id: StreamId) {
        if let Some(conn) = self.streams.get(&id).and_then(|stream| stream.conn) {
            self.close(conn);
        }
    }

    /// Answers without a stream.
    pub(in super::super) fn answer_plainly(&mut self, id: StreamId, status: u16, message: &[u8], now: Instant) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let (conn, announced) = (stream.conn.take(), stream.announced.take());
        self.end_stream(id);
        let Some(conn) = conn else { return };
        let held = self.by_id.get(&conn).map_or(0, |connection| connection.counted);
        if !self.has_memory(held, message.len(), now) || !self.has_room(|_| Some(conn), message.len()) {
            return self.refuse(conn, &Refusal::new(503, NO_MEMORY), now);
        }
        let header = announced.as_deref().map(|session| (SESSION_HEADER, session));
        self.answer(conn, status, header.as_slice(), Some(message), now);
    }

    /// Forgets a stream.
    pub(in super::super) fn end_stream(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.remove(&id) {
            let kept = stream.log.as_ref().map_or(0, EventLog::bytes);
            self.kept_bytes -= kept;
            self.memory.recount(kept + stream.in_flight, 0);
            for request in stream.open {
                self.requests.remove(&request);
            }
        }
    }

    /// Ends the connection that carries a stream; the client is to come back for the rest.
    pub(in super::super) fn interrupt(&mut self, id: StreamId, now: Instant) {
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
    pub(in super::super) fn resume(
        &mut self,
        conn: ConnId,
        session: u32,
        event: &str,
        now: Instant,
    ) -> Result<(), Refusal> {
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
    pub(in super::super) fn take_over(&mut self, id: StreamId, conn: ConnId, now: Instant) {
        let old = self.streams.get_mut(&id).and_then(|stream| stream.conn.replace(conn));
        if let Some(old) = old {
            self.with(old, |connection| connection.cut_off(now));
        }
        self.with(conn, |connection| connection.attach(id));
        self.begin(id, now);
        self.tell_again(id, None, now);
    }

    pub(in super::super) fn is_attached(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.conn.is_some())
    }

    /// Every stream of a session that is over.
    pub(in super::super) fn end_session(&mut self, session: u32, now: Instant) {
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
}
