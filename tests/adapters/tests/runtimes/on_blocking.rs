//! The cases on plain threads.

use windlass_blocking as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/synchronous.rs"]
mod words;

/// What this is called.
const RUNTIME: &str = "blocking";

/// The server that runs on the same runtime.
const OWN_SERVER: &str = crate::peers::PARTY_BLOCKING;

cases!();
cases_of_threads!();
