//! The same cases on every runtime. A case is written once, in the words of `src/words`; each file `on_*.rs` says what
//! they mean there.
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
mod watchdog;

/// What holds everywhere.
macro_rules! cases {
    () => {
        #[path = "cases/answering_wrongly.rs"]
        mod answering_wrongly;
        #[path = "cases/beginning_anew.rs"]
        mod beginning_anew;
        #[path = "cases/calling_back.rs"]
        mod calling_back;
        #[path = "cases/cancelling.rs"]
        mod cancelling;
        #[path = "cases/challenging.rs"]
        mod challenging;
        #[path = "cases/crowds.rs"]
        mod crowds;
        #[path = "cases/dying.rs"]
        mod dying;
        #[path = "cases/ending.rs"]
        mod ending;
        #[path = "cases/enduring.rs"]
        mod enduring;
        #[path = "cases/eras.rs"]
        mod eras;
        #[path = "cases/failing.rs"]
        mod failing;
        #[path = "cases/flooding.rs"]
        mod flooding;
        #[path = "cases/having_own.rs"]
        mod having_own;
        #[path = "cases/inputs.rs"]
        mod inputs;
        #[path = "cases/listening.rs"]
        mod listening;
        #[path = "cases/meeting.rs"]
        mod meeting;
        #[path = "cases/noise.rs"]
        mod noise;
        #[path = "cases/over_http.rs"]
        mod over_http;
        #[path = "cases/proxied.rs"]
        mod proxied;
        #[path = "cases/resting.rs"]
        mod resting;
        #[path = "../../src/served.rs"]
        mod served;
        #[path = "cases/serving.rs"]
        mod serving;
        #[path = "cases/sockets.rs"]
        mod sockets;
        #[path = "../../src/swarm.rs"]
        mod swarm;
        #[path = "cases/talking.rs"]
        mod talking;
        #[path = "cases/ugly_clients.rs"]
        mod ugly_clients;
        #[path = "cases/ugly_servers.rs"]
        mod ugly_servers;
    };
}

/// What holds where a call is a future.
macro_rules! cases_of_futures {
    () => {
        #[path = "cases/dropping.rs"]
        mod dropping;
        #[path = "cases/outliving.rs"]
        mod outliving;
    };
}

/// What holds where callbacks may call.
macro_rules! cases_of_threads {
    () => {
        #[path = "cases/leading.rs"]
        mod leading;
        #[path = "cases/limiting.rs"]
        mod limiting;
    };
}

mod mio_listeners;
mod mio_source;
mod on_async_std;
mod on_blocking;
mod on_mio;
mod on_smol;
mod on_tokio;
mod on_tokio_threads;
