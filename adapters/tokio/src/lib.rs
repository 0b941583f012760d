//! [Windlass](windlass), the Model Context Protocol engine, on tokio.
//!
//! ```no_run
//! use windlass_tokio::{Client, Command};
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
//!     windlass_tokio::run(example())
//! }
//! ```
//!
//! It runs on either flavour of tokio's runtime, whose time and I/O must be enabled. Every handle is `Send` and `Sync`;
//! each connection is driven by one task, on the runtime that it was made on. When that is shut down, the connection is
//! closed, and whoever still waits for it on another runtime is told so. While a runtime on one thread is not run, as
//! between two calls of its `block_on`, its connections stand still, time-outs included.
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

mod watched;

use std::future::Future;
use std::io;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use windlass_host::asynchronous::{self, BoxFuture, Direction, Runtime};
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
pub enum Tokio {}

/// A connected client.
#[cfg(feature = "client")]
pub type Client = asynchronous::Client<Tokio>;
/// Sets up a client.
#[cfg(feature = "client")]
pub type ClientBuilder = asynchronous::ClientBuilder<Tokio>;
/// A running server.
#[cfg(feature = "server")]
pub type Server = asynchronous::Server<Tokio>;
/// Fills a server and starts it.
#[cfg(feature = "server")]
pub type ServerBuilder = asynchronous::ServerBuilder<Tokio>;
#[cfg(feature = "client")]
pub use asynchronous::Subscription;
pub use watched::Watched;

/// Runs a future to its end on a runtime of its own, for programs that have none.
///
/// # Panics
///
/// When the system has no descriptors left for a runtime.
pub fn run<V>(future: impl Future<Output = V>) -> V {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap_or_else(|error| panic!("tokio cannot start: {error}")).block_on(future)
}

impl Runtime for Tokio {
    type Watched = Watched;

    fn watch(stream: Pollable, direction: Direction) -> io::Result<Watched> {
        Watched::new(&stream, direction)
    }

    fn poll_io(
        watched: &Watched,
        _: Direction,
        context: &mut TaskContext<'_>,
        operation: &mut dyn FnMut() -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        watched.poll_io(context, operation)
    }

    fn sleep_until(instant: Instant) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep_until(instant.into()))
    }

    fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(future);
    }
}
