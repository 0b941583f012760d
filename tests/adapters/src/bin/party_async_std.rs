//! A party to a conversation on async-std.

use windlass_async_std as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/asynchronous.rs"]
mod words;
#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

mod runtime {
    pub(super) use async_std::task::spawn;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
