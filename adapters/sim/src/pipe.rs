//! One direction of a stream: bytes in order, cut up and delayed.

use std::collections::VecDeque;

use windlass::Instant;

use crate::conditions::{Faults, NetworkConditions};
use crate::random::Random;

/// One direction of a stream.
///
/// ```
/// use windlass::Instant;
/// use windlass_sim::{Pipe, Random, NetworkConditions};
///
/// let mut pipe = Pipe::new(NetworkConditions::bytewise(), Random::new(1));
/// assert_eq!(pipe.write(b"ab", Instant::ZERO), 1);
/// assert_eq!(pipe.arrived(Instant::ZERO), Some(&b"a"[..]));
/// ```
#[derive(Debug)]
pub struct Pipe {
    conditions: NetworkConditions,
    random: Random,
    chunks: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    /// When the last chunk arrives: none may overtake it.
    last: Instant,
    end: Option<Instant>,
    /// When the stream breaks, for both sides.
    breaks: Option<Instant>,
}

impl Pipe {
    /// A pipe under these conditions.
    pub fn new(conditions: NetworkConditions, random: Random) -> Self {
        Self { conditions, random, chunks: VecDeque::new(), bytes: 0, last: Instant::ZERO, end: None, breaks: None }
    }

    /// Changes the conditions for what is written from now on.
    pub fn set_conditions(&mut self, conditions: NetworkConditions) {
        self.conditions = conditions;
    }

    /// Takes some of `bytes`, perhaps none, and says how many. After the end, whatever comes is swallowed.
    pub fn write(&mut self, bytes: &[u8], now: Instant) -> usize {
        if self.end.is_some() || self.breaks.is_some() {
            return bytes.len();
        }
        let room = self.conditions.capacity.saturating_sub(self.bytes).min(bytes.len());
        if room == 0 {
            return 0;
        }
        let chunk = self.random.between(*self.conditions.chunk.start() as u64, *self.conditions.chunk.end() as u64);
        let count = room.min(usize::try_from(chunk).unwrap_or(usize::MAX)).max(1);
        let arrival = self.arrival(now);
        let chunk = self.through_faults(&bytes[..count], arrival);
        if !chunk.is_empty() {
            self.bytes += chunk.len();
            self.chunks.push_back((self.last, chunk));
        }
        count
    }

    /// What arrives of a chunk, and when: the faults may make it late, cut it off or spoil it.
    fn through_faults(&mut self, bytes: &[u8], arrival: Instant) -> Vec<u8> {
        let Faults { stalled, half_closed, reset, corrupted, .. } = self.conditions.faults;
        let mut chunk = bytes.to_vec();
        if self.hit(stalled) {
            self.last = arrival + self.random.duration(&self.conditions.faults.stall);
        }
        if self.hit(corrupted) {
            let at = self.random.between(0, chunk.len() as u64 - 1) as usize;
            chunk[at] ^= self.random.between(1, 255) as u8;
        }
        if self.hit(half_closed) {
            chunk.truncate(self.random.between(0, chunk.len() as u64) as usize);
            self.end = Some(self.last);
        } else if self.hit(reset) {
            chunk.truncate(self.random.between(0, chunk.len() as u64) as usize);
            self.breaks = Some(self.last);
        }
        chunk
    }

    /// Whether something happens that happens once in `times`. Under conditions without it nothing is drawn.
    fn hit(&mut self, times: u64) -> bool {
        times > 0 && self.random.one_in(times)
    }

    /// The writer is done: after what is on its way, the reader sees the end.
    pub fn end(&mut self, now: Instant) {
        if self.end.is_none() {
            self.end = Some(self.arrival(now));
        }
    }

    /// Drops what is on its way, for a reader that is gone.
    pub fn abandon(&mut self, now: Instant) {
        self.chunks.clear();
        self.bytes = 0;
        self.end = Some(now);
        self.breaks = None;
    }

    /// The bytes that have arrived and were not taken yet, up to the end of their chunk.
    pub fn arrived(&self, now: Instant) -> Option<&[u8]> {
        self.chunks.front().filter(|(at, _)| *at <= now).map(|(_, bytes)| &bytes[..])
    }

