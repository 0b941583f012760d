//! Eviction: who makes room when there is none for all. Of idle connections and sessions those of the client with the most;
//! of those that hold memory and do nothing with it, the longest idle.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::super::admission::Refusal;
use super::super::connection::NO_MEMORY;
use super::super::memory::{Memory, SMALL};
use super::Connections;
use crate::machine::ConnId;
use crate::time::Instant;

/// Which part of all connections is closed at a time to make room for new ones, so that they need not be looked through
/// for each.
const AT_A_TIME: usize = 64;

impl Connections {
    /// Whether there is a place for one more connection, or could be made.
    pub(super) fn has_place(&mut self) -> bool {
        if self.by_id.len() >= self.config.connections {
            let idle = |conn: &ConnId| self.by_id.get(conn).is_some_and(|connection| connection.is_idle());
            let all = self.by_id.iter().map(|(conn, connection)| (connection.client, connection.moved, *conn));
            for conn in eviction_candidates(all, idle, self.config.connections / AT_A_TIME + 1) {
                self.close(conn);
            }
        }
        self.by_id.len() < self.config.connections
    }

    /// Whether somebody who has `held` may have `more`, or could, once those are gone who hold up others.
    pub(in super::super) fn has_memory(&mut self, held: usize, more: usize, now: Instant) -> bool {
        if !self.memory.has_room(held, more) && self.memory.searches(now) {
            self.evict(more, now);
        }
        self.memory.has_room(held, more)
    }

    /// Looks for those who hold up others, now and then, as long as some have to wait.
    pub(in super::super) fn evict_if_short(&mut self, now: Instant) {
        if self.memory.is_short() && self.memory.searches(now) {
            self.evict(self.memory.wanted(), now);
        }
    }

    /// Forgets what is kept for clients that may come back, and closes connections that nothing has moved on for a while,
    /// until there is room for as much, and something besides.
    fn evict(&mut self, more: usize, now: Instant) {
        while !self.memory.has_room(usize::MAX, more.max(1)) && self.forget_oldest() {}
        // Whoever has little and waits for more is not to blame for it.
        let worth_it = |held: usize, waits: bool| held > if waits { 2 * SMALL } else { 0 };
        let stalled =
            self.by_id.iter().filter(|(_, connection)| worth_it(connection.counted, connection.waits_for_memory));
        let stalled = stalled.filter_map(|(conn, connection)| Some((connection.waits_since()?, *conn)));
        let mut stalled: Vec<_> = stalled.filter(|(since, _)| Memory::is_stalled(*since, now)).collect();
        stalled.sort();
        let wanted = more.saturating_add(self.memory.reserve());
        for (_, conn) in stalled {
            if self.memory.has_room(usize::MAX, wanted) {
                return;
            }
            match self.by_id.get(&conn).is_some_and(|connection| connection.is_half_asked()) {
                true => self.with(conn, |connection| connection.turn_away(&Refusal::new(503, NO_MEMORY), now)),
                false => self.close(conn),
            }
        }
    }
}

/// Some that are to go: of the client that has the most, those that have been quiet for longest. What has no known
/// client is taken to be of one.
pub(in super::super) fn eviction_candidates<K: Copy>(
    all: impl Iterator<Item = (Option<IpAddr>, Instant, K)>,
    may_go: impl Fn(&K) -> bool,
    most: usize,
) -> Vec<K> {
    let mut counts: BTreeMap<Option<IpAddr>, usize> = BTreeMap::new();
    let mut quiet: BTreeMap<Option<IpAddr>, Vec<(Instant, K)>> = BTreeMap::new();
    for (client, moved, key) in all {
        *counts.entry(client).or_default() += 1;
        if may_go(&key) {
            quiet.entry(client).or_default().push((moved, key));
        }
    }
    let largest = quiet.into_iter().max_by_key(|(client, _)| counts.get(client).copied());
    let mut quiet = largest.map(|(_, quiet)| quiet).unwrap_or_default();
    quiet.sort_by_key(|(moved, _)| *moved);
    quiet.into_iter().take(most).map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    #[test]
    fn those_of_the_client_with_the_most_go_first_the_quiet_ones() {
        let of = |last: u8| Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let at = Instant::from_micros;
        let all =
            [(of(1), at(1), 'a'), (of(2), at(9), 'b'), (of(2), at(5), 'c'), (of(2), at(7), 'd'), (None, at(0), 'e')];
        let go = |may_go: fn(&char) -> bool, most| eviction_candidates(all.into_iter(), may_go, most);
        assert_eq!(go(|_| true, 1), ['c']);
        assert_eq!(go(|_| true, 9), ['c', 'd', 'b']);
        assert_eq!(go(|key| *key != 'c', 1), ['d']);
        assert_eq!(go(|key| *key == 'a' || *key == 'e', 1).len(), 1, "a client of which none may go keeps its places");
        assert!(go(|_| false, 1).is_empty());
    }
}
