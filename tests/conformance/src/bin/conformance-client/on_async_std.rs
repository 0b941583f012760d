//! The client on async-std.

use windlass_async_std as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../words/asynchronous.rs"]
mod words;

scenarios!();
