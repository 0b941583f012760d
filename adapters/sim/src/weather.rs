//! How badly the network behaves.

use std::ops::RangeInclusive;
use std::time::Duration;

/// How a stream treats the bytes that are written to it. Every draw comes from the simulation's seed.
///
/// ```
/// use std::time::Duration;
/// use windlass_sim::Weather;
///
/// let slow = Weather { delay: Duration::from_secs(1)..=Duration::from_secs(2), ..Weather::calm() };
/// assert_eq!(slow.chunk, Weather::calm().chunk);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weather {
    /// How many bytes one write takes, and one read brings.
    pub chunk: RangeInclusive<usize>,
    /// How long a chunk is on its way. Chunks never overtake each other.
    pub delay: RangeInclusive<Duration>,
    /// How many bytes may be on their way in one direction before a writer has to wait: what a pipe holds.
    pub capacity: usize,
}

impl Weather {
    /// Whole writes that arrive at once.
    pub fn calm() -> Self {
        Self { chunk: usize::MAX..=usize::MAX, delay: Duration::ZERO..=Duration::ZERO, capacity: 64 * 1024 }
    }

    /// One byte at a time, at once.
    pub fn bytewise() -> Self {
        Self { chunk: 1..=1, ..Self::calm() }
    }

    /// Pieces of any size up to a small message, each late by up to 20 ms, through a narrow pipe.
    pub fn rough() -> Self {
        Self { chunk: 1..=200, delay: Duration::ZERO..=Duration::from_millis(20), capacity: 1024 }
    }
}
