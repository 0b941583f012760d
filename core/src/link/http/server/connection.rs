//! One connection of a client: requests come in one after the other, answers go out in the same order.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

use super::admission::{Admitted, Refusal, Verb, admit};
use super::config::HttpServerConfig;
use super::memory::SMALL;
use super::streams::StreamId;
use crate::buffer::{Cursor, ReadBuffer, WriteBuffer};
use crate::codec::http1::{
    Frame, Framing, RequestDecoder, RequestHead, Version, wrap_chunk, write_last_chunk, write_response,
};
use crate::codec::sse;
use crate::jsonrpc::encode_error;
use crate::secret::Secret;
use crate::server::Principal;
use crate::time::{Instant, earliest};

/// A client that has stopped sending may be gone, or wait for its answers. Whether it is gone shows when something is
/// written to it twice: its system answers the first write with a reset, which the second one reports. This is how long
/// to wait before the first write; a quick answer comes before that. Then it is twice as long each time, since the reset
/// takes a round trip, until it is the pace of heartbeats.
const FIRST_PROBE: Duration = Duration::from_millis(25);

/// What a client has to take of its answers within the write timeout, if not all of them: two kilobytes a second, by
/// default. Whoever takes a byte now and then would hold the memory of a long answer for years.
const ENOUGH: usize = 64 * 1024;

/// What a body gets to begin with, if it needs as much.
const FIRST_ROOM: usize = SMALL;

/// What is said to those for whom there is none.
pub(super) const NO_MEMORY: &str = "the server has no memory left for this; try again later";

/// What the head of an answer takes, mostly.
const HEAD_BYTES: usize = 160;

pub(super) struct Connection {
    inbox: ReadBuffer,
    cursor: Cursor,
    decoder: RequestDecoder,
    outbox: WriteBuffer,
    state: ConnectionState,
    /// Whether the connection is kept for another request after this one.
    keep_alive: bool,
    /// Whether the client is too old for chunks.
    http10: bool,
    /// When what is waited for began: a request, its body, an answer, the next heartbeat.
    since: Instant,
    /// When the client last had taken enough, while something waits for it, and what it has taken since.
    stuck_since: Option<Instant>,
    taken: usize,
    /// Whether the client wants no body, only to know what it would be like.
    head_only: bool,
    /// Whether the client sends nothing more.
    pub(super) ended: bool,
    /// How soon such a client, if it waits for an answer, gets the next sign of life.
    probing: Option<Duration>,
    /// Whether the driver knows that something waits to be written.
    pub(super) signalled: bool,
    /// Whether the driver does not read, so that it has to be signalled when there is room again.
    pub(super) reads_paused: bool,
    /// Whether it is in the queue of those that wait for memory.
    pub(super) waits_for_memory: bool,
    /// What is counted as its memory.
    pub(super) counted: usize,
    /// Bytes of the request that is being dealt with.
    in_flight: usize,
    /// When a byte last came or went.
    pub(super) moved: Instant,
    /// Whose it is, if that is known.
    pub(super) client: Option<IpAddr>,
    /// The timer that is set for this connection.
    pub(super) armed: Option<Instant>,
}

/// Where a connection is in an exchange.
#[cfg_attr(not(feature = "auth"), expect(dead_code, reason = "nobody shows a token that would be verified"))]
enum ConnectionState {
    /// The first request has to come: nothing is known of the client but that it has connected.
    Fresh,
    /// Another request may come.
    Waiting,
    /// A part of a head is there.
    Head,
    /// Whose token came with the head is being found out. Nothing of the body is looked at before.
    Verifying { head: Box<RequestHead>, verb: Verb },
    Body {
        head: Box<RequestHead>,
        verb: Verb,
        principal: Option<Arc<Principal>>,
        body: Vec<u8>,
        /// How much memory the body has been promised in all, and may not have taken yet.
        promised: usize,
    },
    /// The server is at it.
    Answering { stream: Option<StreamId>, events: bool },
    /// What waits is written, then the connection is closed.
    Closing,
}

