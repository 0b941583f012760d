//! A server, or an idle client, on plain threads.

use windlass_blocking as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/synchronous.rs"]
mod words;
#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
