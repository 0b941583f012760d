//! Starting the two processes, and what they tell each other on their command lines.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Answers, Party, Plan};
use crate::calls::measured::Measured;
use crate::calls::pinning::{Pinning, pin_to};
use crate::calls::{era_name, era_named};

/// A server that this process has started, and ends when it is dropped.
pub(super) struct Started {
    child: Child,
    pub(super) url: String,
}

impl Started {
    /// Starts the server, and pins this process beside it.
    pub(super) fn new(party: Party, plan: &Plan) -> Self {
        let mut child = role("http-server", party, plan).stdout(Stdio::piped()).spawn().expect("the server starts");
        // The server finds its core among those that this process may use: pinned before, there would be one.
        let output = child.stdout.take().expect("it was asked for");
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).expect("the server says where it is");
        pin_to(plan.pinning.cores().0);
        Self { child, url: url.trim_end().into() }
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.child.kill().expect("the server lives");
        self.child.wait().expect("the server ends");
    }
}

/// Measures one party in a process of its own.
pub(super) fn measure(party: Party, plan: &Plan) -> Measured {
    let output = role("http-client", party, plan).stderr(Stdio::inherit()).output().expect("the client starts");
    assert!(output.status.success(), "the client of {} failed", party.name());
    serde_json::from_slice(&output.stdout).expect("the client prints figures")
}

fn role(name: &str, party: Party, plan: &Plan) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([name, party.name(), plan.pinning.name(), &plan.payload.to_string(), era_name(plan.era)]);
    command.args([plan.answers.name(), &plan.phase.as_millis().to_string()]);
    command
}

pub(super) fn read_arguments(case: &[&str]) -> (Party, Plan) {
    let [party, pinning, payload, era, answers, phase] = case else {
        panic!("a case is a party, a pinning, a payload, an era, a kind of answer and a time")
    };
    let plan = Plan {
        pinning: Pinning::named(pinning).expect("the pinning exists"),
        payload: payload.parse().expect("a number"),
        era: era_named(era),
        answers: Answers::named(answers).expect("the kind of answer exists"),
        phase: Duration::from_millis(phase.parse().expect("a number")),
    };
    (Party::named(party).expect("the party exists"), plan)
}
