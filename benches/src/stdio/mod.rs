//! Calls between two processes, over the standard streams of one.
//!
//! Every party is measured with itself at both ends, in processes of their own, pinned to one core or to one each: an
//! unpinned latency measures the scheduler. The bare pipe carries lines as long as ours and looks for their ends only.

mod bare;
mod ours;
mod party;
mod report;
mod rmcp;
mod start;

use std::time::Duration;

use windlass::model::Era;

use crate::aims::Aims;
use crate::calls::measured::Measured;
use crate::calls::pinning::{Pinning, pin_to};
use crate::calls::{IN_FLIGHT, era_name};
use crate::{PAYLOADS, size};
use party::Party;
use report::Report;

/// What one run measures.
#[derive(Clone, Copy)]
struct Plan {
    pinning: Pinning,
    payload: usize,
    /// How long each phase takes: one call after the other, then many at once.
    phase: Duration,
    /// The era that ours speak.
    era: Era,
}

pub(crate) fn section(quick: bool, era: Era, pinnings: &[Pinning], aims: &mut Aims) {
    println!("\n# stdio: client and server in two processes\n");
    println!("  ours: {}; rmcp: legacy, its fastest; {IN_FLIGHT} in flight: futures, or threads", era_name(era));
    println!("  where there are no futures; CPU: client + server, of one call; writes: calls of write by both,");
    println!(
        "  wake-ups by eventfd included; the best of several runs. On one core, aims for many in flight are judged by\n  CPU time, which neighbours on the machine do not change\n"
    );
    for &pinning in pinnings {
        if let Err(why) = pinning.is_possible() {
            println!("  {}: {why}\n", pinning.name());
            continue;
        }
        for payload in PAYLOADS {
            let phase = Duration::from_millis(if quick { 150 } else { 400 });
            let report = Report::of(Plan { pinning, payload, phase, era }, if quick { 1 } else { 3 });
            report.print(&format!("{}, {}", size(payload), pinning.name()));
            report.judge(aims);
            println!();
        }
    }
}

/// The role of the process that calls: prints what it has measured.
pub(crate) fn client_role(case: &[&str]) {
    let (party, plan) = start::read_client_arguments(case);
    let measured: Measured = party.call(&plan);
    println!("{}", serde_json::to_string(&measured).expect("figures can be written"));
}

/// The role of the process that answers.
pub(crate) fn server_role(case: &[&str]) {
    let (party, core, response) = start::read_server_arguments(case);
    pin_to(core);
    party.answer(response);
}
