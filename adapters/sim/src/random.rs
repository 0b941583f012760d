//! Randomness that is a function of one number.

use std::ops::RangeInclusive;
use std::time::Duration;

/// A small seeded generator (SplitMix64). The same seed gives the same numbers, on every machine and in every build.
///
/// ```
/// use windlass_sim::Random;
///
/// let (mut one, mut other) = (Random::new(7), Random::new(7));
/// assert_eq!(one.next(), other.next());
/// assert!((3..=5).contains(&one.between(3, 5)));
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "a generator without an end makes a poor iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`, both included; `least` if they are the wrong way round.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        if most <= least {
            return least;
        }
        match (most - least).checked_add(1) {
            Some(count) => least + self.next() % count,
            None => self.next(),
        }
    }

    /// True once in `times`, on average.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.between(1, times) == 1
    }

    /// A time from the beginning of a range to its end, both included.
    pub fn duration(&mut self, range: &RangeInclusive<Duration>) -> Duration {
        let micros = |time: &Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.between(micros(range.start()), micros(range.end())))
    }

    /// One of several things.
    ///
    /// # Panics
    ///
    /// If there is nothing to choose from.
    pub fn choose<'a, V>(&mut self, from: &'a [V]) -> &'a V {
        assert!(!from.is_empty(), "there is nothing to choose from");
        &from[self.between(0, from.len() as u64 - 1) as usize]
    }

    /// Another generator, whose numbers do not depend on how many are drawn from this one later.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next())
    }
}
