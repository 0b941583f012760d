//! The client on tokio.

use windlass_tokio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../words/asynchronous.rs"]
mod words;

scenarios!();
