//! The clock that an adapter reads on behalf of the engine.

use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use windlass::Instant;

/// Where [`Clock::to_std`] puts a moment that the platform's own clock cannot represent: far enough to mean "never".
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// A monotonic clock whose origin is the moment of its creation.
///
/// Copies share the origin, so their readings compare. Two clocks made by two calls of [`Clock::new`] do not.
///
/// ```
/// use std::time::Duration;
/// use windlass_host::Clock;
///
/// let clock = Clock::new();
/// let deadline = clock.now() + Duration::from_secs(30);
/// assert!(clock.until(deadline) <= Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: StdInstant,
    unix_time_at_origin: Duration,
}

impl Clock {
    /// A clock that starts now.
    pub fn new() -> Self {
        let unix_time_at_origin = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { origin: StdInstant::now(), unix_time_at_origin }
    }

    /// The present moment, as the engine counts it.
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.origin.elapsed()
    }

    /// How long from now until `moment`; zero if it has passed.
    pub fn until(&self, moment: Instant) -> Duration {
        moment.since(self.now())
    }

    /// The same moment on the clock of the standard library, for timers that want one.
    pub fn to_std(&self, moment: Instant) -> StdInstant {
        let after_origin = Duration::from_micros(moment.as_micros());
        self.origin.checked_add(after_origin).unwrap_or_else(|| self.origin + FAR_FUTURE)
    }

    /// The wall-clock time, since the Unix epoch, that belongs to [`Instant::ZERO`].
    ///
    /// It is read once, at creation: later changes of the system's time do not make it jump.
    pub fn unix_time_at_origin(&self) -> Duration {
        self.unix_time_at_origin
    }

    /// What the system's clock says now, since the Unix epoch. It runs while a machine sleeps, which the other does not on
    /// every platform; and it jumps when it is set.
    #[cfg(all(feature = "auth", feature = "client"))]
    pub(crate) fn unix_time() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let clock = Clock::new();
        let first = clock.now();
        assert!(clock.now() >= first);
    }

    #[test]
    fn a_past_moment_is_no_wait() {
        assert_eq!(Clock::new().until(Instant::ZERO), Duration::ZERO);
    }

    #[test]
    fn standard_moments_keep_their_distance() {
        let clock = Clock::new();
        let moment = Instant::from_micros(1_500);
        let later = moment + Duration::from_secs(2);
        assert_eq!(clock.to_std(later) - clock.to_std(moment), Duration::from_secs(2));
    }

    #[test]
    fn an_absurd_moment_does_not_panic() {
        let clock = Clock::new();
        assert!(clock.to_std(Instant::from_micros(u64::MAX)) > clock.to_std(Instant::from_micros(1)));
    }

    #[test]
    fn the_origin_has_a_wall_clock_time() {
        let year_2020 = Duration::from_secs(1_577_836_800);
        assert!(Clock::new().unix_time_at_origin() > year_2020);
    }
}
