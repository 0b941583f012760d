//! How fast the engine turns: round trips in one process, client and server, beside the floor of bare JSON.
//!
//! ```sh
//! cargo run --release -p windlass-benches
//! ```
//!
//! For instruction counts, run one case under callgrind twice, with N and with 2 N round trips, and take the difference:
//!
//! ```sh
//! valgrind --tool=callgrind target/release/windlass-benches engine modern 64 1000
//! ```

#![forbid(unsafe_op_in_unsafe_fn)]

mod allocations;
mod engine;
mod floor;

use std::time::{Duration, Instant};

use windlass::model::Era;

/// How long each case is measured.
const MEASURED: Duration = Duration::from_millis(300);

/// The payloads, in bytes.
const PAYLOADS: [usize; 3] = [64, 4 * 1024, 256 * 1024];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => table(),
        ["engine", era, payload, count] => {
            let era = if era == "legacy" { Era::Legacy } else { Era::Modern };
            let mut pair = engine::Pair::connected(era, number(payload));
            (0..number(count)).for_each(|_| pair.round_trip());
        }
        ["floor", payload, count] => {
            let mut floor = floor::Floor::new(number(payload));
            (0..number(count)).for_each(|_| floor.round_trip());
        }
        _ => {
            eprintln!("usage: windlass-benches [engine legacy|modern PAYLOAD COUNT | floor PAYLOAD COUNT]");
            std::process::exit(1);
        }
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| {
        eprintln!("{text:?} is not a number");
        std::process::exit(1);
    })
}

fn table() {
    println!("round trips in one process, client and server; the floor is serde_json encoding and reading the same");
    println!("two messages with their payload borrowed\n");
    println!("{:<10} {:>10} {:>14} {:>12} {:>14}", "", "payload", "µs a trip", "× floor", "allocations");
    for payload in PAYLOADS {
        let mut floor = floor::Floor::new(payload);
        let base = report("floor", payload, None, || floor.round_trip());
        for (name, era) in [("legacy", Era::Legacy), ("modern", Era::Modern)] {
            let mut pair = engine::Pair::connected(era, payload);
            report(name, payload, Some(base), || pair.round_trip());
        }
    }
}

/// Measures one case, prints its line and returns its time.
fn report(name: &str, payload: usize, base: Option<f64>, mut round_trip: impl FnMut()) -> f64 {
    (0..20).for_each(|_| round_trip());
    let (mut trips, allocated, started) = (0_u64, allocations::count(), Instant::now());
    while started.elapsed() < MEASURED {
        round_trip();
        trips += 1;
    }
    let micros = started.elapsed().as_secs_f64() * 1e6 / trips as f64;
    let allocated = (allocations::count() - allocated) as f64 / trips as f64;
    let ratio = base.map_or_else(String::new, |base| format!("{:.2}", micros / base));
    println!("{name:<10} {payload:>10} {micros:>14.2} {ratio:>12} {allocated:>14.1}");
    micros
}
