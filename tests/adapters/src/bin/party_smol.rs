//! A party to a conversation on smol.

windlass_test_runtimes::on!(smol);

#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
