//! A client that does what one scenario of the conformance suite expects: `conformance-client --runtime R URL`. The
//! suite tells by environment variables which scenario it is.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod task;

use task::Task;
use windlass_conformance::arguments::{Arguments, Runtime};

/// The scenarios, in the words of one runtime.
macro_rules! scenarios {
    () => {
        #[path = "scenarios/asked.rs"]
        mod asked;
        #[path = "scenarios/connected.rs"]
        mod connected;
        #[path = "scenarios/headers.rs"]
        mod headers;
        #[path = "scenarios/perform.rs"]
        mod perform;
        #[path = "scenarios/schemas.rs"]
        mod schemas;

        pub(crate) use perform::main as perform;
    };
}

mod on_async_std;
mod on_blocking;
mod on_mio;
mod on_smol;
mod on_tokio;

/// What is printed when a scenario went as expected. The suite does not always look at the exit code; `run` looks for
/// this.
const DONE: &str = "done";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (runtime, url) = Arguments::read(std::env::args().skip(1))?.of_client()?;
    let task = Task::from_environment(url)?;
    match runtime {
        Runtime::AsyncStd => on_async_std::perform(task),
        Runtime::Blocking => on_blocking::perform(task),
        Runtime::Mio => on_mio::perform(task),
        Runtime::Smol => on_smol::perform(task),
        Runtime::Tokio => on_tokio::perform(task),
    }?;
    println!("{DONE}");
    Ok(())
}
