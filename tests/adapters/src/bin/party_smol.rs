//! A server, or an idle client, on smol.

use windlass_smol as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/asynchronous.rs"]
mod words;
#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
