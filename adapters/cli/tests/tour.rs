//! What happens when nothing is typed.

#![cfg(unix)]

mod common;

use common::{RUNTIMES, windlass};

#[test]
fn the_tour_works_on_every_runtime() {
    for runtime in RUNTIMES {
        let run = windlass(&["--runtime", runtime]).expect(0);
        for part in [
            "protocol 2026-07-28 (modern)",
            "windlass-demo",
            "  countdown ",
            "  word_count ",
            "lift-off",
            "\"words\": 13",
        ] {
            assert!(run.stdout.contains(part), "{part} on {runtime}: {run:?}");
        }
        assert_eq!(run.stderr.matches("progress ").count(), 5, "{runtime}: {run:?}");
    }
}

#[test]
fn the_tour_speaks_the_legacy_era_too() {
    let run = windlass(&["--era", "legacy"]).expect(0);
    assert!(run.stdout.contains("protocol 2025-11-25 (legacy)"), "{run:?}");
}

#[test]
fn help_and_version_go_to_standard_output() {
    for words in [&["help"][..], &["--help"], &["call", "-h"]] {
        let run = windlass(words).expect(0);
        assert!(run.stdout.contains("usage") && run.stderr.is_empty(), "{run:?}");
    }
    assert_eq!(windlass(&["--version"]).expect(0).stdout, format!("windlass {}\n", env!("CARGO_PKG_VERSION")));
}
