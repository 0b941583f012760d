//! Calls between two processes, over Streamable HTTP on the loopback interface.
//!
//! Every party is measured with itself at both ends, in processes of their own, pinned to one core or to one each. The
//! bare socket carries as many bytes as ours and looks for their end only, on as many connections as there are calls.

mod bare;
mod ours;
mod party;
mod report;
mod rmcp;
mod start;

use std::time::Duration;

use windlass::model::Era;

use crate::aims::Aims;
use crate::calls::pinning::{Pinning, pin_to};
use crate::calls::{IN_FLIGHT, era_name};
use crate::size;
use party::Party;
use report::Report;

/// In bytes of the text that is echoed.
const PAYLOADS: [usize; 2] = [64, 4 * 1024];

/// What an answer is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// One JSON body.
    Json,
    /// A stream of one event.
    Events,
}

impl Answers {
    const BOTH: [Self; 2] = [Self::Json, Self::Events];

    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Events => "SSE",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|answers| answers.name() == name)
    }
}

/// What one run measures.
#[derive(Clone, Copy)]
struct Plan {
    pinning: Pinning,
    payload: usize,
    era: Era,
    answers: Answers,
    /// How long each phase takes: one call after the other, then many at once.
    phase: Duration,
}

pub(crate) fn section(quick: bool, era: Option<Era>, pinnings: &[Pinning], aims: &mut Aims) {
    println!("\n# http: client and server in two processes, on the loopback interface\n");
    println!(
        "  {IN_FLIGHT} in flight: futures, or threads where there are no futures; CPU: client + server, of one call;"
    );
    println!(
        "  writes: calls of write by both, wake-ups by eventfd included; the best of several runs. rmcp, tuned: a"
    );
    println!(
        "  current-thread runtime, connections that are kept, no delay, {IN_FLIGHT} requests at a time; default: as its"
    );
    println!(
        "  documentation begins. In the legacy era it answers with JSON only where there are no sessions. Aims are"
    );
    println!("  judged by the better of the two, and on one core by CPU time, which neighbours do not change\n");
    for &pinning in pinnings {
        if let Err(why) = pinning.is_possible() {
            println!("  {}: {why}\n", pinning.name());
            continue;
        }
        let eras = era.map_or(vec![Era::Legacy, Era::Modern], |only| vec![only]);
        for (era, answers) in eras.into_iter().flat_map(|era| Answers::BOTH.map(|answers| (era, answers))) {
            for payload in PAYLOADS {
                let phase = Duration::from_millis(if quick { 150 } else { 300 });
                let plan = Plan { pinning, payload, era, answers, phase };
                let report = Report::of(plan, if quick { 1 } else { 2 });
                report.print();
                report.judge(aims);
                println!();
            }
        }
    }
}

impl Plan {
    /// What it is about, in a few words.
    fn title(&self) -> String {
        let Self { pinning, payload, era, answers, .. } = self;
        format!("{}, {}, {}, {}", size(*payload), era_name(*era), answers.name(), pinning.name())
    }
}

/// The role of the process that calls: prints what it has measured.
pub(crate) fn client_role(case: &[&str]) {
    let (party, plan) = start::read_arguments(case);
    println!("{}", serde_json::to_string(&party.call(&plan)).expect("figures can be written"));
}

/// The role of the process that answers: prints where it is found, and goes on until it is ended.
pub(crate) fn server_role(case: &[&str]) {
    let (party, plan) = start::read_arguments(case);
    pin_to(plan.pinning.cores().1);
    party.answer(&plan);
}
