//! [Windlass](windlass), the Model Context Protocol engine, on smol.
//!
//! ```no_run
//! use windlass_smol::{Client, Command};
//!
//! async fn example() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::connect(Command::new("my-server")).await?;
//!     for tool in client.list_tools().await? {
//!         println!("{}", tool.name);
//!     }
//!     client.close().await;
//!     Ok(())
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     windlass_smol::run(example())
//! }
//! ```
//!
//! Connections are driven by one task each: on the thread that [`run`] runs on, or on smol's global executor if they are
//! made elsewhere. Every handle is `Send` and `Sync`.
//!
//! # Features
//!
//! | feature | by default | what it brings |
//! |---|---|---|
//! | `client` | yes | clients |
//! | `server` | yes | servers |
//! | `http` | yes | Streamable HTTP for either |
//! | `tls` | yes | HTTP over TLS, by rustls with `ring`; brings `http` |
//! | `auth` | no | authorization for either; brings `http` |
//! | `jwt` | no | servers that verify tokens themselves; brings `auth`, `server` and `tls` |
//! | `tracing` | no | what happens on connections, as events of `tracing` |
//!
//! They combine freely, and there is at least one role.

#![cfg(unix)]
#![forbid(unsafe_code)]

use std::future::Future;
use std::io;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use windlass_host::asynchronous::{self, BoxFuture, Direction, Runtime, async_io, own_thread};
use windlass_host::io::Pollable;

#[cfg(all(feature = "server", feature = "auth"))]
pub use windlass::auth::{Principal, ProtectedResource, TokenRejected};
#[cfg(feature = "client")]
pub use windlass::client;
#[cfg(all(feature = "client", feature = "http"))]
pub use windlass::link::http::HttpClientConfig;
#[cfg(all(feature = "server", feature = "http"))]
pub use windlass::link::http::HttpServerConfig;
pub use windlass::model;
#[cfg(feature = "server")]
pub use windlass::server::{self, HandlerError};
pub use windlass::{CallError, CloseReason, Json, Limits, Observation, Observer, RpcError, SendError};
#[cfg(all(feature = "server", feature = "http"))]
pub use windlass_host::HttpListener;
#[cfg(all(feature = "server", feature = "tls"))]
pub use windlass_host::ServerTls;
#[cfg(all(feature = "client", feature = "tls"))]
pub use windlass_host::TlsOptions;
#[cfg(feature = "tracing")]
pub use windlass_host::Tracing;
#[cfg(all(feature = "server", feature = "auth"))]
pub use windlass_host::auth::Verifier;
#[cfg(feature = "jwt")]
pub use windlass_host::auth::{IntrospectionVerifier, JwtVerifier};
#[cfg(feature = "client")]
pub use windlass_host::{Canceller, Closer, ConnectError};
#[cfg(all(feature = "client", feature = "http"))]
pub use windlass_host::{Challenge, DialOptions, HttpTarget, ProxySettings};
pub use windlass_host::{Command, Connector, Endpoint, Error, Grace};
#[cfg(feature = "server")]
pub use windlass_host::{Context, ResourceRequest, ServeError};
/// The engine and the host kit beneath, for what is not named here: the types of observations, carriers of requests.
pub use {windlass, windlass_host as host};

/// The runtime, as far as Windlass is concerned.
#[derive(Debug)]
pub enum Smol {}

/// A connected client.
#[cfg(feature = "client")]
pub type Client = asynchronous::Client<Smol>;
/// Sets up a client.
#[cfg(feature = "client")]
pub type ClientBuilder = asynchronous::ClientBuilder<Smol>;
/// A running server.
#[cfg(feature = "server")]
pub type Server = asynchronous::Server<Smol>;
/// Fills a server and starts it.
#[cfg(feature = "server")]
pub type ServerBuilder = asynchronous::ServerBuilder<Smol>;
#[cfg(feature = "client")]
pub use asynchronous::Subscription;

/// Runs a future to its end, for programs that are not asynchronous otherwise.
///
/// Connections that are made by it, with their handlers, are driven on this thread meanwhile, which is the shortest way
/// for their messages. What is left of them at the end goes on on smol's global executor.
pub fn run<V>(future: impl Future<Output = V>) -> V {
    smol::block_on(own_thread::run(future, |rest| smol::spawn(rest).detach()))
}

impl Runtime for Smol {
    type Watched = async_io::Watched;

    fn watch(stream: Pollable, direction: Direction) -> io::Result<Self::Watched> {
        async_io::watch(stream, direction)
    }

    fn poll_io(
        watched: &Self::Watched,
        direction: Direction,
        context: &mut TaskContext<'_>,
        operation: &mut dyn FnMut() -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        async_io::poll_io(watched, direction, context, operation)
    }

    fn sleep_until(instant: Instant) -> BoxFuture<()> {
        async_io::sleep_until(instant)
    }

    fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        if let Err(future) = own_thread::spawn(future) {
            smol::spawn(future).detach();
        }
    }
}
