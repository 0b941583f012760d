//! The server of the tests, on smol.

windlass_test_runtimes::on!(smol);

#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    served::main()
}
