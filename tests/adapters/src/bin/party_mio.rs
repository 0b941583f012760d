//! A party to a conversation on mio.

windlass_test_runtimes::on!(mio);

#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
