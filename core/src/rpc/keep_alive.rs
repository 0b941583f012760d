//! Keep-alive pings of the legacy era: one at a time, and a connection that misses too many in a row is dead.

use core::time::Duration;

use crate::time::Instant;

/// How often to ping, and how many unanswered pings end the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeepAliveConfig {
    /// The time between pings, which is also how long a ping may take.
    pub interval: Duration,
    /// After how many unanswered pings in a row the peer counts as gone.
    pub misses_allowed: u32,
}

impl KeepAliveConfig {
    /// A ping every `interval`; three misses end the connection.
    pub fn every(interval: Duration) -> Self {
        Self { interval, misses_allowed: 3 }
    }
}

/// When to ping, and what became of it.
#[derive(Debug)]
pub(crate) struct KeepAlive {
    interval: Duration,
    misses_allowed: u32,
    missed: u32,
    next: Option<Instant>,
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeepAliveStep {
    /// Send a ping that is given the interval as its timeout.
    Ping(Duration),
    /// Close the connection.
    GiveUp {
        /// Pings without an answer.
        missed: u32,
    },
}

impl KeepAlive {
    pub(crate) fn new(KeepAliveConfig { interval, misses_allowed }: KeepAliveConfig, now: Instant) -> Self {
        Self { interval, misses_allowed, missed: 0, next: Some(now + interval) }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// The next ping, if it is due. Until its outcome is known there is no other.
    pub(crate) fn due(&mut self, now: Instant) -> Option<KeepAliveStep> {
        self.next.take_if(|next| *next <= now)?;
        Some(KeepAliveStep::Ping(self.interval))
    }

    /// The ping was answered, with a result or an error: the peer lives.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.missed = 0;
        self.next = Some(now + self.interval);
    }

    /// The ping was not answered in time.
    pub(crate) fn missed(&mut self) -> KeepAliveStep {
        self.missed += 1;
        if self.missed >= self.misses_allowed {
            KeepAliveStep::GiveUp { missed: self.missed }
        } else {
            KeepAliveStep::Ping(self.interval)
        }
    }
}
