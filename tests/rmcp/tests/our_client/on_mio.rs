//! The cases on mio's ready-made loop.

use windlass_mio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/synchronous.rs"]
mod words;

cases!();
