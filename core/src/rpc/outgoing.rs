//! The life of our own calls: sent, perhaps extended by progress, then answered, expired or withdrawn, exactly once.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use serde::Serialize;

use super::{OutgoingKind, RequestKey, Rpc};
use crate::error::{Refused, SendError};
use crate::jsonrpc::{Id, Malformed, MalformedKind, Splice, encode_request};
use crate::observer::Outcome;
use crate::time::{Instant, earliest};

/// A call that waits for its answer.
pub(crate) struct Pending<T> {
    pub(crate) token: T,
    started: Instant,
    timing: Timing,
    deadline: Option<Instant>,
}

/// A call that was sent.
pub(crate) struct Sent {
    pub(crate) number: i64,
    params: Range<usize>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// While nothing is heard of it; progress restarts it. `None` sets no such limit.
    pub(crate) idle: Option<Duration>,
    /// In all, whatever progress says. `None` sets no such limit.
    pub(crate) total: Option<Duration>,
}

impl Timing {
    pub(crate) const UNLIMITED: Self = Self { idle: None, total: None };

    /// As the program says it: zero sets no limit.
    pub(crate) fn new(idle: Duration, total: Duration) -> Self {
        let limit = |timeout: Duration| Some(timeout).filter(|timeout| !timeout.is_zero());
        Self { idle: limit(idle), total: limit(total) }
    }

    pub(crate) fn exactly(timeout: Duration) -> Self {
        Self { idle: None, total: Some(timeout) }
    }

    /// What is left for the next round of a call when one took this long.
    pub(crate) fn after(self, waited: Duration) -> Self {
        Self { total: self.total.map(|total| total.saturating_sub(waited)), ..self }
    }

    /// When a call is given up that was started then, and of which something is heard now.
    fn deadline(self, started: Instant, now: Instant) -> Option<Instant> {
        earliest(self.idle.map(|idle| now + idle), self.total.map(|total| started + total))
    }
}

impl<T> Pending<T> {
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.since(self.started)
    }
}

impl<T, I> Rpc<T, I> {
    /// The id that the next call will have.
    pub(crate) fn next_number(&self) -> i64 {
        self.next_number
    }

