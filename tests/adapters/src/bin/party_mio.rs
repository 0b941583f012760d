//! A party to a conversation on mio.

use windlass_mio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/synchronous.rs"]
mod words;
#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
