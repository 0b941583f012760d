//! Randomness as the engine sees it: a seed that the adapter hands in once.

use core::fmt;

use hmac_sha256::HMAC;

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

/// A cryptographic generator drawn from a [`Seed`]: a keyed hash of a counter, as in the expansion of HKDF. It is asked
/// for a few keys and ids, never for bulk.
pub(crate) struct Entropy {
    seed: Seed,
    drawn: u64,
}

impl Entropy {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self { seed: seed.clone(), drawn: 0 }
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for block in bytes.chunks_mut(32) {
            self.drawn += 1;
            block.copy_from_slice(&HMAC::mac(self.drawn.to_le_bytes(), self.seed.0)[..block.len()]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_nothing_twice() {
        let draw = |number| {
            let mut entropy = Entropy::new(&Seed::from_number(number));
            (entropy.bytes::<48>(), entropy.bytes::<16>())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let (first, second) = draw(1);
        assert_ne!(first[..16], first[16..32]);
        assert_ne!(first[..16], second);
        assert_ne!(first[32..], second);
    }
}
