//! What a simulation has besides those who take part in it.

use windlass::Instant;

use crate::conditions::NetworkConditions;
use crate::party::Log;
use crate::random::Random;
use crate::trace::{Side, Trace};

/// Steps without the clock moving after which something must be going in circles. A long session under bytewise conditions
/// takes some ten thousand.
const MOST_STEPS_AT_ONCE: u32 = 10_000_000;

/// The time, the conditions, chance, and the record of what happens.
pub(crate) struct Scene {
    pub(crate) now: Instant,
    pub(crate) conditions: NetworkConditions,
    pub(crate) random: Random,
    pub(crate) trace: Trace,
    steps_at_once: u32,
}

impl Scene {
    pub(crate) fn new(seed: u64, conditions: NetworkConditions) -> Self {
        Self { now: Instant::ZERO, conditions, random: Random::new(seed), trace: Trace::default(), steps_at_once: 0 }
    }

    /// The clock moves on, never back.
    pub(crate) fn set_time(&mut self, now: Instant) {
        if now > self.now {
            self.steps_at_once = 0;
        }
        self.now = self.now.max(now);
    }

    /// A step was taken at the present time.
    pub(crate) fn count_step(&mut self) {
        self.steps_at_once += 1;
        let circles = self.steps_at_once >= MOST_STEPS_AT_ONCE;
        assert!(!circles, "going in circles at {:?}:\n{}", self.now, self.trace.transcript());
    }

    /// Whether a stream cannot be opened. Under conditions without this nothing is drawn.
    pub(crate) fn refuse(&mut self) -> bool {
        let refused = self.conditions.faults.refused;
        refused > 0 && self.random.one_in(refused)
    }

    /// Where somebody reports what its program sees.
    pub(crate) fn log<'a>(&'a mut self, side: Side, name: &'a str) -> Log<'a> {
        Log { trace: &mut self.trace, side, name, now: self.now }
    }
}
