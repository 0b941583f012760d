//! How badly the network behaves.

use std::ops::RangeInclusive;
use std::time::Duration;

/// How a stream treats the bytes that are written to it. Every draw comes from the simulation's seed.
///
/// ```
/// use std::time::Duration;
/// use windlass_sim::NetworkConditions;
///
/// let slow = NetworkConditions { delay: Duration::from_secs(1)..=Duration::from_secs(2), ..NetworkConditions::ideal() };
/// assert_eq!(slow.chunk, NetworkConditions::ideal().chunk);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkConditions {
    /// How many bytes one write takes, and one read brings.
    pub chunk: RangeInclusive<usize>,
    /// How long a chunk is on its way. Chunks never overtake each other.
    pub delay: RangeInclusive<Duration>,
    /// How many bytes may be on their way in one direction before a writer has to wait: what a pipe holds.
    pub capacity: usize,
    /// What breaks.
    pub faults: Faults,
}

/// How often something breaks. Each number is one in so many, and 0 is never.
///
/// ```
/// use windlass_sim::{Faults, NetworkConditions};
///
/// let refusing = NetworkConditions { faults: Faults { refused: 2, ..Faults::none() }, ..NetworkConditions::rough() };
/// assert_ne!(refusing, NetworkConditions::faulty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Streams that cannot be opened.
    pub refused: u64,
    /// Writes that arrive late by a [`stall`](Self::stall), with all that follows them.
    pub stalled: u64,
    /// How late that is.
    pub stall: RangeInclusive<Duration>,
    /// Writes in the middle of which their direction ends, while the other goes on.
    pub half_closed: u64,
    /// Writes in the middle of which the stream breaks for both sides.
    pub reset: u64,
    /// Writes of which a byte arrives as another. No checksum of a real network lets this pass, but for chance.
    pub corrupted: u64,
}

impl Faults {
    /// Nothing breaks.
    pub fn none() -> Self {
        Self { refused: 0, stalled: 0, stall: Duration::ZERO..=Duration::ZERO, half_closed: 0, reset: 0, corrupted: 0 }
    }
}

impl NetworkConditions {
    /// Whole writes that arrive at once.
    pub fn ideal() -> Self {
        Self {
            chunk: usize::MAX..=usize::MAX,
            delay: Duration::ZERO..=Duration::ZERO,
            capacity: 64 * 1024,
            faults: Faults::none(),
        }
    }

    /// One byte at a time, at once.
    pub fn bytewise() -> Self {
        Self { chunk: 1..=1, ..Self::ideal() }
    }

    /// Pieces of any size up to a small message, each late by up to 20 ms, through a narrow pipe.
    pub fn rough() -> Self {
        let delay = Duration::ZERO..=Duration::from_millis(20);
        Self { chunk: 1..=200, delay, capacity: 1024, faults: Faults::none() }
    }

    /// The same, and everything breaks now and then but the bytes that do arrive.
    pub fn faulty() -> Self {
        let stall = Duration::from_secs(1)..=Duration::from_secs(60);
        let faults = Faults { refused: 10, stalled: 100, stall, half_closed: 100, reset: 50, corrupted: 0 };
        Self { faults, ..Self::rough() }
    }
}
