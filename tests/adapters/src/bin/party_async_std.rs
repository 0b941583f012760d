//! A party to a conversation on async-std.

windlass_test_runtimes::on!(async_std);

#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
