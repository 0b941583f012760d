//! A stream between a client and a server: a pipe in each direction, and who knows of its end.

use windlass::Instant;

use crate::conditions::NetworkConditions;
use crate::party::Closing;
use crate::pipe::Pipe;
use crate::scene::Scene;
use crate::trace::Side;

/// A stream. Whatever a side asks about it is asked for that side.
#[derive(Debug)]
pub(crate) struct SimStream {
    /// What is on its way to each side.
    toward: [Pipe; 2],
    /// Who has been told of the end, or does not want to know.
    told_end: [bool; 2],
    wrote_end: [bool; 2],
    broken: bool,
    told_broken: [bool; 2],
}

impl SimStream {
    pub(crate) fn new(scene: &mut Scene) -> Self {
        Self {
            toward: [(); 2].map(|()| Pipe::new(scene.conditions.clone(), scene.random.fork())),
            told_end: [false; 2],
            wrote_end: [false; 2],
            broken: false,
            told_broken: [false; 2],
        }
    }

    pub(crate) fn set_conditions(&mut self, conditions: &NetworkConditions) {
        for pipe in &mut self.toward {
            pipe.set_conditions(conditions.clone());
        }
    }

    /// A side writes; says how many bytes were taken.
    pub(crate) fn write(&mut self, side: Side, bytes: &[u8], now: Instant) -> usize {
        if bytes.is_empty() { 0 } else { self.toward[side.other() as usize].write(bytes, now) }
    }

    /// A side closes. False if it had done so before.
    pub(crate) fn close(&mut self, side: Side, closing: Closing, now: Instant) -> bool {
        if closing == Closing::Both {
            // What comes to a reader that is gone is lost.
            self.toward[side as usize].abandon(now);
            self.told_end[side as usize] = true;
        }
        let first = !std::mem::replace(&mut self.wrote_end[side as usize], true);
        if first {
            self.toward[side.other() as usize].end(now);
        }
        first
    }

    /// What has arrived at a side.
    pub(crate) fn arrived(&self, side: Side, now: Instant) -> Option<&[u8]> {
        self.toward[side as usize].arrived(now)
    }

    /// A side has taken this many of the bytes that arrived.
    pub(crate) fn take(&mut self, side: Side, count: usize) {
        self.toward[side as usize].take(count);
    }

    /// Whether a side is to be told now that nothing more comes.
    pub(crate) fn ends_for(&mut self, side: Side, now: Instant) -> bool {
        let ends = self.toward[side as usize].has_ended(now) && !self.told_end[side as usize];
        self.told_end[side as usize] |= ends;
        ends
    }

    /// Whether a side knows that nothing more comes.
    pub(crate) fn knows_end(&self, side: Side) -> bool {
        self.told_end[side as usize]
    }

    /// Whether a side is to be told now that the stream is broken.
    pub(crate) fn breaks_for(&mut self, side: Side, now: Instant) -> bool {
        if self.toward.iter().any(|pipe| pipe.has_broken(now)) {
            self.cut(now);
        }
        self.broken && !std::mem::replace(&mut self.told_broken[side as usize], true)
    }

    /// Breaks for both sides. What is on its way is lost.
    pub(crate) fn cut(&mut self, now: Instant) {
        for pipe in &mut self.toward {
            pipe.abandon(now);
        }
        self.told_end = [true; 2];
        self.broken = true;
    }

    /// When something arrives that has not yet.
    pub(crate) fn next_arrival(&self, now: Instant) -> Option<Instant> {
        self.toward.iter().filter_map(Pipe::next_arrival).filter(|at| *at > now).min()
    }

    /// Whether no byte is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.toward.iter().all(Pipe::is_empty)
    }
}
