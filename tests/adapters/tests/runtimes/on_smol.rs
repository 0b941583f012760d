//! The cases on smol.

use windlass_smol as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/asynchronous.rs"]
mod words;

/// What this is called.
const RUNTIME: &str = "smol";

/// The server that runs on the same runtime.
const OWN_SERVER: &str = crate::peers::PARTY_SMOL;

/// Whether connections are driven on when the run that they were made in has ended.
const GOES_ON: bool = true;

mod runtime {
    pub(super) use super::adapter::run;
    pub(super) use smol::spawn;
}

cases!();
cases_of_futures!();
