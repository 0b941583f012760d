//! All parties under one plan: their table, and what is aimed at.

use super::{Party, Plan, start};
use crate::aims::Aims;
use crate::calls::measured::{Measured, PerCall};
use crate::calls::pinning::Pinning;
use crate::table::{Table, grouped};

pub(super) struct Report {
    plan: Plan,
    rows: Vec<(Party, Measured)>,
}

/// What is compared.
struct Figures {
    /// Microseconds of a call, one after the other.
    latency: f64,
    /// Calls in a second, with many at once.
    rate: f64,
    /// Microseconds of processor time of a call, with many at once.
    cpu: f64,
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

    pub(super) fn print(&self) {
        let title = self.plan.title();
        let mut table = Table::new([&title, "p50 µs", "p99 µs", "CPU µs", "writes", "in flight/s", "CPU µs", "writes"]);
        for (party, it) in &self.rows {
            let cpu = |cost: &PerCall| format!("{:.1} + {:.1}", cost.client_cpu, cost.server_cpu);
            table.row(vec![
                party.name().into(),
                format!("{:.1}", it.median),
                format!("{:.1}", it.slowest_percent),
                cpu(&it.sequential),
                format!("{:.1}", it.sequential.writes),
                grouped(it.rate),
                cpu(&it.in_flight),
                format!("{:.2}", it.in_flight.writes),
            ]);
        }
        table.print();
    }

    pub(super) fn judge(&self, aims: &mut Aims) {
        let (tuned, default) = (self.figures(Party::RmcpTuned), self.figures(Party::RmcpDefault));
        let rmcp = Figures {
            latency: tuned.latency.min(default.latency),
            rate: tuned.rate.max(default.rate),
            cpu: tuned.cpu.min(default.cpu),
        };
        for party in Party::ALL.into_iter().filter(|party| party.is_ours()) {
            let ours = self.figures(party);
            let what = |figure: &str| format!("{figure}, {}, {}", self.plan.title(), party.name());
            aims.at_least(&what("in flight"), ours.rate / rmcp.rate, 5.0, "× rmcp's best");
            aims.at_most(&what("latency"), ours.latency / rmcp.latency, 0.333, "× rmcp's best");
            aims.at_most(&what("CPU"), ours.cpu / rmcp.cpu, 0.333, "× rmcp's best");
        }
    }

    fn figures(&self, party: Party) -> Figures {
        let row = self.rows.iter().find(|(measured, _)| *measured == party);
        let it = row.map(|(_, measured)| measured).expect("everybody is measured");
        let cpu = it.in_flight.client_cpu + it.in_flight.server_cpu;
        // On one core a call takes as long as both need the core for it. Unlike the clock, that count does not contain
        // the time in which others had the core.
        let rate = match self.plan.pinning {
            Pinning::OneCore => 1e6 / cpu,
            Pinning::TwoCores => it.rate,
        };
        Figures { latency: it.median, rate, cpu }
    }
}
