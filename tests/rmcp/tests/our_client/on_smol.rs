//! The cases on smol.

use windlass_smol as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/asynchronous.rs"]
mod words;

cases!();
cases_of_futures!();
