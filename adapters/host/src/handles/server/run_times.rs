//! Which handlers take long, and which give large answers, as far as they have been seen.
//!
//! Without it every one would be begun by the reader, which is relieved of it after a millisecond or two: 32 callers of a
//! handler that takes 5 ms would get 730 to 830 answers a second in place of 1,000 to 1,850, and a quick call beside eight
//! of those would mostly wait for 4.5 ms in place of 14 µs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use crate::handles::server::handler::Handler;

/// A handler that takes less than this is done sooner than another thread would have begun with it. Longer ones are
/// worth a thread of their own, so that several run at once.
const SHORT: Duration = Duration::from_micros(100);

/// A single long run may be the system's doing.
const LONG_RUNS: u8 = 2;

/// An answer of fewer bytes than this is not counted.
const LARGE: usize = 1 << 20;

/// How many bytes handlers on other threads may have for their answers, together, as far as can be said before they have
/// them. It comes on top of the memory that the machine counts, and so does what the system's allocator keeps for each of
/// their threads: glibc takes 64 MiB of addresses for one. Whatever is larger is made by itself.
const MOST_IN_HAND: usize = 32 << 20;

/// More than a server has. Handlers that are gone would otherwise be remembered for ever.
const MOST_KEPT: usize = 1024;

/// What is known of handlers, by their address.
#[derive(Default)]
pub(super) struct RunTimes {
    /// How often in a row each took long; 0 for those that were quick last time.
    long_runs: BTreeMap<usize, u8>,
    /// How many times each runs on other threads than the reader's.
    apart: BTreeMap<usize, usize>,
    /// What the answers of those take that have given large ones.
    large: BTreeMap<usize, usize>,
}

impl RunTimes {
    /// What a handler is known by. Another one may have the address later, and is soon known better.
    pub(super) fn key(handler: &Handler) -> usize {
        Arc::as_ptr(handler).cast::<()>() as usize
    }

    pub(super) fn takes_long(&self, handler: usize) -> bool {
        self.long_runs.get(&handler).is_some_and(|runs| *runs >= LONG_RUNS)
    }

    /// Whether a handler has been seen, was quick, and is not running on another thread, which would show that it can be
    /// otherwise.
    pub(super) fn is_quick(&self, handler: usize) -> bool {
        self.long_runs.get(&handler) == Some(&0) && !self.apart.contains_key(&handler)
    }

    /// Whether there is room for the answer that a handler will probably give. Those that give small ones need none.
    pub(super) fn has_room(&self, handler: usize) -> bool {
        let Some(wanted) = self.large.get(&handler) else { return true };
        let of =
            |(handler, count): (&usize, &usize)| self.large.get(handler).map_or(0, |each| each.saturating_mul(*count));
        let in_hand = self.apart.iter().map(of).fold(0, usize::saturating_add);
        in_hand == 0 || in_hand.saturating_add(*wanted) <= MOST_IN_HAND
    }

    /// A handler has an answer of so many bytes. One that is smaller than others says little about the next.
    pub(super) fn gives(&mut self, handler: usize, bytes: usize) {
        let before = self.large.get(&handler).copied().unwrap_or(0);
        let expected = bytes.max(before - before / 16);
        if expected < LARGE {
            self.large.remove(&handler);
            return;
        }
        if self.large.len() >= MOST_KEPT {
            self.large.clear();
        }
        self.large.insert(handler, expected);
    }

    /// A handler runs on another thread than the reader's.
    pub(super) fn begins_apart(&mut self, handler: usize) {
        *self.apart.entry(handler).or_default() += 1;
    }

    /// It is done there.
    pub(super) fn ends_apart(&mut self, handler: usize) {
        if let Entry::Occupied(mut running) = self.apart.entry(handler) {
            *running.get_mut() -= 1;
            if *running.get() == 0 {
                running.remove();
            }
        }
    }

    /// A handler took this long.
    pub(super) fn took(&mut self, handler: usize, duration: Duration) {
        if self.long_runs.len() >= MOST_KEPT {
            self.long_runs.clear();
        }
        let runs = self.long_runs.entry(handler).or_default();
        *runs = if duration < SHORT { 0 } else { runs.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_are_made_few_at_a_time_and_small_ones_always() {
        let (mut times, grow, echo) = (RunTimes::default(), 1, 2);
        assert!(times.has_room(grow), "nothing is known");
        times.gives(grow, MOST_IN_HAND / 4);
        times.gives(echo, LARGE - 1);
        for _ in 0..4 {
            assert!(times.has_room(grow));
            times.begins_apart(grow);
        }
        assert!(!times.has_room(grow) && times.has_room(echo));
        times.ends_apart(grow);
        assert!(times.has_room(grow));
        // Larger than all room there is: by itself.
        times.gives(grow, 2 * MOST_IN_HAND);
        assert!(!times.has_room(grow));
        (0..3).for_each(|_| times.ends_apart(grow));
        assert!(times.has_room(grow));
        // A few small ones are not taken for a change of mind, many are.
        times.gives(grow, 0);
        assert!(times.large[&grow] > MOST_IN_HAND);
        (0..200).for_each(|_| times.gives(grow, 0));
        assert!(times.large.is_empty());
    }
}
