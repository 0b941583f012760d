//! Our client and our protected server, authorized by `oidc-provider`: `oauth RUNTIME CASE ISSUER`, or
//! `oauth RUNTIME serve ISSUER TOKENS`, a server that says first where it is.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod task;
mod user;

use task::Task;
use windlass_oauth_tests::Outcome;

/// What is done in one case.
macro_rules! scene {
    ($name:ident, |$task:ident| $body:block) => {
        step!($name($task: &crate::task::Task) -> windlass_oauth_tests::Outcome, $body);
    };
}

windlass_test_runtimes::on_every_runtime! { "texts":
    mod cases;
    mod client;
    mod server;
    mod shared;

    pub(crate) use cases::main as perform;
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [runtime, case, rest @ ..] = &arguments[..] else {
        return Err("usage: oauth RUNTIME CASE ISSUER".into());
    };
    let task = Task::new(runtime, case, rest)?;
    match runtime.as_str() {
        "async-std" => on_async_std::perform(task),
        "blocking" => on_blocking::perform(task),
        "mio" => on_mio::perform(task),
        "smol" => on_smol::perform(task),
        "tokio" => on_tokio::perform(task),
        other => Err(format!("there is no runtime `{other}`").into()),
    }
}
