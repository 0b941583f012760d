//! The fixture of the conformance suite: `conformance-server --runtime R --listen 127.0.0.1:PORT`. Port 0 lets the
//! system choose; the URL is printed either way.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod material;

use windlass_conformance::arguments::{Arguments, Runtime};

windlass_test_runtimes::on_every_runtime! { "fixture":
    mod asking;
    mod changing;
    mod legacy_asking;
    mod offers;
    mod serve;
    mod telling;
    mod tools;

    pub(crate) use serve::main as serve;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (runtime, address) = Arguments::read(std::env::args().skip(1))?.of_server()?;
    match runtime {
        Runtime::AsyncStd => on_async_std::serve(address),
        Runtime::Blocking => on_blocking::serve(address),
        Runtime::Mio => on_mio::serve(address),
        Runtime::Smol => on_smol::serve(address),
        Runtime::Tokio => on_tokio::serve(address),
    }
}
