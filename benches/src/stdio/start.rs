//! Starting the two processes, and what they tell each other on their command lines.

use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{Party, Plan};
use crate::calls::measured::Measured;
use crate::calls::pinning::{Pinning, pin_to};
use crate::calls::{era_name, era_named};
use crate::in_process::engine::Pair;

/// A server that this process has started. All parties get theirs in the same way.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Started {
    /// Pins this process and starts the server beside it.
    pub(super) fn new(party: Party, plan: &Plan) -> Self {
        let (own_core, core_of_server) = plan.pinning.cores();
        pin_to(own_core);
        let response = Pair::wire_lengths(plan.era, plan.payload).to_client;
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["stdio-server", party.name(), &core_of_server.to_string(), &response.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        Self { child, input, output }
    }
}

/// Measures one party in a process of its own.
pub(super) fn measure(party: Party, plan: &Plan) -> Measured {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["stdio-client", party.name(), plan.pinning.name(), &plan.payload.to_string()])
        .args([&plan.phase.as_millis().to_string(), era_name(plan.era)])
        .stderr(Stdio::inherit())
        .output()
        .expect("the client starts");
    assert!(output.status.success(), "the client of {} failed", party.name());
    serde_json::from_slice(&output.stdout).expect("the client prints figures")
}

pub(super) fn read_client_arguments(case: &[&str]) -> (Party, Plan) {
    let [party, pinning, payload, phase, era] = case else {
        panic!("a case is a party, a pinning, a payload, a time and an era")
    };
    let plan = Plan {
        pinning: Pinning::named(pinning).expect("the pinning exists"),
        payload: payload.parse().expect("a number"),
        phase: Duration::from_millis(phase.parse().expect("a number")),
        era: era_named(era),
    };
    (Party::named(party).expect("the party exists"), plan)
}

pub(super) fn read_server_arguments(case: &[&str]) -> (Party, usize, usize) {
    let [party, core, response] = case else { panic!("a case is a party, a core and a length") };
    let number = |text: &str| text.parse().expect("a number");
    (Party::named(party).expect("the party exists"), number(core), number(response))
}
