//! The server of the tests, on async-std.

use windlass_async_std as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/asynchronous.rs"]
mod words;
#[path = "../served.rs"]
mod served;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    adapter::run(async { served::start()?.wait_closed().await.map_err(Into::into) })
}
