//! The life of our own calls: sent, perhaps extended by progress, then answered, expired or withdrawn, exactly once.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use serde::Serialize;

use super::{Route, Session};
use crate::error::{Refused, SendError};
use crate::jsonrpc::{Id, Splice, encode_request};
use crate::time::Instant;

/// A call that waits for its answer.
pub(crate) struct Pending<T> {
    pub(crate) token: T,
    started: Instant,
    timing: Timing,
    deadline: Option<Instant>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// Without progress; `None` waits for ever.
    pub(crate) timeout: Option<Duration>,
    /// With progress, which starts the timeout anew.
    pub(crate) maximum: Duration,
}

impl Timing {
    pub(crate) fn exactly(timeout: Duration) -> Self {
        Self { timeout: Some(timeout), maximum: timeout }
    }

    pub(crate) const UNLIMITED: Self = Self { timeout: None, maximum: Duration::MAX };
}

impl<T> Pending<T> {
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.since(self.started)
    }
}

impl<T, I> Session<T, I> {
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

    /// Sends a call and remembers it.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and each caller has all of them")]
    pub(crate) fn call<P: Serialize + ?Sized>(
        &mut self,
        route: Route,
        method: &str,
        params: &P,
        splice: Splice<'_>,
        timing: Timing,
        token: T,
        now: Instant,
    ) -> Result<i64, Refused<T>> {
        let number = self.next_number;
        if let Err(error) = encode_request(self.outbox.tail(), number, method, params, splice) {
            return Err(Refused::new(SendError::Unencodable(error.to_string()), token));
        }
        self.sent(route);
        self.next_number += 1;
        let deadline = timing.timeout.map(|timeout| now + timeout);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, number), ());
        }
        self.pending.insert(number, Pending { token, started: now, timing, deadline });
        Ok(number)
    }

    /// The peer answered `id`: the call, unless it is none of ours or over already, which is counted and ignored.
    pub(crate) fn settle(&mut self, id: &Id) -> Option<(i64, Pending<T>)> {
        if let Id::Number(number) = *id {
            if let Some(pending) = self.withdraw(number) {
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

    /// Takes a call off the table without telling the peer.
    pub(crate) fn withdraw(&mut self, number: i64) -> Option<Pending<T>> {
        let pending = self.pending.remove(&number)?;
        if let Some(deadline) = pending.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        Some(pending)
    }

    /// Tells the peer that a call is off.
    pub(crate) fn notify_cancelled(&mut self, number: i64, reason: &str) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            request_id: i64,
            reason: &'a str,
        }
        self.notify(
            Route::Connection,
            "notifications/cancelled",
            &Cancelled { request_id: number, reason },
            Splice::default(),
        );
    }

    /// Progress has come for a call: its timeout starts anew, up to its maximum.
    pub(crate) fn extend(&mut self, number: i64, now: Instant) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        let (Some(old), Some(timeout)) = (pending.deadline, pending.timing.timeout) else { return };
        let deadline = (now + timeout).min(pending.started + pending.timing.maximum.max(timeout));
        pending.deadline = Some(deadline);
        self.deadlines.remove(&(old, number));
        self.deadlines.insert((deadline, number), ());
    }

    /// Extends every call that is due as progress would, each up to its maximum.
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
        if let Some(deadline) = pending.deadline.take() {
            self.deadlines.remove(&(deadline, number));
        }
    }

    /// Lets a call wait until then, whatever its deadline was: somebody has to do something first.
    pub(crate) fn postpone(&mut self, number: i64, until: Instant) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        if let Some(old) = pending.deadline.replace(until) {
            self.deadlines.remove(&(old, number));
        }
        self.deadlines.insert((until, number), ());
    }

    /// Gives a call its whole time again, from now on, up to its maximum. What it waited for somebody else does not count.
    pub(crate) fn restart(&mut self, number: i64, waited: Duration, now: Instant) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        pending.started = pending.started + waited;
        match pending.timing.timeout {
            Some(_) => self.extend(number, now),
            None => self.lift_deadline(number),
        }
    }

    /// Gives a call a new id, for a request that is made again.
    pub(crate) fn renumber(&mut self, number: i64) -> Option<i64> {
        let pending = self.withdraw(number)?;
        let renumbered = self.take_number();
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
        self.withdraw(number).map(|pending| (number, pending))
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
        self.pending.take().map(|(number, pending)| (number, pending.token)).collect()
    }
}
