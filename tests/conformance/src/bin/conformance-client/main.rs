//! A client that does what one scenario of the conformance suite expects: `conformance-client --runtime R URL`. The
//! suite tells by environment variables which scenario it is.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod browser;
mod task;

use task::Task;
use windlass_conformance::arguments::{Arguments, Runtime};

/// What a client does in one scenario.
macro_rules! scenario {
    ($name:ident, |$task:ident| $body:block) => {
        step!($name($task: &crate::task::Task) -> Result<(), Box<dyn std::error::Error>>, $body);
    };
}

windlass_test_runtimes::on_every_runtime! { "scenarios":
    mod asked;
    mod authorized;
    mod connected;
    mod headers;
    mod perform;
    mod schemas;

    pub(crate) use perform::main as perform;
}

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
