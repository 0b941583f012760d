//! Round trips in one process, client and server: the engine, rmcp, and the floor of bare JSON.

pub(crate) mod engine;
mod floor;
mod instructions;
mod over_http;
pub(crate) mod rmcp;

use std::time::{Duration, Instant};

use windlass::model::Era;

use crate::aims::Aims;
use crate::table::{Table, grouped};
use crate::{PAYLOADS, allocations, size};

/// Round trips that need no clock and no second process.
trait RoundTrips {
    /// Makes this many, one after the other.
    fn run(&mut self, count: usize);

    /// How many allocations so far belong to the bench's own tool.
    fn own_allocations(&self) -> u64 {
        0
    }
}

/// Allocations of a call that are the program's for as long as it likes: the invocation and its arguments.
const KEPT: f64 = 2.0;

/// Whose round trips.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Party {
    Floor(Era),
    Engine(Era),
    /// The engine with HTTP around every message, and many calls in flight.
    OverHttp(Era),
    Rmcp(Era),
}

impl Party {
    /// The floor is the first of its era.
    const ALL: [Self; 8] = [
        Self::Floor(Era::Legacy),
        Self::Engine(Era::Legacy),
        Self::OverHttp(Era::Legacy),
        Self::Rmcp(Era::Legacy),
        Self::Floor(Era::Modern),
        Self::Engine(Era::Modern),
        Self::OverHttp(Era::Modern),
        Self::Rmcp(Era::Modern),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Floor(Era::Legacy) => "JSON floor, legacy",
            Self::Floor(_) => "JSON floor, modern",
            Self::Engine(Era::Legacy) => "windlass, legacy",
            Self::Engine(_) => "windlass, modern",
            Self::OverHttp(Era::Legacy) => "windlass over HTTP, legacy",
            Self::OverHttp(_) => "windlass over HTTP, modern",
            Self::Rmcp(Era::Legacy) => "rmcp, legacy",
            Self::Rmcp(_) => "rmcp, modern",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|party| party.name() == name)
    }

    fn connected(self, payload: usize) -> Box<dyn RoundTrips> {
        match self {
            Self::Floor(era) => Box::new(floor::Floor::new(era, payload)),
            Self::Engine(era) => Box::new(engine::Echoing::connected(era, payload)),
            Self::OverHttp(era) => Box::new(over_http::Echoing::connected(era, payload)),
            Self::Rmcp(era) => Box::new(rmcp::Echoing::connected(era, payload)),
        }
    }
}

/// What one party needs for one round trip.
struct Figures {
    instructions: Option<f64>,
    micros: f64,
    allocations: f64,
    own_allocations: f64,
}

/// The role under valgrind: the name of a party, a payload and a number of round trips.
pub(crate) fn count_trips(case: &[&str]) {
    let [party, payload, count] = case else { panic!("a case is a party, a payload and a count") };
    let party = Party::named(party).expect("the party exists");
    party.connected(payload.parse().expect("a number")).run(count.parse().expect("a number"));
}

pub(crate) fn section(quick: bool, aims: &mut Aims) {
    println!("\n# core: round trips in one process, client and server\n");
    println!(
        "  floor: serde_json writes and reads the same two messages, payloads borrowed; rmcp: a tokio duplex on a"
    );
    println!("  current-thread runtime; allocations: all of a round trip, then those within the echo tool itself\n");
    if !instructions::can_be_counted() {
        println!("  valgrind is not installed: instructions are not counted\n");
    }
    for payload in PAYLOADS {
        let mut table =
            Table::new([&size(payload), "instructions", "× floor", "µs", "× floor", "allocations", "of the tool"]);
        let mut base = (None, 0.0);
        let mut engines = Vec::new();
        for party in Party::ALL {
            let figures = measure(party, payload, quick);
            if matches!(party, Party::Floor(_)) {
                base = (figures.instructions, figures.micros);
            }
            let ratio = figures.instructions.zip(base.0).map(|(count, base)| count / base);
            let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".into());
            table.row(vec![
                party.name().into(),
                or_dash(figures.instructions.map(grouped)),
                or_dash(ratio.map(|ratio| format!("{ratio:.2}"))),
                format!("{:.2}", figures.micros),
                format!("{:.2}", figures.micros / base.1),
                format!("{:.1}", figures.allocations),
                format!("{:.1}", figures.own_allocations),
            ]);
            if matches!(party, Party::Engine(_)) {
                engines.push((party, ratio, figures.allocations - figures.own_allocations));
            }
        }
        table.print();
        let limit = if payload == 64 { Some(1.25) } else { (payload == 256 * 1024).then_some(1.0) };
        for (party, ratio, allocations) in engines {
            if let (Some(limit), Some(ratio)) = (limit, ratio) {
                aims.at_most(&format!("{} instructions, {}", size(payload), party.name()), ratio, limit, "× floor");
            }
            let what = format!("{} allocations in the core that the program does not keep", size(payload));
            aims.at_most(&format!("{what}, {}", party.name()), allocations - KEPT, 0.0, "");
        }
        println!();
    }
}

fn measure(party: Party, payload: usize, quick: bool) -> Figures {
    let measured = Duration::from_millis(if quick { 100 } else { 400 });
    let instructions = instructions::per_trip(party.name(), payload, quick);
    let mut trips = party.connected(payload);
    trips.run(20);
    allocations::start_counting();
    let batch = if payload > 64 * 1024 { 1 } else { 64 };
    // The best of several slices: what disturbs a measurement only ever makes it slower.
    let slices = 8;
    let mut best = f64::INFINITY;
    let (mut total, counted, own) = (0_u64, allocations::count(), trips.own_allocations());
    for _ in 0..slices {
        let (mut in_slice, started) = (0_u64, Instant::now());
        while started.elapsed() < measured / slices {
            trips.run(batch);
            in_slice += batch as u64;
        }
        best = best.min(started.elapsed().as_secs_f64() * 1e6 / in_slice as f64);
        total += in_slice;
    }
    Figures {
        instructions,
        micros: best,
        allocations: (allocations::count() - counted) as f64 / total as f64,
        own_allocations: (trips.own_allocations() - own) as f64 / total as f64,
    }
}
