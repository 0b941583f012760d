//! The server on mio.

use windlass_mio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../words/synchronous.rs"]
mod words;

fixture!();
