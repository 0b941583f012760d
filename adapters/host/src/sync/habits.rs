//! Which handlers take long, as far as they have been seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::handler::Handler;

/// A handler that takes less than this is done sooner than another thread would have begun with it. Longer ones are
/// worth a thread of their own, so that several run at once.
const SHORT: Duration = Duration::from_micros(100);

/// A single long run may be the system's doing.
const LONG_RUNS: u8 = 2;

/// More than a server has. Handlers that are gone would otherwise be remembered for ever.
const MOST_KEPT: usize = 1024;

/// How often in a row handlers took long, by their address; 0 for those that were quick last time.
#[derive(Default)]
pub(super) struct Habits(BTreeMap<usize, u8>);

impl Habits {
    /// What a handler is known by. Another one may have the address later, and is soon known better.
    pub(super) fn of(handler: &Handler) -> usize {
        Arc::as_ptr(handler).cast::<()>() as usize
    }

    pub(super) fn takes_long(&self, handler: usize) -> bool {
        self.0.get(&handler).is_some_and(|runs| *runs >= LONG_RUNS)
    }

    /// Whether a handler has been seen, and was quick.
    pub(super) fn is_quick(&self, handler: usize) -> bool {
        self.0.get(&handler) == Some(&0)
    }

    /// A handler took this long.
    pub(super) fn took(&mut self, handler: usize, duration: Duration) {
        if self.0.len() >= MOST_KEPT {
            self.0.clear();
        }
        let runs = self.0.entry(handler).or_default();
        *runs = if duration < SHORT { 0 } else { runs.saturating_add(1) };
    }
}
