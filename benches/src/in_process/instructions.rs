//! Instructions of one round trip, counted by callgrind: this program runs a case with N trips and with 2 N, and the
//! difference is theirs alone.

use std::process::{Command, Stdio};

/// Whether valgrind is there.
pub(super) fn can_be_counted() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Instructions of one round trip; nothing without valgrind.
pub(super) fn per_trip(party: &str, payload: usize, quick: bool) -> Option<f64> {
    let trips = match (payload > 64 * 1024, quick) {
        (false, false) => 300,
        (false, true) => 60,
        (true, false) => 10,
        (true, true) => 3,
    };
    let once = counted(party, payload, trips)?;
    let twice = counted(party, payload, 2 * trips)?;
    Some((twice as f64 - once as f64) / trips as f64)
}

/// Instructions of a whole process that makes this many round trips.
fn counted(party: &str, payload: usize, trips: usize) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["count-trips", party, &payload.to_string(), &trips.to_string()])
        .stdout(Stdio::null())
        .output()
        .ok()?;
    // ==123== Collected : 4567
    let report = String::from_utf8_lossy(&output.stderr);
    let collected = report.lines().find_map(|line| line.split_once("Collected :"))?.1;
    collected.trim().parse().ok()
}
