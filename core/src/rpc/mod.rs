//! A JSON-RPC peer without a role: which calls are open, when they expire, which requests wait for our answer.
//!
//! The life of a call is in `outgoing`, that of a peer's request in `incoming`, what waits to be sent in `outbox`. What methods
//! mean is the business of `client` and `server`, which hang their own data on every call (`T`) and on every request of the
//! peer's (`I`).

mod incoming;
mod keep_alive;
mod outbox;
mod outgoing;
mod role;
mod watch;

pub(crate) use incoming::OpenRequest;
pub use incoming::RequestKey;
pub use keep_alive::KeepAliveConfig;
pub(crate) use keep_alive::{KeepAlive, KeepAliveStep};
#[cfg(feature = "client")]
pub(crate) use outbox::Outgoing;
#[cfg(all(feature = "client", any(test, feature = "http")))]
pub(crate) use outbox::{Label, MethodName};
pub(crate) use outbox::{LinkKind, Outbox, OutgoingKind};
pub(crate) use outgoing::{Pending, Timing};
pub(crate) use role::LinkedRole;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use watch::Watch;

use crate::jsonrpc::{Id, RpcError, Splice, encode_error, encode_notification, encode_result};
use crate::limits::Limits;
use crate::observer::Observed;
use crate::table::Table;
use crate::time::Instant;
use serde::Serialize;

/// The tables of one JSON-RPC peer.
pub(crate) struct Rpc<T, I> {
    pub(crate) room: Room,
    pub(crate) outbox: Outbox,
    /// Bytes that the link has taken out of the outbox and not sent yet.
    pub(crate) unsent_bytes: usize,
    /// Whether something was not even queued, because too much was waiting already. There is no way back from that.
    overflowed: bool,
    /// Tells this session's requests from those of others in the same machine.
    index: u32,
    /// Whether the peer is many, who know nothing of each other's ids.
    anonymous: bool,
    next_number: i64,
    pending: Table<i64, Pending<T>>,
    deadlines: Table<(Instant, i64), ()>,
    next_key: u64,
    incoming: Table<RequestKey, OpenRequest<I>>,
    keys: Table<Id, RequestKey>,
    counters: Counters,
    watch: Option<Box<Watch>>,
}

/// How much may be open and wait at a time.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pending_calls: u32,
    incoming_requests: u32,
    outbox_soft_bytes: usize,
    outbox_hard_bytes: usize,
}

impl Room {
    fn within(limits: &Limits) -> Self {
        Self {
            pending_calls: count(limits.pending_calls),
            incoming_requests: count(limits.incoming_requests),
            outbox_soft_bytes: limits.outbox_soft_bytes,
            outbox_hard_bytes: limits.outbox_hard_bytes,
        }
    }

    /// As many requests of the peer may be open at a time.
    pub(crate) fn set_incoming_requests(&mut self, most: usize) {
        self.incoming_requests = count(most);
    }
}

/// More can never be open.
fn count(most: usize) -> u32 {
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// What was ignored, as the protocol asks. A peer that makes these grow is buggy, but harmless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Answers to calls that had been cancelled or had timed out, or that had been answered before.
    pub late_answers: u64,
    /// Answers to ids that were never used.
    pub unknown_answers: u64,
    /// Progress for calls that are not open, or that goes backwards.
    pub stray_progress: u64,
    /// Cancellations of requests that are not open.
    pub stray_cancellations: u64,
    /// Lines that are no message.
    pub malformed: u64,
}

impl<T, I> Rpc<T, I> {
    pub(crate) fn new(limits: &Limits, observer: &Observed, link: LinkKind) -> Self {
        Self {
            watch: Watch::new(observer),
            room: Room::within(limits),
            outbox: Outbox::new(link),
            unsent_bytes: 0,
            overflowed: false,
            index: 0,
            anonymous: false,
            next_number: 1,
            pending: Table::new(),
            deadlines: Table::new(),
            next_key: 1,
            incoming: Table::new(),
            keys: Table::new(),
            counters: Counters::default(),
        }
    }

