//! What all clients together may cost, and who has to wait when that is used up.
//!
//! Counted is what has come and is not dealt with, requests until they are answered, answers until they are written, and
//! events that are kept for clients that come back. A part is left to small requests and small answers, so that whoever
//! sends much, or takes nothing, holds up nobody who does not.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::config::HttpServerConfig;
use super::connection::Connection;
use crate::machine::ConnId;
use crate::time::Instant;

/// What a small request or answer takes at most; most of them take far less.
pub(super) const SMALL: usize = 16 * 1024;

/// What somebody takes at most who has sent something small and gets a small answer, with the room to read it into.
const LITTLE: usize = 3 * SMALL;

/// Which part of the memory is left to what is small: an eighth of 256 MiB is enough for 680 who take all of that at once.
const SMALL_SHARE: usize = 8;

/// How long a client may neither send nor take anything while others wait for memory. Who is merely slow moves a byte in
/// that time.
const STALLED: Duration = Duration::from_secs(3);

/// How often those who hold up others are looked for.
const PACE: Duration = Duration::from_secs(1);

pub(super) struct Memory {
    limit: usize,
    used: usize,
    /// Connections that are not read for want of memory, in the order in which they came to it: those that need little,
    /// and those that need much.
    small_waiting: VecDeque<Waiting>,
    large_waiting: VecDeque<Waiting>,
    /// What those may take who were told lately that they need not wait. Not all who wait are told of the same room.
    offered: usize,
    /// When those who hold up others are looked for again.
    next_search: Option<Instant>,
}

/// Somebody who has something, and waits for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) conn: ConnId,
    pub(super) held: usize,
    pub(super) more: usize,
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        let (small_waiting, large_waiting) = Default::default();
        Self { limit, used: 0, small_waiting, large_waiting, offered: 0, next_search: None }
    }

    /// Counts again what a connection holds.
    pub(super) fn count(&mut self, connection: &mut Connection) {
        let holds = connection.holds();
        self.recount(core::mem::replace(&mut connection.counted, holds), holds);
    }

    /// Counts what a connection will take to be read on, from now on.
    pub(super) fn promise(&mut self, connection: &mut Connection, config: &HttpServerConfig) {
        connection.promise(config);
        let before = self.used;
        self.count(connection);
        self.offered = self.offered.saturating_sub(self.used.saturating_sub(before));
    }

    /// Somebody who had `before` has `after` now.
    pub(super) fn recount(&mut self, before: usize, after: usize) {
        debug_assert!(self.used >= before, "{} are counted, and {before} among them", self.used);
        self.used = self.used.saturating_sub(before).saturating_add(after);
    }

    /// Whether somebody who has `held` may have `more`.
    pub(super) fn has_room(&self, held: usize, more: usize) -> bool {
        more == 0 || self.used.saturating_add(more) < self.share(held, more)
    }

    /// How much of the memory there is for somebody who has `held` and wants `more`.
    fn share(&self, held: usize, more: usize) -> usize {
        if held.saturating_add(more) <= LITTLE { self.limit } else { self.large_share() }
    }

    /// Whether somebody has to wait, or would if there were anybody.
    pub(super) fn is_short(&self) -> bool {
        self.used >= self.large_share() || !self.small_waiting.is_empty() || !self.large_waiting.is_empty()
    }

    /// What is freed at once besides what is asked for, so that those who hold up others do not go one by one.
    pub(super) fn reserve(&self) -> usize {
        self.limit / SMALL_SHARE
    }

    fn large_share(&self) -> usize {
        self.limit - self.limit / SMALL_SHARE
    }

    pub(super) fn wait(&mut self, waiting: Waiting) {
        match waiting.held.saturating_add(waiting.more) <= LITTLE {
            true => self.small_waiting.push_back(waiting),
            false => self.large_waiting.push_back(waiting),
        }
    }

    /// The next who has waited and need not any more. Those of whom `is_gone` is true are forgotten.
    pub(super) fn next_with_room(&mut self, is_gone: impl Fn(ConnId) -> bool) -> Option<ConnId> {
        for large in [false, true] {
            let queue = if large { &mut self.large_waiting } else { &mut self.small_waiting };
            while queue.front().is_some_and(|first| is_gone(first.conn)) {
                queue.pop_front();
            }
            let Some(first) = queue.front().copied() else { continue };
            let taken = self.used.saturating_add(self.offered).saturating_add(first.more);
            if taken < self.share(first.held, first.more) {
                self.offered += first.more;
                let queue = if large { &mut self.large_waiting } else { &mut self.small_waiting };
                return queue.pop_front().map(|first| first.conn);
            }
        }
        None
    }

    /// What is waited for, by whoever is next.
    pub(super) fn wanted(&self) -> usize {
        self.large_waiting.front().or(self.small_waiting.front()).map_or(0, |first| first.more)
    }

    /// Whether it is time to look for those who hold up others: now and then only, for that takes a while.
    pub(super) fn searches(&mut self, now: Instant) -> bool {
        let due = self.next_search.is_none_or(|due| due <= now);
        if due {
            // Who has not taken what there was does not keep it from others.
            self.offered = 0;
            self.next_search = Some(now + PACE);
        }
        due
    }

    /// Whether somebody who has been waited for since then holds up others.
    pub(super) fn is_stalled(since: Instant, now: Instant) -> bool {
        since + STALLED <= now
    }

    /// When to look for those who hold up others.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_search.filter(|_| self.is_short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_left_to_what_is_small() {
        let mut memory = Memory::new(8 << 20);
        memory.recount(0, 7 << 20);
        assert!(memory.is_short());
        assert!(!memory.has_room(LITTLE, 1) && !memory.has_room(0, LITTLE + 1));
        assert!(memory.has_room(0, LITTLE) && memory.has_room(LITTLE - 1, 1));
        memory.recount(0, 1 << 20);
        assert!(!memory.has_room(0, 1), "that is all");
        assert!(memory.has_room(0, 0), "what needs nothing waits for nothing");
        for (conn, more) in [(1, LITTLE), (9, 5), (2, LITTLE - 1), (3, 1 << 20)] {
            memory.wait(Waiting { conn: ConnId(conn), held: 1, more });
        }
        let next = |memory: &mut Memory| memory.next_with_room(|conn| conn == ConnId(9)).map(|conn| conn.0);
        assert_eq!(next(&mut memory), None);
        memory.recount(1 << 20, 0);
        assert_eq!((next(&mut memory), next(&mut memory)), (Some(2), None), "what is small goes first");
        memory.recount(2 * LITTLE, 0);
        assert_eq!((next(&mut memory), next(&mut memory)), (Some(1), None), "nobody is passed over for long");
        memory.recount((1 << 20) - LITTLE, 0);
        assert_eq!(next(&mut memory), None, "the others have not taken theirs yet");
        assert!(memory.searches(Instant::ZERO));
        assert_eq!((next(&mut memory), next(&mut memory)), (Some(3), None), "and do not keep it from others for long");
    }

    #[test]
    fn the_search_has_a_pace() {
        let mut memory = Memory::new(80);
        let now = Instant::from_micros(9_000_000);
        memory.recount(0, 70);
        assert!(memory.searches(now) && !memory.searches(now));
        assert_eq!(memory.deadline(), Some(now + PACE));
        assert!(memory.searches(now + PACE));
        memory.recount(70, 0);
        assert_eq!(memory.deadline(), None);
    }
}
