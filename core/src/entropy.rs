//! Randomness as the engine sees it: a seed that the adapter hands in once.

use core::fmt;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The one source of randomness of a machine. There is no default and no fallback to the operating system: an adapter
/// fills it from the system's generator, a test from a number.
#[derive(Clone)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A seed for tests: the same number gives the same run.
    pub fn from_number(number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Self(bytes)
    }
}

/// A seed is key material, so it is never printed.
impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// A cryptographic generator drawn from a [`Seed`].
pub(crate) struct Entropy(ChaCha12Rng);

impl Entropy {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self(ChaCha12Rng::from_seed(seed.0))
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
