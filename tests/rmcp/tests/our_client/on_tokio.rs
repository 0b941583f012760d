//! The cases on tokio.

use windlass_tokio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/asynchronous.rs"]
mod words;

cases!();
cases_of_futures!();
