//! The same cases on every runtime. A case is written once, in the words of `windlass-test-runtimes`.
#![cfg(unix)]
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod certificates;
mod changing_server;
mod connect_proxy;
mod http_party;
mod http_server;
mod peers;
mod porter;
mod processes;
mod tls_server;

/// All cases on one runtime, and the server that runs there.
macro_rules! cases {
    ($runtime:ident, $own_server:ident) => {
        windlass_test_runtimes::on!($runtime);

        /// What this is called.
        const RUNTIME: &str = stringify!($runtime);

        /// The server that runs on the same runtime.
        const OWN_SERVER: &str = crate::peers::$own_server;

        mod answering_wrongly;
        mod calling_back;
        mod cancelling;
        mod challenging;
        mod crowds;
        mod dying;
        mod ending;
        mod enduring;
        mod eras;
        mod failing;
        mod flooding;
        mod having_own;
        mod inputs;
        mod listening;
        mod meeting;
        mod noise;
        mod observing;
        mod over_http;
        mod protecting;
        mod proxied;
        mod reinitializing;
        mod resting;
        #[path = "../../../src/served.rs"]
        mod served;
        mod serving;
        mod sockets;
        #[path = "../../../src/swarm.rs"]
        mod swarm;
        mod talking;
        mod ugly_clients;
        mod ugly_servers;

        of_futures! {
            mod dropping;
            mod outliving;
        }

        of_threads! {
            mod leading;
            mod limiting;
        }
    };
}

mod mio_listeners;
mod mio_source;

#[path = "cases"]
mod on_async_std {
    cases!(async_std, PARTY_ASYNC_STD);
}
#[path = "cases"]
mod on_blocking {
    cases!(blocking, PARTY_BLOCKING);
}
#[path = "cases"]
mod on_mio {
    cases!(mio, PARTY_MIO);
}
#[path = "cases"]
mod on_smol {
    cases!(smol, PARTY_SMOL);
}
#[path = "cases"]
mod on_tokio {
    cases!(tokio, PARTY_TOKIO);
}
#[path = "cases"]
mod on_tokio_threads {
    cases!(tokio_threads, PARTY_TOKIO);
}
