//! A server, or an idle client, on async-std.

use windlass_async_std as adapter;

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
