//! Which handlers take long, as far as they have been seen.
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

/// More than a server has. Handlers that are gone would otherwise be remembered for ever.
const MOST_KEPT: usize = 1024;

/// What is known of handlers, by their address.
#[derive(Default)]
pub(super) struct RunTimes {
    /// How often in a row each took long; 0 for those that were quick last time.
    long_runs: BTreeMap<usize, u8>,
    /// How many times each runs on other threads than the reader's.
    apart: BTreeMap<usize, usize>,
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
