//! The server of the tests, on plain threads.

windlass_test_runtimes::on!(blocking);

#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    served::main()
}