/// What came in.
pub(super) enum Arrival {
    Request {
        head: Box<RequestHead>,
        verb: Verb,
        principal: Option<Arc<Principal>>,
        body: Vec<u8>,
    },
    /// A head shows a token. What follows it waits until it is known whose it is.
    Shown(Secret),
    /// The connection cannot go on after this.
    Refused(Refusal),
}

/// What is to be done about a connection whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    Nothing,
    /// The answer takes long, or a stream has been quiet: a sign of life is due.
    Heartbeat(StreamId),
    Close,
}

impl Connection {
    pub(super) fn new(config: &HttpServerConfig, client: Option<IpAddr>, now: Instant) -> Self {
        Self {
            inbox: ReadBuffer::default(),
            cursor: 0,
            decoder: RequestDecoder::new(config.head),
            outbox: WriteBuffer::default(),
            state: ConnectionState::Fresh,
            keep_alive: true,
            http10: false,
            since: now,
            stuck_since: None,
            taken: 0,
            head_only: false,
            ended: false,
            probing: None,
            signalled: false,
            reads_paused: false,
            waits_for_memory: false,
            counted: 0,
            in_flight: 0,
            moved: now,
            client,
            armed: None,
        }
    }

    /// Room for what comes, but not for more than this at a time.
    pub(super) fn space(&mut self, config: &HttpServerConfig, most: usize) -> &mut [u8] {
        let most = most.max(self.inbox.capacity());
        self.inbox.space(&mut self.cursor, most_unread(config).min(most))
    }

    /// Whether there is room for what comes. While an answer is due, a client that sends more is read only so far, but it
    /// is read, or its end would go unseen.
    pub(super) fn reads(&self, config: &HttpServerConfig) -> bool {
        let over = self.ended || matches!(self.state, ConnectionState::Closing);
        !over && self.inbox.unread(self.cursor).len() < most_unread(config)
    }

    pub(super) fn filled(&mut self, count: usize, now: Instant) {
        self.inbox.filled(count);
        self.moved = now;
    }

    /// The memory that it takes, or has been promised.
    pub(super) fn holds(&self) -> usize {
        let body = match &self.state {
            ConnectionState::Body { body, promised, .. } => body.capacity().max(*promised),
            _ => 0,
        };
        self.inbox.capacity() + self.outbox.capacity() + body + self.in_flight
    }

    /// How much more memory it will take to read on.
    pub(super) fn expected(&self, config: &HttpServerConfig) -> usize {
        let body = match &self.state {
            ConnectionState::Body { body, promised, .. } => {
                self.body_needs(config).saturating_sub(body.capacity().max(*promised))
            }
            _ => 0,
        };
        body + SMALL.saturating_sub(self.inbox.capacity())
    }

    /// What was expected is kept for it from now on, so that nobody else gets it as well.
    pub(super) fn promise(&mut self, config: &HttpServerConfig) {
        let needs = self.body_needs(config);
        if let ConnectionState::Body { promised, .. } = &mut self.state {
            *promised = needs.max(*promised);
        }
    }

    /// How much memory the body needs to be read on. One whose length is known is looked at as a whole: if each got a
    /// part, they might all wait for the rest of it.
    fn body_needs(&self, config: &HttpServerConfig) -> usize {
        let ConnectionState::Body { head, body, .. } = &self.state else { return 0 };
        match head.framing {
            Framing::Length(length) => usize::try_from(length).unwrap_or(usize::MAX),
            _ if body.len() < SMALL => SMALL,
            framing => room(body, most_unread(config), framing),
        }
    }

    /// Takes over the memory of the request that is being dealt with.
    pub(super) fn take_in_flight(&mut self) -> usize {
        core::mem::take(&mut self.in_flight)
    }

