//! Time as the engine sees it: a number that the adapter hands in.

use core::fmt;
use core::ops::Add;
use core::time::Duration;

/// A moment, in microseconds from an origin that the adapter picks.
///
/// The engine never reads a clock. All arithmetic saturates, so a peer that asks for an absurd wait cannot overflow it.
///
/// ```
/// use core::time::Duration;
/// use windlass::Instant;
///
/// let start = Instant::from_micros(1_000);
/// assert_eq!((start + Duration::from_millis(2)).since(start), Duration::from_millis(2));
/// assert_eq!(start.since(start + Duration::from_secs(1)), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The moment `micros` microseconds after the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, wait: Duration) -> Self {
        let micros = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_micros(self.0))
    }
}

/// The earlier of two optional deadlines, where `None` means "never".
///
/// `Option`'s own `min` would let `None` win.
pub fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
