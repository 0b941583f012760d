//! All parties under one plan: their table, and what is aimed at.

use super::{Party, Plan, start};
use crate::aims::Aims;
use crate::calls::measured::Measured;
use crate::calls::pinning::Pinning;
use crate::size;
use crate::table::{Table, grouped};

pub(super) struct Report {
    plan: Plan,
    rows: Vec<(Party, Measured)>,
}

impl Report {
    /// Measures everybody this often, in turns, so that what disturbs for a while disturbs all.
    pub(super) fn of(plan: Plan, rounds: usize) -> Self {
        let round = || Party::ALL.map(|party| (party, start::measure(party, &plan)));
        let mut rows = round();
        for _ in 1..rounds {
            for (row, (_, again)) in rows.iter_mut().zip(round()) {
                row.1 = row.1.better(again);
            }
        }
        Self { plan, rows: rows.to_vec() }
    }

    fn of_party(&self, party: Party) -> &Measured {
        let row = self.rows.iter().find(|(measured, _)| *measured == party);
        row.map(|(_, measured)| measured).expect("everybody is measured")
    }

    pub(super) fn print(&self, title: &str) {
        let bare = self.of_party(Party::BarePipe);
        let mut table = Table::new([
            title,
            "p50 µs",
            "× bare",
            "p99 µs",
            "CPU µs",
            "writes",
            "in flight/s",
            "of bare",
            "CPU µs",
            "writes",
        ]);
        for (party, it) in &self.rows {
            table.row(vec![
                party.name().into(),
                format!("{:.1}", it.median),
                format!("{:.2}", it.median / bare.median),
                format!("{:.1}", it.slowest_percent),
                format!("{:.1} + {:.1}", it.sequential.client_cpu, it.sequential.server_cpu),
                format!("{:.1}", it.sequential.writes),
                grouped(it.rate),
                format!("{:.0} %", 100.0 * it.rate / bare.rate),
                format!("{:.1} + {:.1}", it.in_flight.client_cpu, it.in_flight.server_cpu),
                format!("{:.2}", it.in_flight.writes),
            ]);
        }
        table.print();
    }

    pub(super) fn judge(&self, aims: &mut Aims) {
        let bare = self.of_party(Party::BarePipe);
        let Plan { pinning, payload, .. } = self.plan;
        // On one core a call takes as long as both need the core for it. Unlike the clock, that count does not contain
        // the time in which others had the core.
        let rate = |it: &Measured| match pinning {
            Pinning::OneCore => 1e6 / (it.in_flight.client_cpu + it.in_flight.server_cpu),
            Pinning::TwoCores => it.rate,
        };
        let rmcp = rate(self.of_party(Party::RmcpBest)).max(rate(self.of_party(Party::RmcpDefault)));
        for (party, it) in self.rows.iter().filter(|(party, _)| party.is_ours()) {
            let what = |figure: &str| format!("{figure}, {}, {}, {}", size(payload), pinning.name(), party.name());
            let latency_limit = match pinning {
                Pinning::OneCore => 2.5,
                Pinning::TwoCores if party.is_asynchronous() => 1.3,
                Pinning::TwoCores => 1.15,
            };
            aims.at_most(&what("latency"), it.median / bare.median, latency_limit, "× bare pipe");
            match (payload, pinning) {
                (64, _) => aims.at_least(&what("in flight"), rate(it) / rmcp, 5.0, "× rmcp's best"),
                (262_144, Pinning::OneCore) => aims.at_least(&what("in flight"), rate(it) / rmcp, 2.0, "× rmcp's best"),
                (262_144, Pinning::TwoCores) => {
                    aims.at_least(&what("in flight"), 100.0 * it.rate / bare.rate, 85.0, "% of the bare pipe");
                }
                _ => {}
            }
        }
    }
}
