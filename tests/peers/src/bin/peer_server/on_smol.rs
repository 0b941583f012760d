//! The server on smol.

use windlass_smol as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../words/asynchronous.rs"]
mod words;
#[path = "served.rs"]
mod served;

pub(crate) use served::main as serve;
