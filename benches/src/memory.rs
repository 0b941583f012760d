//! Live heap of connected pairs that do nothing, and of those that once had much to do.

use std::time::Duration;

use windlass::model::Era;

use crate::aims::Aims;
use crate::allocations;
use crate::in_process::engine::{EchoParams, Pair};
use crate::in_process::rmcp;
use crate::table::{Table, grouped};

/// The call that makes buffers grow.
const LARGE: usize = 256 * 1024;

/// How long buffers may stay large when nothing happens.
const QUIET: Duration = Duration::from_secs(1);

/// The most that an idle pair should hold, in bytes.
const IDLE_AIM: f64 = 4096.0;

/// Bytes for each pair: just connected, after a quiet second, and after one large call and another.
struct Heap {
    connected: f64,
    idle: f64,
    after_call: f64,
}

pub(crate) fn section(quick: bool, aims: &mut Aims) {
    println!("\n# memory: live heap of an idle pair in one process, client and server, in bytes\n");
    allocations::start_counting();
    let mut table =
        Table::new(["", "pairs", "just connected", "after a quiet second", "after a 256 KiB call and another"]);
    let mut row = |name: &str, pairs: usize, heap: &Heap| {
        let figures = [pairs as f64, heap.connected, heap.idle, heap.after_call].map(grouped);
        table.row([name.to_owned()].into_iter().chain(figures).collect());
    };
    let sizes: &[usize] = if quick { &[1_000] } else { &[1_000, 10_000] };
    let mut ours = Vec::new();
    for &pairs in sizes {
        for (name, era) in [("windlass, legacy", Era::Legacy), ("windlass, modern", Era::Modern)] {
            let heap = of_engine(era, pairs);
            row(name, pairs, &heap);
            ours.push((format!("{name}, {pairs} pairs"), heap));
        }
    }
    row("rmcp, legacy", 1_000, &of_rmcp(Era::Legacy, 1_000));
    row("rmcp, modern", 1_000, &of_rmcp(Era::Modern, 1_000));
    table.print();
    println!("  (a client and a server of ours are {} bytes of that before they allocate)", size_of::<Pair>());
    for (name, heap) in ours {
        aims.at_most(&format!("idle heap, {name}"), heap.idle, IDLE_AIM, "bytes");
        aims.at_most(&format!("heap after a 256 KiB call, {name}"), heap.after_call, IDLE_AIM, "bytes");
    }
}

fn of_engine(era: Era, count: usize) -> Heap {
    let params = EchoParams::new(LARGE);
    let before = allocations::live_bytes();
    let mut pairs = Vec::with_capacity(count);
    pairs.extend((0..count).map(|_| Pair::connected(era)));
    let connected = per_pair(before, count);
    pairs.iter_mut().for_each(|pair| pair.rest(QUIET));
    let idle = per_pair(before, count);
    for pair in &mut pairs {
        pair.round_trip(&params);
        pair.rest(QUIET);
    }
    Heap { connected, idle, after_call: per_pair(before, count) }
}

fn of_rmcp(era: Era, count: usize) -> Heap {
    let params = rmcp::echo_params(LARGE);
    let runtime = rmcp::current_thread();
    let before = allocations::live_bytes();
    runtime.block_on(async {
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push(rmcp::pair(era).await);
        }
        let connected = per_pair(before, count);
        tokio::time::sleep(QUIET).await;
        let idle = per_pair(before, count);
        for (client, _) in &pairs {
            rmcp::round_trip(client, &params).await;
        }
        tokio::time::sleep(QUIET).await;
        Heap { connected, idle, after_call: per_pair(before, count) }
    })
}

fn per_pair(before: i64, pairs: usize) -> f64 {
    (allocations::live_bytes() - before) as f64 / pairs as f64
}