    /// Uses up an id, for a call that is completed without a request.
    pub(crate) fn take_number(&mut self) -> i64 {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// Whether one more call may be sent.
    pub(crate) fn has_room(&self) -> bool {
        let unsent = self.outbox.len() + self.unsent_bytes;
        self.pending.len() < self.room.pending_calls as usize && unsent <= self.room.outbox_soft_bytes
    }

    /// There is no room for another call.
    pub(crate) fn full(&self) -> SendError {
        let calls = self.pending.len() >= self.room.pending_calls as usize;
        self.limit_hit(if calls { "pending_calls" } else { "outbox_soft_bytes" });
        SendError::Full
    }

    /// Sends a call and remembers it. It may belong to a request of the peer's.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and each caller has all of them")]
    pub(crate) fn call<P: Serialize + ?Sized>(
        &mut self,
        about: Option<RequestKey>,
        method: &str,
        params: &P,
        splice: Splice<'_>,
        timing: Timing,
        token: T,
        now: Instant,
    ) -> Result<Sent, Refused<T>> {
        let number = self.next_number;
        self.watch_at(now);
        let encode = |out: &mut Vec<u8>| encode_request(out, number, method, params, splice);
        let params = match self.append(OutgoingKind::Request { number, about }, Some(method), None, encode) {
            Ok(params) => params,
            Err(error) => return Err(Refused::new(SendError::Unencodable(error.to_string()), token)),
        };
        self.next_number += 1;
        let deadline = timing.deadline(now, now);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, number), ());
        }
        self.pending.insert(number, Pending { token, started: now, timing, deadline });
        Ok(Sent { number, params })
    }

    /// The parameters of the call that was sent last; empty if it has none.
    pub(crate) fn params_of(&self, sent: &Sent) -> &[u8] {
        self.outbox.content(sent.params.clone())
    }

    /// The peer answered `id`: the call, unless it is none of ours or over already, which is counted and ignored.
    pub(crate) fn settle(&mut self, id: &Id, outcome: impl FnOnce() -> Outcome) -> Option<(i64, Pending<T>)> {
        if let Id::Number(number) = *id {
            if let Some(pending) = self.withdraw_with(number, outcome) {
                return Some((number, pending));
            }
            if (1..self.next_number).contains(&number) {
                self.counters.late_answers += 1;
                return None;
            }
        }
        self.counters.unknown_answers += 1;
        None
    }

    /// Whether a call with this id is open.
    pub(crate) fn awaits(&self, id: &Id) -> bool {
        matches!(*id, Id::Number(number) if self.pending.get(&number).is_some())
    }

    /// Finds out what a message is that has an id and says nothing: an answer, if its id is that of an open call.
    pub(crate) fn recognize(&self, malformed: &mut Malformed) {
        if malformed.kind == MalformedKind::NoContent {
            malformed.response |= malformed.id.as_ref().is_some_and(|id| self.awaits(id));
        }
    }

    /// Takes a call off the table that nobody waits for any more, without telling the peer.
    pub(crate) fn withdraw(&mut self, number: i64) -> Option<Pending<T>> {
        self.withdraw_with(number, || Outcome::Cancelled)
    }

    /// Takes a call off the table that has no usable answer.
    pub(crate) fn withdraw_failed(&mut self, number: i64) -> Option<Pending<T>> {
        self.withdraw_with(number, || Outcome::Failed)
    }

    fn withdraw_with(&mut self, number: i64, outcome: impl FnOnce() -> Outcome) -> Option<Pending<T>> {
        let pending = self.remove(number)?;
        if let Some(watch) = &mut self.watch {
            watch.ours_finished(number, outcome());
        }
        Some(pending)
    }

    fn remove(&mut self, number: i64) -> Option<Pending<T>> {
        let pending = self.pending.remove(&number)?;
        if let Some(deadline) = pending.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        Some(pending)
    }

    /// Progress has come for a call: its idle time-out restarts, its total one does not.
    pub(crate) fn extend(&mut self, number: i64, now: Instant) {
        let Some(pending) = self.pending.get(&number) else { return };
        self.set_deadline(number, pending.timing.deadline(pending.started, now));
    }

    fn set_deadline(&mut self, number: i64, deadline: Option<Instant>) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        if let Some(old) = core::mem::replace(&mut pending.deadline, deadline) {
            self.deadlines.remove(&(old, number));
        }
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, number), ());
        }
    }

    /// Extends every call that is due as progress would.
    pub(crate) fn extend_due(&mut self, now: Instant) {
        let due: Vec<_> =
            self.deadlines.iter().take_while(|&(&(at, _), ())| at <= now).map(|(&(_, number), ())| number).collect();
        for number in due {
            self.extend(number, now);
        }
    }

    /// Lets a call wait for ever from now on.
    pub(crate) fn lift_deadline(&mut self, number: i64) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        pending.timing = Timing::UNLIMITED;
        self.set_deadline(number, None);
    }

    /// Lets a call wait until then, whatever its deadline was: somebody has to do something first.
    pub(crate) fn postpone(&mut self, number: i64, until: Instant) {
        self.set_deadline(number, Some(until));
    }

    /// Restarts a call's idle time-out. What it waited for somebody else does not count for the total one.
    pub(crate) fn restart(&mut self, number: i64, waited: Duration, now: Instant) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        pending.started = pending.started + waited;
        self.extend(number, now);
    }

    /// Gives a call a new id, for a request that is made again.
    pub(crate) fn renumber(&mut self, number: i64) -> Option<i64> {
        let pending = self.remove(number)?;
        let renumbered = self.take_number();
        if let Some(watch) = &mut self.watch {
            watch.renumbered(number, renumbered);
        }
        if let Some(deadline) = pending.deadline {
            self.deadlines.insert((deadline, renumbered), ());
        }
        self.pending.insert(renumbered, pending);
        Some(renumbered)
    }

    /// A call whose deadline has passed.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<(i64, Pending<T>)> {
        let (&(deadline, number), ()) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.watch_at(now);
        self.withdraw_with(number, || Outcome::TimedOut).map(|pending| (number, pending))
    }

    /// When an open call is given up.
    pub(crate) fn deadline_of(&self, number: i64) -> Option<Instant> {
        self.pending.get(&number)?.deadline
    }

    /// The caller's data of an open call.
    pub(crate) fn token(&self, number: i64) -> Option<&T> {
        self.pending.get(&number).map(|pending| &pending.token)
    }

    /// The caller's data of an open call.
    pub(crate) fn token_mut(&mut self, number: i64) -> Option<&mut T> {
        self.pending.get_mut(&number).map(|pending| &mut pending.token)
    }

    /// The open call for which `matches` holds.
    pub(crate) fn find(&self, mut matches: impl FnMut(&T) -> bool) -> Option<i64> {
        self.pending.iter().find(|(_, pending)| matches(&pending.token)).map(|(&number, _)| number)
    }

    /// Every open call, for a connection that is over.
    pub(crate) fn abandon(&mut self) -> Vec<(i64, T)> {
        self.deadlines.clear();
        if let Some(watch) = &mut self.watch {
            self.pending.iter().for_each(|(number, _)| watch.ours_finished(*number, Outcome::Closed));
        }
        self.pending.take().map(|(number, pending)| (number, pending.token)).collect()
    }
}
