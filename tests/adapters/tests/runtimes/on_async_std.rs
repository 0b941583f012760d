//! The cases on async-std.

use windlass_async_std as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/asynchronous.rs"]
mod words;

/// What this is called.
const RUNTIME: &str = "async_std";

/// The server that runs on the same runtime.
const OWN_SERVER: &str = crate::peers::PARTY_ASYNC_STD;

/// Whether connections are driven on when the run that they were made in has ended.
const GOES_ON: bool = true;

mod runtime {
    pub(super) use super::adapter::run;
    pub(super) use async_std::task::spawn;
}

cases!();
cases_of_futures!();
