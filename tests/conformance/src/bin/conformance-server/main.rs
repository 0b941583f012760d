//! The fixture of the conformance suite: `conformance-server --runtime R --listen 127.0.0.1:PORT`. Port 0 lets the
//! system choose; the URL is printed either way.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod material;

use windlass_conformance::arguments::{Arguments, Runtime};

/// What the server offers, in the words of one runtime.
macro_rules! fixture {
    () => {
        #[path = "fixture/asking.rs"]
        mod asking;
        #[path = "fixture/changing.rs"]
        mod changing;
        #[path = "fixture/legacy_asking.rs"]
        mod legacy_asking;
        #[path = "fixture/offers.rs"]
        mod offers;
        #[path = "fixture/serve.rs"]
        mod serve;
        #[path = "fixture/telling.rs"]
        mod telling;
        #[path = "fixture/tools.rs"]
        mod tools;

        pub(crate) use serve::main as serve;
    };
}

mod on_async_std;
mod on_blocking;
mod on_mio;
mod on_smol;
mod on_tokio;

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
