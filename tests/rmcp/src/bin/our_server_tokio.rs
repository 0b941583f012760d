//! The server of the tests, on tokio.

windlass_test_runtimes::on!(tokio);

#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    served::main()
}
