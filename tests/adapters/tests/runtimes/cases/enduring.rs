//! Servers that pour out more than anybody wants to hear: the client keeps its memory and its head.

use std::process::Command;

use serde::Deserialize;

use super::OWN_SERVER;
use crate::peers::{BY_SCRIPT, SCRIPTED};

/// What a client may need beyond what it had when it was connected, in kilobytes: a message of the largest size fits
/// several times.
const BOUND: u64 = 64 * 1024;

/// Far more than the largest message that is allowed.
const LONG: usize = 100_000_000;

/// In one burst. `party_* endure scripted notifications=1000000` takes as many as one likes.
const NOTIFICATIONS: usize = 100_000;

/// What a client in a process of its own tells.
#[derive(Debug, Deserialize)]
struct Report {
    outcome: String,
    usable: bool,
    malformed: usize,
    notifications: usize,
    kilobytes: u64,
}

fn endure(fault: &str, size: usize) -> Report {
    let peer = BY_SCRIPT.tapped(&[SCRIPTED, &format!("{fault}={size}")], SCRIPTED);
    let output = Command::new(OWN_SERVER).arg("endure").args(peer).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.kilobytes < BOUND, "{report:?}");
    report
}

case!(a_line_of_any_length_is_skipped_in_bounded_memory, {
    let report = endure("long_line", LONG);
    assert_eq!(report.outcome, "the answer");
    assert_eq!(report.malformed, 1);
    assert!(report.usable);
});

case!(an_answer_that_is_too_long_fails_its_call_and_nothing_else, {
    let report = endure("long_answer", LONG);
    assert!(report.outcome.contains("too long"), "{report:?}");
    assert_eq!(report.malformed, 1);
    assert!(report.usable);
});

case!(a_line_that_never_ends_is_the_end_of_the_connection_when_the_server_exits, {
    let report = endure("endless_line", LONG);
    assert!(report.outcome.contains("closed the connection"), "{report:?}");
    assert_eq!(report.malformed, 1);
    assert!(!report.usable);
});

case!(a_burst_of_notifications_is_told_in_full_and_in_bounded_memory, {
    let report = endure("notifications", NOTIFICATIONS);
    assert_eq!(report.outcome, "the answer");
    assert_eq!((report.notifications, report.malformed), (NOTIFICATIONS, 0));
    assert!(report.usable);
});
