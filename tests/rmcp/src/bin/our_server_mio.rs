//! The server of the tests, on mio.

windlass_test_runtimes::on!(mio);

#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    served::main()
}
