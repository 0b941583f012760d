//! The client on smol.

use windlass_smol as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../words/asynchronous.rs"]
mod words;

scenarios!();
