//! [Windlass](windlass), the Model Context Protocol engine, on async-std.
//!
//! ```no_run
//! use windlass_async_std::{Client, Command};
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
//!     windlass_async_std::run(example())
//! }
//! ```
//!
//! async-std is discontinued upstream; new programs pick `windlass-smol`, which is driven by the same code. This adapter
//! is for those who are on async-std already.

#![cfg(unix)]
#![forbid(unsafe_code)]

use std::future::Future;
use std::io;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use windlass_host::asynchronous::{self, BoxFuture, Direction, Runtime, async_io, own_thread};
use windlass_host::io::Pollable;

#[cfg(feature = "http")]
pub use windlass::link::http::{HttpClientConfig, HttpServerConfig};
pub use windlass::server::HandlerError;
pub use windlass::{CallError, CloseReason, Json, Limits, Observation, Observer, RpcError, SendError};
pub use windlass::{client, model, server};
#[cfg(feature = "tracing")]
pub use windlass_host::Tracing;
pub use windlass_host::{
    Canceller, Closer, Command, ConnectError, Connector, Context, Endpoint, Error, Grace, ResourceRequest, ServeError,
};
#[cfg(feature = "http")]
pub use windlass_host::{Challenge, DialOptions, HttpListener, HttpTarget, ProxySettings};
#[cfg(feature = "tls")]
pub use windlass_host::{ServerTls, TlsOptions};

/// The runtime, as far as Windlass is concerned.
#[derive(Debug)]
pub enum AsyncStd {}

/// A connected client.
pub type Client = asynchronous::Client<AsyncStd>;
/// Sets up a client.
pub type ClientBuilder = asynchronous::ClientBuilder<AsyncStd>;
/// A running server.
pub type Server = asynchronous::Server<AsyncStd>;
/// Fills a server and starts it.
pub type ServerBuilder = asynchronous::ServerBuilder<AsyncStd>;
pub use asynchronous::Subscription;

/// Runs a future to its end, for programs that are not asynchronous otherwise.
///
/// Connections that are made by it, with their handlers, are driven on this thread meanwhile, which is the shortest way
/// for their messages. What is left of them at the end goes on on async-std's threads.
pub fn run<V>(future: impl Future<Output = V>) -> V {
    async_std::task::block_on(own_thread::run(future, |rest| drop(async_std::task::spawn(rest))))
}

impl Runtime for AsyncStd {
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
            drop(async_std::task::spawn(future));
        }
    }
}
