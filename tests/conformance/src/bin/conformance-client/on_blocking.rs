//! The client on plain threads.

use windlass_blocking as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../words/synchronous.rs"]
mod words;

scenarios!();
