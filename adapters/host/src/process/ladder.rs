//! When to use how much force to end a child. All of the rules are here; nothing in this file does anything.

use std::time::Duration;

use windlass::Instant;

/// How long each phase of a shutdown may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// From the end of the child's standard input until it is asked to terminate. Default 500 ms: a server that heeds
    /// the end of its input has nothing else to wait for.
    pub eof: Duration,
    /// From that request until it is killed. Default 2.5 s: together with the first phase three seconds, about what a
    /// person who closes a program is willing to wait.
    pub terminate: Duration,
}

impl Default for Grace {
    fn default() -> Self {
        Self { eof: Duration::from_millis(500), terminate: Duration::from_millis(2_500) }
    }
}

/// What to do to the child now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask the whole group to end: `SIGTERM`. On Windows, where there is no such request, end it.
    Terminate,
    /// End the whole group by force: `SIGKILL`.
    Kill,
}

/// The stages of a shutdown that has begun: standard input is closed, then terminate, then kill.
///
/// The driver closes the child's standard input, starts a ladder, and calls [`advance`](Self::advance) when
/// [`deadline`](Self::deadline) has come, until the child has exited.
///
/// ```
/// use std::time::Duration;
/// use windlass::Instant;
/// use windlass_host::{Grace, Ladder, Step};
///
/// let start = Instant::ZERO;
/// let mut ladder = Ladder::start(start, Grace::default());
/// assert_eq!(ladder.advance(start), None);
///
/// let half_a_second = start + Duration::from_millis(500);
/// assert_eq!(ladder.deadline(), Some(half_a_second));
/// assert_eq!(ladder.advance(half_a_second), Some(Step::Terminate));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    phase: LadderPhase,
    terminate: Duration,
}

/// A phase carries its deadline, so that two cannot be armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LadderPhase {
    InputClosed { until: Instant },
    Terminating { until: Instant },
    Killed,
}

impl Ladder {
    /// Begins at the moment when the child's standard input was closed.
    pub fn start(now: Instant, grace: Grace) -> Self {
        Self { phase: LadderPhase::InputClosed { until: now + grace.eof }, terminate: grace.terminate }
    }

    /// Begins at the moment when the child was asked to terminate, with no wait before it.
    pub fn start_terminating(now: Instant, grace: Grace) -> Self {
        Self { phase: LadderPhase::Terminating { until: now + grace.terminate }, terminate: grace.terminate }
    }

    /// When to call [`advance`](Self::advance) next; `None` once all force has been used.
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            LadderPhase::InputClosed { until } | LadderPhase::Terminating { until } => Some(until),
            LadderPhase::Killed => None,
        }
    }

    /// The step that is due at `now`, if one is. Each step is given once, and a late call gives one step, not two: the
    /// child keeps its time to heed the first.
    pub fn advance(&mut self, now: Instant) -> Option<Step> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        self.take_step(now)
    }

    /// Skips the rest of the wait after the end of input, for a child whose leader has left others behind: they need
    /// not have noticed that end. Nothing changes once the child has been asked to terminate.
    pub fn skip_to_terminate(&mut self, now: Instant) -> Option<Step> {
        match self.phase {
            LadderPhase::InputClosed { .. } => self.take_step(now),
            LadderPhase::Terminating { .. } | LadderPhase::Killed => None,
        }
    }

    fn take_step(&mut self, now: Instant) -> Option<Step> {
        match self.phase {
            LadderPhase::InputClosed { .. } => {
                self.phase = LadderPhase::Terminating { until: now + self.terminate };
                Some(Step::Terminate)
            }
            LadderPhase::Terminating { .. } => {
                self.phase = LadderPhase::Killed;
                Some(Step::Kill)
            }
            LadderPhase::Killed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_micros(millis * 1_000)
    }

    #[test]
    fn each_step_comes_once_and_in_time() {
        let mut ladder = Ladder::start(at(0), Grace::default());
        assert_eq!(ladder.advance(at(499)), None);
        assert_eq!(ladder.advance(at(500)), Some(Step::Terminate));
        assert_eq!(ladder.advance(at(500)), None);
        assert_eq!(ladder.deadline(), Some(at(3_000)));
        assert_eq!(ladder.advance(at(2_999)), None);
        assert_eq!(ladder.advance(at(3_000)), Some(Step::Kill));
        assert_eq!(ladder.deadline(), None);
        assert_eq!(ladder.advance(at(1_000_000)), None);
    }

    #[test]
    fn a_late_call_does_not_take_two_steps() {
        let mut ladder = Ladder::start(at(0), Grace::default());
        assert_eq!(ladder.advance(at(10_000)), Some(Step::Terminate));
        assert_eq!(ladder.advance(at(10_000)), None);
        assert_eq!(ladder.deadline(), Some(at(12_500)));
    }

    #[test]
    fn no_grace_means_at_once() {
        let mut ladder = Ladder::start(at(7), Grace { eof: Duration::ZERO, terminate: Duration::ZERO });
        assert_eq!(ladder.advance(at(7)), Some(Step::Terminate));
        assert_eq!(ladder.advance(at(7)), Some(Step::Kill));
        assert_eq!(ladder.advance(at(7)), None);
    }

    #[test]
    fn skipping_leaves_the_time_to_terminate() {
        let mut ladder = Ladder::start(at(0), Grace::default());
        assert_eq!(ladder.skip_to_terminate(at(100)), Some(Step::Terminate));
        assert_eq!(ladder.skip_to_terminate(at(100)), None);
        assert_eq!(ladder.deadline(), Some(at(2_600)));
    }

    #[test]
    fn a_ladder_may_begin_with_terminate() {
        let mut ladder = Ladder::start_terminating(at(0), Grace::default());
        assert_eq!(ladder.advance(at(2_499)), None);
        assert_eq!(ladder.advance(at(2_500)), Some(Step::Kill));
    }

    #[test]
    fn endless_grace_does_not_overflow() {
        let mut ladder = Ladder::start(at(1), Grace { eof: Duration::MAX, terminate: Duration::MAX });
        assert_eq!(ladder.advance(at(1_000)), None);
    }
}
