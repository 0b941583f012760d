//! How much a server may have shown of what it says without being asked: logs, progress, its standard error, lines that
//! are no messages. A server that says more than anybody can read must not fill a disk or hide what matters.

use std::time::Instant;

/// Bytes that may come at once: a few thousand lines of a log, or all that a server says that fails with a trace.
const BURST: f64 = 256.0 * 1024.0;

/// Bytes in a second after that: more than a person reads.
const RATE: f64 = 16.0 * 1024.0;

/// What has to be there again before anything more is shown, so that there are not as many gaps as lines.
const RESUME: f64 = BURST / 16.0;

/// What is left to be shown, and what was not.
#[derive(Debug)]
pub(crate) struct Allowance {
    bytes: f64,
    at: Instant,
    left_out: u64,
}

impl Allowance {
    pub(crate) fn new(now: Instant) -> Self {
        Self { bytes: BURST, at: now, left_out: 0 }
    }

    /// Whether so many bytes may be shown now. If not, they count as left out.
    pub(crate) fn allows(&mut self, bytes: usize, now: Instant) -> bool {
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.at, now));
        self.bytes = (self.bytes + passed.as_secs_f64() * RATE).min(BURST);
        let needed = bytes as f64 + if self.left_out > 0 { RESUME } else { 0.0 };
        let allowed = needed <= self.bytes;
        if allowed {
            self.bytes -= bytes as f64;
        } else {
            self.left_out += 1;
        }
        allowed
    }

    /// Counts something that is not shown for another reason.
    pub(crate) fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// How many lines were left out since this was asked last.
    pub(crate) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_flood_is_cut_to_a_burst_and_a_rate() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let mut shown = 0;
        for tick in 0..10_000 {
            let now = start + Duration::from_millis(tick);
            shown += (0..100).filter(|_| allowance.allows(100, now)).count();
            allowance.take_left_out();
        }
        let most = (BURST + 10.0 * RATE) as usize / 100;
        assert!((most - 200..=most).contains(&shown), "{shown} of {most}");
    }

    #[test]
    fn what_was_left_out_is_counted_and_told_once() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let all = BURST as usize;
        assert!(allowance.allows(all, start) && !allowance.allows(1, start) && !allowance.allows(1, start));
        // A few bytes are there again, but not enough to go on for long.
        assert!(!allowance.allows(1, start + Duration::from_millis(10)));
        assert!(allowance.allows(1, start + Duration::from_secs(2)));
        assert_eq!((allowance.take_left_out(), allowance.take_left_out()), (3, 0));
    }

    #[test]
    fn who_says_little_is_always_heard() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        assert!((0..100_000).all(|second| allowance.allows(4_000, start + Duration::from_secs(second))));
    }
}
