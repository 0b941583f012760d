//! Many who listen cost little. `party_mio listeners 10000` does the same with as many as one likes.

use std::process::Command;

use windlass_tests::watchdog::within_deadline;

use crate::peers::PARTY_MIO;

/// Two for each of the test's processes have to fit into what a process may have open.
const LISTENERS: u64 = 2_000;

/// A connection, its buffers, its timer and its request.
const BYTES_EACH: u64 = 16 * 1024;

#[test]
fn a_server_on_mio_serves_while_thousands_listen() {
    within_deadline(|| {
        let output = Command::new(PARTY_MIO).args(["listeners", &LISTENERS.to_string()]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        println!("{report}");
        assert!(report["bytes_each"].as_u64().unwrap() < BYTES_EACH, "{report}");
        assert!(report["microseconds_of_a_call"].as_u64().unwrap() < 50_000, "{report}");
    });
}
