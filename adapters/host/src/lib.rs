//! The host kit: what every hosted platform shares for the Model Context Protocol, and no runtime has to do in its own
//! way. It holds three things, each in a folder whose page says in which order to read it:
//!
//! | folder | what |
//! |---|---|
//! | [`process`] | **processes**: [`Command`], [`Child`], their environment, standard error and end; our own standard streams |
//! | `net` | **the network**: [`HttpTarget`], [`HttpListener`], dialling, proxies, TLS |
//! | `drive`, `handles` | **drivers and handles**: [`hub`] turns a machine; [`sync`] and [`asynchronous`] have clients and servers for threads and for futures |
//!
//! Below them are [`io`], the seam to the system; [`clock`] and [`entropy`], which the engine asks of its surroundings; and
//! `wait`, for what ends. Imports point from handles to drivers, from there to the network and to processes, and to those
//! below.
//!
//! An adapter adds one way to wait for an [`io::Pollable`]: a [`sync::Drive`] or an [`asynchronous::Runtime`].

#![cfg_attr(not(windows), forbid(unsafe_code))]
#![cfg_attr(windows, deny(unsafe_code))]
#![cfg_attr(not(unix), allow(dead_code, reason = "only processes are there yet"))]

pub mod clock;
#[cfg(unix)]
mod drive;
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
pub use entropy::seed;
#[cfg(all(unix, feature = "http"))]
pub use handles::challenge::Challenge;
#[cfg(unix)]
pub use handles::{
    asynchronous,
    canceller::Canceller,
    closer::Closer,
    completion::{Completion, ProgressHandler, Token},
    error::{ConnectError, Error, ServeError},
    server::context::{Cancellation, Context, ResourceRequest},
    sync,
};
#[cfg(all(unix, feature = "http"))]
pub use net::{Carried, Carrier, DialOptions, HttpListener, HttpTarget, InvalidProxy, ProxySettings};
#[cfg(all(unix, feature = "tls"))]
pub use net::{ServerTls, TlsError, TlsOptions};
#[cfg(unix)]
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
pub use wait::Ending;
