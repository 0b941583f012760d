//! The host kit: what every hosted platform shares for the Model Context Protocol, and no runtime has to do in its own
//! way. It holds four things, each in a folder whose page says in which order to read it:
//!
//! | folder | what |
//! |---|---|
//! | [`process`] | **processes**: [`Command`], [`Child`], their environment, standard error and end; our own standard streams |
//! | `net` | **the network**: [`HttpTarget`], [`HttpListener`], dialling, proxies, TLS |
//! | `auth` | **what was granted** (feature `auth`): stores in files and in keychains, shared by processes |
//! | `drive`, `handles` | **drivers and handles**: [`hub`] turns a machine; [`sync`] and [`asynchronous`] have clients and servers for threads and for futures |
//!
//! Below them are [`io`], the seam to the system; [`clock`] and [`entropy`], which the engine asks of its surroundings; and
//! `wait`, for what ends. Imports point from handles to drivers, from there to the network and to processes, and to those
//! below.
//!
//! An adapter adds one way to wait for an [`io::Pollable`]: a [`sync::Drive`] or an [`asynchronous::Runtime`].
//!
//! # Features
//!
//! | feature | by default | what it brings |
//! |---|---|---|
//! | `client` | yes | clients and their drivers; with `http`, dialling and proxies |
//! | `server` | yes | servers and their drivers, our own standard streams; with `http`, listening |
//! | `http` | yes | sockets, and Streamable HTTP on them |
//! | `tls` | yes | TLS on those sockets, by rustls with `ring`; brings `http` |
//! | `auth` | no | stores for what authorization grants; brings `http` |
//! | `keyring` | no | one of them in the keychain of the system; brings `auth` |
//! | `jwt` | no | servers that verify tokens themselves; brings `auth`, `server` and `tls` |
//! | `tracing` | no | what happens on connections, as events of `tracing` |
//! | `async-io` | no | the reactor that smol and async-std share |
//!
//! They combine freely, and there is at least one role. Adapters have the same, but for `keyring` and `async-io`.

#![cfg_attr(not(windows), forbid(unsafe_code))]
#![cfg_attr(windows, deny(unsafe_code))]
#![cfg_attr(not(unix), allow(dead_code, reason = "only processes are there yet"))]

#[cfg(not(any(feature = "client", feature = "server")))]
compile_error!("a program has at least one role: turn on the feature `client`, or `server`, or both");

#[cfg(feature = "auth")]
pub mod auth;
pub mod clock;
#[cfg(unix)]
mod drive;
#[cfg(any(feature = "server", feature = "http"))]
pub mod entropy;
#[cfg(unix)]
mod handles;
#[cfg(unix)]
pub mod io;
#[cfg(all(unix, feature = "http"))]
mod net;
pub mod process;
#[cfg(feature = "tracing")]
mod traces;
mod wait;

pub use clock::Clock;
#[cfg(unix)]
pub use drive::{
    endpoint::{Connector, Endpoint},
    hub,
};
#[cfg(any(feature = "server", feature = "http"))]
pub use entropy::seed;
#[cfg(all(unix, feature = "client", feature = "http"))]
pub use handles::challenge::Challenge;
#[cfg(all(unix, feature = "client", feature = "auth"))]
pub use handles::login::Login;
#[cfg(all(unix, feature = "server"))]
pub use handles::server::{
    context::{Cancellation, Context, ResourceRequest},
    serve_error::ServeError,
};
#[cfg(unix)]
pub use handles::{
    asynchronous,
    completion::{Completion, ProgressHandler, Token},
    error::Error,
    sync,
};
#[cfg(all(unix, feature = "client"))]
pub use handles::{canceller::Canceller, client::connect_error::ConnectError, closer::Closer};
#[cfg(all(unix, feature = "server", feature = "http"))]
pub use net::HttpListener;
#[cfg(all(unix, feature = "server", feature = "tls"))]
pub use net::ServerTls;
#[cfg(all(unix, feature = "tls"))]
pub use net::TlsError;
#[cfg(all(unix, feature = "client", feature = "tls"))]
pub use net::TlsOptions;
#[cfg(all(unix, feature = "client", feature = "http"))]
pub use net::{Carried, Carrier, DialOptions, HttpTarget, InvalidProxy, ProxySettings};
#[cfg(all(unix, feature = "server"))]
pub use process::own_stdio::{OutputPump, OwnStdio};
pub use process::{
    child::Child,
    command::Command,
    ladder::{Grace, Ladder, Step},
    spawn_error::SpawnError,
    stderr::StderrTail,
};
#[cfg(feature = "tracing")]
pub use traces::Tracing;
pub use wait::Shutdown;
