//! The cases on plain threads.

use windlass_blocking as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/synchronous.rs"]
mod words;

cases!();