    /// One of many sessions in a machine, whose messages travel by themselves.
    pub(crate) fn one_of_many(limits: &Limits, observer: &Observed, index: u32, anonymous: bool) -> Self {
        Self { index, anonymous, ..Self::new(limits, observer, LinkKind::Exchanges) }
    }

    /// Whether the peer is many, who share nothing.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.anonymous
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    pub(crate) fn count(&mut self, count: impl FnOnce(&mut Counters)) {
        count(&mut self.counters);
    }

    /// Whether the peer has stopped reading for so long that the connection is not worth keeping.
    pub(crate) fn is_overflowing(&self) -> bool {
        self.overflowed || self.outbox.len() > self.room.outbox_hard_bytes
    }

    /// Whether the connection is as good as closed: handlers may say much before the machine is polled again, and what
    /// cannot be sent is not to be kept.
    pub(super) fn overflows(&mut self) -> bool {
        self.overflowed = self.is_overflowing();
        self.overflowed
    }

    /// Appends a message. Says where its content stands.
    fn append(
        &mut self,
        kind: OutgoingKind,
        method: Option<&str>,
        id: Option<&Id>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<Range<usize>, serde_json::Error>,
    ) -> Result<Range<usize>, serde_json::Error> {
        let before = self.outbox.len();
        let content = self.outbox.append(kind, method, encode)?;
        if let Some(watch) = &mut self.watch {
            let bytes = self.outbox.len() - before;
            watch.appended(kind, method, id, self.outbox.content(content.clone()), bytes);
        }
        Ok(content)
    }

    /// Appends a notification of the engine's own, whose parameters always serialise. It may belong to a request of the
    /// peer's.
    pub(crate) fn notify<P: Serialize + ?Sized>(
        &mut self,
        about: Option<RequestKey>,
        method: &str,
        params: &P,
        splice: Splice<'_>,
    ) {
        let written = self.try_notify(about, method, params, splice);
        debug_assert!(written.is_ok(), "{method}: {written:?}");
    }

    /// Appends a notification.
    pub(crate) fn try_notify<P: Serialize + ?Sized>(
        &mut self,
        about: Option<RequestKey>,
        method: &str,
        params: &P,
        splice: Splice<'_>,
    ) -> Result<(), serde_json::Error> {
        if self.overflows() {
            return Ok(());
        }
        let encode = |out: &mut Vec<u8>| encode_notification(out, method, params, splice);
        self.append(OutgoingKind::Notification { about }, Some(method), None, encode).map(drop)
    }

    /// Appends an error that answers something that never became a request.
    pub(crate) fn refuse(&mut self, id: Option<&Id>, null_id: bool, error: &RpcError) {
        self.append_error(None, id, null_id, error);
    }

    /// Answers a request at once, without taking it in.
    pub(crate) fn answer_at_once<R: Serialize + ?Sized>(&mut self, id: &Id, result: &R) {
        let encode = |out: &mut Vec<u8>| encode_result(out, id, result, Splice::default());
        let written = self.append(OutgoingKind::Answer { to: None, error: None }, None, Some(id), encode);
        debug_assert!(written.is_ok(), "a result of the engine's own always serialises");
    }

    fn append_error(&mut self, to: Option<RequestKey>, id: Option<&Id>, null_id: bool, error: &RpcError) {
        let encode = |out: &mut Vec<u8>| encode_error(out, id, null_id, error);
        let written = self.append(OutgoingKind::Answer { to, error: Some(error.code) }, None, id, encode);
        debug_assert!(written.is_ok(), "an error object always serialises");
    }

    /// The earliest deadline of an open call.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(&(deadline, _), ())| deadline)
    }

    /// Gives back the memory of what was open, and of what has been sent.
    pub(crate) fn trim(&mut self) {
        self.outbox.trim();
        self.pending.trim();
        self.deadlines.trim();
        self.incoming.trim();
        self.keys.trim();
    }

    /// Whether nothing is open: no call, no request, no timer.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.deadlines.is_empty() && self.incoming.is_empty() && self.keys.is_empty()
    }
}

#[cfg(test)]
mod tests;
