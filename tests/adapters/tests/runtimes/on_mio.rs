//! The cases on mio's ready-made loop.

use windlass_mio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/synchronous.rs"]
mod words;

/// What this is called.
const RUNTIME: &str = "mio";

/// The server that runs on the same runtime.
const OWN_SERVER: &str = crate::peers::PARTY_MIO;

cases!();
cases_of_threads!();
