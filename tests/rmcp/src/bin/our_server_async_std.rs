//! The server of the tests, on async-std.

windlass_test_runtimes::on!(async_std);

#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    served::main()
}
