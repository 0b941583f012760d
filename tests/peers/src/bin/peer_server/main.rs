//! Our server, on the runtime that is named: `peer_server RUNTIME` on its standard streams, `peer_server RUNTIME ANSWERS`
//! over HTTP, where it says first where it is. ANSWERS are `json`, as long as nothing has to be said before one, or
//! `streams` always.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

windlass_test_runtimes::on_every_runtime! { "texts":
    mod served;

    pub(crate) use served::main as serve;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("async-std") => on_async_std::serve(),
        Some("blocking") => on_blocking::serve(),
        Some("mio") => on_mio::serve(),
        Some("smol") => on_smol::serve(),
        Some("tokio") => on_tokio::serve(),
        other => Err(format!("there is no runtime {other:?}").into()),
    }
}
