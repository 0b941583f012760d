//! The server of the tests, on plain threads.

use windlass_blocking as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/synchronous.rs"]
mod words;
#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    Ok(served::start()?.wait_closed()?)
}
