//! What a client measures of its calls.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cost::Cost;

/// Both phases of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// One call after the other, half of them faster than this, in microseconds.
    pub(crate) median: f64,
    /// All but one in a hundred are faster than this.
    pub(crate) slowest_percent: f64,
    pub(crate) sequential: PerCall,
    /// Calls in a second, with many at once.
    pub(crate) rate: f64,
    pub(crate) in_flight: PerCall,
}

/// What one call costs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PerCall {
    /// Microseconds of processor time.
    pub(crate) client_cpu: f64,
    pub(crate) server_cpu: f64,
    pub(crate) writes: f64,
}

/// A phase of a run, from its beginning on.
pub(crate) struct Phase {
    server: u32,
    before: (Cost, Cost),
    began: Instant,
    duration: Duration,
}

impl Phase {
    pub(crate) fn begin(server: u32, duration: Duration) -> Self {
        Self { server, before: (Cost::of(0), Cost::of(server)), began: Instant::now(), duration }
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.began.elapsed() < self.duration
    }

    /// Calls in a second, and what one has cost.
    pub(crate) fn end(self, calls: u64) -> (f64, PerCall) {
        let rate = calls as f64 / self.began.elapsed().as_secs_f64();
        let client = Cost::of(0).since(self.before.0);
        let server = Cost::of(self.server).since(self.before.1);
        let per_call = |total: f64| total / calls as f64;
        let cost = PerCall {
            client_cpu: per_call(client.cpu.as_secs_f64() * 1e6),
            server_cpu: per_call(server.cpu.as_secs_f64() * 1e6),
            writes: per_call((client.writes + server.writes) as f64),
        };
        (rate, cost)
    }
}

/// How long calls took.
#[derive(Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn add(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The time that this share of the calls did not exceed, in microseconds.
    fn quantile(&mut self, share: f64) -> f64 {
        self.0.sort_unstable();
        let at = (self.0.len() as f64 * share) as usize;
        self.0.get(at.min(self.0.len().saturating_sub(1))).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    }
}

impl Measured {
    pub(crate) fn new(mut latencies: Latencies, sequential: PerCall, (rate, in_flight): (f64, PerCall)) -> Self {
        let (median, slowest_percent) = (latencies.quantile(0.5), latencies.quantile(0.99));
        Self { median, slowest_percent, sequential, rate, in_flight }
    }

    /// The better of two runs in each phase: what disturbs a measurement only ever makes it slower.
    pub(crate) fn better(self, other: Self) -> Self {
        let (latency, rate) = (if self.median <= other.median { self } else { other }, self.rate.max(other.rate));
        let cpu = |it: &Self| it.in_flight.client_cpu + it.in_flight.server_cpu;
        let in_flight = if cpu(&self) <= cpu(&other) { self.in_flight } else { other.in_flight };
        Self { rate, in_flight, ..latency }
    }
}
