//! The cases on async-std.

use windlass_async_std as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/asynchronous.rs"]
mod words;

cases!();
cases_of_futures!();
