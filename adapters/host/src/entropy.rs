//! The randomness that an adapter hands to the engine.

use std::io;

use windlass::Seed;

/// A fresh seed from the operating system's generator. Draw one for each machine; never share or store it.
///
/// ```
/// let seed = windlass_host::seed()?;
/// # let _ = seed;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// When the system has no generator or refuses access to it. There is no weaker fallback.
pub fn seed() -> io::Result<Seed> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(Seed(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ() {
        assert_ne!(seed().unwrap().0, seed().unwrap().0);
    }
}