    /// Since when it is up to the client to move something, if it is.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        match (self.stuck_since, &self.state) {
            (Some(since), _) => Some(since.max(self.moved)),
            (None, ConnectionState::Answering { .. } | ConnectionState::Verifying { .. }) => None,
            (None, _) => Some(self.moved),
        }
    }

    /// Whether a request has begun to come, and nothing else is the matter.
    pub(super) fn is_half_asked(&self) -> bool {
        self.outbox.len() == 0 && matches!(self.state, ConnectionState::Head | ConnectionState::Body { .. })
    }

    /// Refuses a request that has not come as a whole, and will not.
    pub(super) fn turn_away(&mut self, refusal: &Refusal, now: Instant) {
        self.keep_alive = false;
        self.answer_refusal(refusal, now);
        self.inbox = ReadBuffer::default();
        self.cursor = 0;
    }

    /// Whether it could be closed without harm: nothing is asked, and nothing is to be written.
    pub(super) fn is_idle(&self) -> bool {
        self.outbox.len() == 0
            && matches!(self.state, ConnectionState::Fresh | ConnectionState::Waiting | ConnectionState::Head)
    }

    pub(super) fn unwritten(&self) -> &[u8] {
        self.outbox.unwritten()
    }

    pub(super) fn wrote(&mut self, count: usize, now: Instant) {
        self.outbox.wrote(count);
        self.taken += count;
        self.moved = now;
        if self.outbox.len() == 0 {
            self.stuck_since = None;
            self.taken = 0;
            self.signalled = false;
            self.outbox.trim();
        } else if self.taken >= ENOUGH {
            self.stuck_since = Some(now);
            self.taken = 0;
        }
    }

    /// Whether everything is written and the connection is done with.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, ConnectionState::Closing) && self.outbox.len() == 0
    }

    /// Whether the client reads so slowly that it is not worth waiting for.
    pub(super) fn overflows(&self, config: &HttpServerConfig) -> bool {
        self.outbox.len() > config.write_bytes
    }

    /// The stream that is being written.
    pub(super) fn stream(&self) -> Option<StreamId> {
        match self.state {
            ConnectionState::Answering { stream, .. } => stream,
            _ => None,
        }
    }

    /// The next thing that came in, if a request is due and there is one.
    pub(super) fn next(&mut self, config: &HttpServerConfig, most_bytes: usize, now: Instant) -> Option<Arrival> {
        while matches!(
            self.state,
            ConnectionState::Fresh | ConnectionState::Waiting | ConnectionState::Head | ConnectionState::Body { .. }
        ) {
            let unread = self.inbox.unread(self.cursor);
            let (consumed, frame) = match self.decoder.next(unread) {
                Ok(found) => found,
                Err(fault) => return Some(self.refuse(Refusal::new(fault.status(), alloc::format!("{fault}")))),
            };
            let range = self.cursor;
            self.cursor += consumed;
            match frame {
                None => {
                    if !self.inbox.unread(self.cursor).is_empty() {
                        match self.state {
                            // The first head is due a while after the client has connected, however it comes.
                            ConnectionState::Fresh => self.state = ConnectionState::Head,
                            ConnectionState::Waiting => self.enter(ConnectionState::Head, now),
                            _ => {}
                        }
                    }
                    // In the middle of a request more comes soon.
                    if matches!(self.state, ConnectionState::Fresh | ConnectionState::Waiting) {
                        self.inbox.trim(&mut self.cursor);
                    }
                    return None;
                }
                Some(Frame::Head(head)) => {
                    self.keep_alive = head.keep_alive();
                    self.http10 = head.version == Version::Http10;
                    self.head_only = head.method == "HEAD";
                    match admit(&head, config, most_bytes) {
                        Ok(Admitted { verb, token: None }) => self.expect_body(Box::new(head), verb, None, now),
                        Ok(Admitted { verb, token: Some(token) }) => {
                            self.enter(ConnectionState::Verifying { head: Box::new(head), verb }, now);
                            return Some(Arrival::Shown(token));
                        }
                        Err(refusal) => return Some(self.refuse(refusal)),
                    }
                }
                Some(Frame::Body(part)) => {
                    let ConnectionState::Body { head, body, promised, .. } = &mut self.state else { continue };
                    let part = &self.inbox.unread(range)[part];
                    if body.len() + part.len() > most_bytes {
                        let detail = alloc::format!("a message may have {most_bytes} bytes");
                        return Some(self.refuse(Refusal::new(413, detail)));
                    }
                    let room = room(body, part.len(), head.framing).max(*promised);
                    if body.try_reserve_exact(room - body.len()).is_err() {
                        return Some(self.refuse(Refusal::new(503, NO_MEMORY)));
                    }
                    body.extend_from_slice(part);
                }
                Some(Frame::End) => {
                    self.inbox.message_done();
                    // Most clients wait for the answer, and thousands may wait for a long time.
                    self.inbox.trim(&mut self.cursor);
                    self.keep_alive &= self.decoder.keep_alive();
                    let answering = ConnectionState::Answering { stream: None, events: false };
                    if let ConnectionState::Body { head, verb, principal, body, .. } =
                        core::mem::replace(&mut self.state, answering)
                    {
                        self.since = now;
                        self.in_flight = body.len();
                        return Some(Arrival::Request { head, verb, principal, body });
                    }
                }
            }
        }
        None
    }

    fn expect_body(&mut self, head: Box<RequestHead>, verb: Verb, principal: Option<Arc<Principal>>, now: Instant) {
        if head.expects_continue() {
            let _ = write_response(self.outbox.tail(), 100, [], Framing::Empty);
            self.stuck_since.get_or_insert(now);
        }
        self.enter(ConnectionState::Body { head, verb, principal, body: Vec::new(), promised: 0 }, now);
    }

    /// It is known whose token was shown.
    #[cfg(feature = "auth")]
    pub(super) fn admit(&mut self, principal: Arc<Principal>, now: Instant) {
        // While nothing is looked at, nothing else can have taken the place of what waits.
        match core::mem::replace(&mut self.state, ConnectionState::Closing) {
            ConnectionState::Verifying { head, verb } => self.expect_body(head, verb, Some(principal), now),
            other => self.state = other,
        }
    }

    #[cfg(feature = "auth")]
    pub(super) fn is_verifying(&self) -> bool {
        matches!(self.state, ConnectionState::Verifying { .. })
    }

    fn refuse(&mut self, refusal: Refusal) -> Arrival {
        // The rest of the request is not worth reading, so there can be no other after it.
        self.keep_alive = false;
        self.state = ConnectionState::Answering { stream: None, events: false };
        Arrival::Refused(refusal)
    }

    fn enter(&mut self, state: ConnectionState, now: Instant) {
        self.state = state;
        self.since = now;
    }

    /// The answer will come from a stream.
    pub(super) fn attach(&mut self, stream: StreamId) {
        self.state = ConnectionState::Answering { stream: Some(stream), events: false };
    }

    /// Answers with a body, or without one.
    pub(super) fn answer(&mut self, status: u16, headers: &[(&str, &str)], body: Option<&[u8]>, now: Instant) {
        let framing = match body {
            None if status == 204 => Framing::Empty,
            body => Framing::Length(body.map_or(0, <[u8]>::len) as u64),
        };
        let kind = body.map(|_| ("Content-Type", "application/json"));
        let later = (status == 503).then_some(("Retry-After", "1"));
        let close = (!self.keep_alive).then_some(("Connection", "close"));
        let headers = headers.iter().copied().chain(kind).chain(later).chain(close);
        self.outbox.tail().reserve(HEAD_BYTES + body.map_or(0, <[u8]>::len));
        let written = write_response(self.outbox.tail(), status, headers, framing);
        debug_assert!(written.is_ok(), "{written:?}");
        if let Some(body) = body.filter(|_| !self.head_only) {
            self.outbox.tail().extend_from_slice(body);
        }
        self.finish(now);
    }

    /// Whether there is memory for a message of as many bytes to be written, as a whole or as an event. There is some more
    /// than they need: for want of a few bytes the buffer would become twice as large.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        self.outbox.tail().try_reserve(bytes + 8 * HEAD_BYTES).is_ok()
    }

    /// Answers a request that never was one.
    pub(super) fn answer_refusal(&mut self, refusal: &Refusal, now: Instant) {
        let mut body = Vec::new();
        let written = encode_error(&mut body, None, false, &refusal.error());
        debug_assert!(written.is_ok(), "an error object always serialises");
        let own = refusal.header.as_deref().map(|(name, value)| (*name, &**value));
        let usual = || (refusal.status == 405).then_some(("Allow", "POST, GET, DELETE"));
        self.answer(refusal.status, own.or_else(usual).as_slice(), Some(&body), now);
    }

    /// Begins a stream of events.
    pub(super) fn start_events(&mut self, headers: &[(&str, &str)], now: Instant) {
        let ConnectionState::Answering { events, .. } = &mut self.state else { return };
        *events = true;
        let framing = if self.http10 { Framing::UntilClose } else { Framing::Chunked };
        self.keep_alive &= !self.http10;
        let fixed = [
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache"),
            // A proxy that collects events before it passes them on makes progress useless.
            ("X-Accel-Buffering", "no"),
        ];
        let close = (!self.keep_alive).then_some(("Connection", "close"));
        let headers = fixed.into_iter().chain(headers.iter().copied()).chain(close);
        let written = write_response(self.outbox.tail(), 200, headers, framing);
        debug_assert!(written.is_ok(), "{written:?}");
        self.since = now;
    }

    pub(super) fn has_events(&self) -> bool {
        matches!(self.state, ConnectionState::Answering { events: true, .. })
    }

    /// Appends to a stream of events.
    pub(super) fn write_events(&mut self, now: Instant, write: impl FnOnce(&mut Vec<u8>)) {
        let out = self.outbox.tail();
        let start = out.len();
        write(out);
        if !self.http10 {
            wrap_chunk(out, start);
        }
        self.since = now;
        self.stuck_since.get_or_insert(now);
    }

    /// A sign of life.
    pub(super) fn heartbeat(&mut self, now: Instant) {
        self.write_events(now, |out| sse::write_comment(out, ""));
    }

    /// Ends a stream of events.
    pub(super) fn end_events(&mut self, now: Instant) {
        if !self.http10 {
            write_last_chunk(self.outbox.tail());
        }
        self.finish(now);
    }

    /// Ends the answer, whether it has begun or not: what was to come on it comes elsewhere, or never.
    pub(super) fn cut_off(&mut self, now: Instant) {
        if !self.has_events() {
            self.start_events(&[], now);
        }
        self.end_events(now);
    }

    fn finish(&mut self, now: Instant) {
        self.in_flight = 0;
        self.stuck_since.get_or_insert(now);
        self.enter(if self.keep_alive { ConnectionState::Waiting } else { ConnectionState::Closing }, now);
    }

    /// No request after this one.
    pub(super) fn close_after_answer(&mut self) {
        self.keep_alive = false;
        if matches!(self.state, ConnectionState::Fresh | ConnectionState::Waiting | ConnectionState::Head) {
            self.state = ConnectionState::Closing;
        }
    }

    /// The client sends nothing more, and all that it has sent is looked at. It gets the answer that is due, if it is
    /// still there.
    pub(super) fn heard_out(&mut self, now: Instant) {
        match self.state {
            ConnectionState::Answering { .. } if self.probing.is_some() => {}
            // What it has sent is looked at when it is known who it is.
            ConnectionState::Verifying { .. } => {}
            ConnectionState::Answering { .. } => {
                self.probing = Some(FIRST_PROBE);
                self.since = now;
            }
            _ => self.close_now(),
        }
    }

    /// Nothing more but what waits to be written.
    pub(super) fn close_now(&mut self) {
        self.state = ConnectionState::Closing;
    }

    /// Whether there is something to decode, or nothing will come any more.
    pub(super) fn has_more(&self) -> bool {
        matches!(self.state, ConnectionState::Waiting) && (self.ended || !self.inbox.unread(self.cursor).is_empty())
    }

    pub(super) fn deadline(&self, config: &HttpServerConfig) -> Option<Instant> {
        let patience = match self.state {
            ConnectionState::Waiting => Some(config.keep_alive),
            ConnectionState::Fresh | ConnectionState::Head => Some(config.head_timeout),
            ConnectionState::Body { .. } => Some(config.body_timeout),
            // A verification has a deadline of its own, whoever waits for it.
            ConnectionState::Verifying { .. }
            | ConnectionState::Answering { stream: None, .. }
            | ConnectionState::Closing => None,
            ConnectionState::Answering { events, .. } => {
                let usual = if events { config.heartbeat } else { config.stream_after };
                Some(self.probing.map_or(usual, |pace| pace.min(usual)))
            }
        };
        earliest(
            patience.map(|patience| self.since + patience),
            self.stuck_since.map(|since| since + config.write_timeout),
        )
    }

    /// The deadline has come.
    pub(super) fn overdue(&mut self, config: &HttpServerConfig, now: Instant) -> Overdue {
        if self.stuck_since.is_some_and(|since| since + config.write_timeout <= now) {
            return Overdue::Close;
        }
        if self.deadline(config).is_none_or(|deadline| deadline > now) {
            return Overdue::Nothing;
        }
        match &self.state {
            ConnectionState::Fresh | ConnectionState::Waiting => Overdue::Close,
            ConnectionState::Head | ConnectionState::Body { .. } => {
                let refusal = match self.waits_for_memory {
                    true => Refusal::new(503, NO_MEMORY),
                    false => Refusal::new(408, "the request did not come in time"),
                };
                self.turn_away(&refusal, now);
                Overdue::Nothing
            }
            ConnectionState::Answering { stream: Some(stream), .. } => {
                self.probing = self.probing.map(|pace| pace.saturating_mul(2).min(config.heartbeat));
                Overdue::Heartbeat(*stream)
            }
            ConnectionState::Verifying { .. }
            | ConnectionState::Answering { stream: None, .. }
            | ConnectionState::Closing => Overdue::Nothing,
        }
    }
}

