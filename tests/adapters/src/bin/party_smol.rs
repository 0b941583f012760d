//! A party to a conversation on smol.

use windlass_smol as adapter;

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
    pub(super) use smol::spawn;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