    /// The reader has taken this many of the bytes that arrived.
    pub fn take(&mut self, count: usize) {
        let Some((_, chunk)) = self.chunks.front_mut() else { return };
        self.bytes -= count;
        chunk.drain(..count);
        if chunk.is_empty() {
            self.chunks.pop_front();
        }
    }

    /// Whether the reader has taken everything, and the end has arrived.
    pub fn has_ended(&self, now: Instant) -> bool {
        self.chunks.is_empty() && self.end.is_some_and(|end| end <= now)
    }

    /// Whether the reader has taken everything that came before the stream broke.
    pub fn has_broken(&self, now: Instant) -> bool {
        self.chunks.is_empty() && self.breaks.is_some_and(|at| at <= now)
    }

    /// When the next bytes, or the end, arrive.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.chunks.front().map(|(at, _)| *at).or(self.end).or(self.breaks)
    }

    /// How many bytes are on their way or wait for the reader.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn arrival(&mut self, now: Instant) -> Instant {
        self.last = self.last.max(now + self.random.duration(&self.conditions.delay));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn bytes_arrive_in_order_and_the_end_comes_last() {
        for seed in 0..50 {
            let mut pipe = Pipe::new(NetworkConditions::rough(), Random::new(seed));
            let sent: Vec<u8> = (0..5000_u32).map(|byte| byte as u8).collect();
            let (mut written, mut received, mut now) = (0, Vec::new(), Instant::ZERO);
            while !pipe.has_ended(now) {
                let count = pipe.write(&sent[written..], now);
                written += if pipe.end.is_none() { count } else { 0 };
                if written == sent.len() {
                    pipe.end(now);
                }
                while let Some(bytes) = pipe.arrived(now) {
                    let bytes = bytes.to_vec();
                    received.extend_from_slice(&bytes);
                    pipe.take(bytes.len());
                }
                assert!(pipe.len() <= NetworkConditions::rough().capacity);
                now = now + Duration::from_millis(1);
            }
            assert_eq!(received, sent, "seed {seed}");
        }
    }

    #[test]
    fn a_full_pipe_takes_nothing_more() {
        let conditions = NetworkConditions { capacity: 4, ..NetworkConditions::ideal() };
        let mut pipe = Pipe::new(conditions, Random::new(1));
        assert_eq!(pipe.write(b"abcdef", Instant::ZERO), 4);
        assert_eq!(pipe.write(b"ef", Instant::ZERO), 0);
        pipe.take(1);
        assert_eq!(pipe.write(b"ef", Instant::ZERO), 1);
    }

    #[test]
    fn faults_cut_spoil_and_delay() {
        let written = b"0123456789";
        let faulty = |faults| {
            let mut pipe = Pipe::new(NetworkConditions { faults, ..NetworkConditions::ideal() }, Random::new(3));
            assert_eq!(pipe.write(written, Instant::ZERO), written.len(), "the writer knows nothing of it");
            assert_eq!(pipe.write(written, Instant::ZERO), written.len());
            pipe
        };
        let mut ended = faulty(Faults { half_closed: 1, ..Faults::none() });
        let mut broken = faulty(Faults { reset: 1, ..Faults::none() });
        for pipe in [&mut ended, &mut broken] {
            assert!(pipe.len() <= written.len(), "what comes after the cut is lost");
            assert!(
                !pipe.has_ended(Instant::ZERO) && !pipe.has_broken(Instant::ZERO),
                "what came before is read first"
            );
            pipe.take(pipe.len());
        }
        assert!(ended.has_ended(Instant::ZERO) && !ended.has_broken(Instant::ZERO));
        assert!(broken.has_broken(Instant::ZERO) && !broken.has_ended(Instant::ZERO));

        let spoilt = faulty(Faults { corrupted: 1, ..Faults::none() });
        let arrived = spoilt.arrived(Instant::ZERO).unwrap();
        assert_eq!(arrived.iter().zip(written).filter(|(got, sent)| got != sent).count(), 1);

        let second = Duration::from_secs(1);
        let late = faulty(Faults { stalled: 1, stall: second..=second, ..Faults::none() });
        assert_eq!(late.next_arrival(), Some(Instant::ZERO + second));
    }
}
