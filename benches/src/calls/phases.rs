//! The two phases of a run, for calls of any kind: one after the other, then many at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::IN_FLIGHT;
use super::measured::{Latencies, Measured, PerCall, Phase};

/// How many calls come before those that count.
const WARM_UP: usize = 100;

/// Both phases, for calls that are futures.
pub(crate) async fn of_futures(server: u32, each: Duration, round_trip: impl AsyncFn()) -> Measured {
    for _ in 0..WARM_UP {
        round_trip().await;
    }
    let phase = Phase::begin(server, each);
    let mut latencies = Latencies::default();
    while phase.goes_on() {
        let began = Instant::now();
        round_trip().await;
        latencies.add(began.elapsed());
    }
    let (_, sequential) = phase.end(latencies.count());

    let phase = Phase::begin(server, each);
    let lane = async || {
        let mut calls = 0;
        while phase.goes_on() {
            round_trip().await;
            calls += 1;
        }
        calls
    };
    let calls: Vec<u64> = join_all((0..IN_FLIGHT).map(|_| lane())).await;
    Measured::new(latencies, sequential, phase.end(calls.iter().sum()))
}

/// Both phases, for calls that block: as many threads as there are calls at once.
pub(crate) fn of_threads(server: u32, each: Duration, round_trip: impl Fn() + Sync) -> Measured {
    let (latencies, sequential) = one_after_the_other(server, each, &round_trip);
    let phase = Phase::begin(server, each);
    let calls = AtomicU64::new(0);
    let lane = || {
        while phase.goes_on() {
            round_trip();
            calls.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| (0..IN_FLIGHT).for_each(|_| drop(scope.spawn(lane))));
    Measured::new(latencies, sequential, phase.end(calls.load(Ordering::Relaxed)))
}

/// The first phase, for calls that block.
pub(crate) fn one_after_the_other(server: u32, each: Duration, mut round_trip: impl FnMut()) -> (Latencies, PerCall) {
    (0..WARM_UP).for_each(|_| round_trip());
    let phase = Phase::begin(server, each);
    let mut latencies = Latencies::default();
    while phase.goes_on() {
        let began = Instant::now();
        round_trip();
        latencies.add(began.elapsed());
    }
    let (_, per_call) = phase.end(latencies.count());
    (latencies, per_call)
}