/// The room that a body gets for its next part. What a client announces is not taken at its word: it gets twice what it
/// has sent so far, and no more than it needs.
fn room(body: &Vec<u8>, more: usize, framing: Framing) -> usize {
    let least = body.len() + more;
    if least <= body.capacity() {
        return body.capacity();
    }
    let twice = body.capacity() * 2;
    let wanted = match framing {
        Framing::Length(length) => twice.max(FIRST_ROOM).min(usize::try_from(length).unwrap_or(usize::MAX)),
        _ => twice,
    };
    wanted.max(least)
}

/// A head has to be there as a whole to be read, and one just beyond the limit to be refused.
fn most_unread(config: &HttpServerConfig) -> usize {
    config.head.head_bytes + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_gets_room_as_it_comes_and_never_more_than_it_announced() {
        let mut body = Vec::new();
        assert_eq!(room(&body, 1, Framing::Length(10)), 10, "all of a short one");
        assert_eq!(room(&body, 1, Framing::Length(u64::MAX)), FIRST_ROOM, "an announcement is not believed");
        body = Vec::with_capacity(FIRST_ROOM);
        body.resize(FIRST_ROOM, b'x');
        let full = body.capacity();
        assert_eq!(room(&body, 1, Framing::Length(u64::MAX)), 2 * full);
        assert_eq!(room(&body, 1, Framing::Length(full as u64 + 100)), full + 100, "what is left of it");
        assert_eq!(room(&body, 1, Framing::Chunked), 2 * full);
        body.truncate(10);
        assert_eq!(room(&body, 1, Framing::Chunked), full, "there is room");
    }
}
