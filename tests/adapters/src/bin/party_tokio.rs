//! A party to a conversation on tokio.

windlass_test_runtimes::on!(tokio);

#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
