//! [Windlass](windlass), the Model Context Protocol engine, on mio.
//!
//! There are two ways to use it. The handles, which are those of every other adapter, run on a ready-made loop: the
//! thread that waits for a call turns it, and while nobody waits, a thread of its own does:
//!
//! ```no_run
//! use windlass_mio::{Client, Command};
//!
//! fn example() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::connect(Command::new("my-server"))?;
//!     for tool in client.list_tools()? {
//!         println!("{}", tool.name);
//!     }
//!     client.close();
//!     Ok(())
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     windlass_mio::run(example())
//! }
//! ```
//!
//! A program with a loop of its own puts a [`Source`] into it instead: over a stream or over HTTP, client or server. No
//! thread is involved then, but for the look-up of names.
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

#[cfg(feature = "http")]
mod network;
mod registration;
#[cfg(feature = "http")]
mod sockets;
mod source;
mod wait;

use windlass_host::sync;

#[cfg(all(feature = "server", feature = "auth"))]
pub use windlass::auth::{Principal, ProtectedResource, TokenRejected};
#[cfg(feature = "client")]
pub use windlass::client;
#[cfg(all(feature = "client", feature = "http"))]
pub use windlass::link::http::HttpClientConfig;
#[cfg(all(feature = "server", feature = "http"))]
pub use windlass::link::http::HttpServerConfig;
#[cfg(feature = "server")]
pub use windlass::server::{self, HandlerError};
pub use windlass::{CallError, CloseReason, Json, Limits, Observation, Observer, RpcError, SendError};
pub use windlass::{link, model};
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
pub use windlass_host::hub::Interest;
#[cfg(feature = "client")]
pub use windlass_host::{Canceller, Closer, ConnectError};
#[cfg(all(feature = "client", feature = "http"))]
pub use windlass_host::{Challenge, DialOptions, HttpTarget, ProxySettings};
pub use windlass_host::{Clock, Command, Connector, Endpoint, Error, Grace};
#[cfg(feature = "server")]
pub use windlass_host::{Context, ResourceRequest, ServeError};
/// The engine and the host kit beneath, for what is not named here: the types of observations, carriers of requests.
pub use {windlass, windlass_host as host};

pub use source::Source;
pub use wait::Mio;

/// A connected client.
#[cfg(feature = "client")]
pub type Client = sync::Client<Mio>;
/// Sets up a client.
#[cfg(feature = "client")]
pub type ClientBuilder = sync::ClientBuilder<Mio>;
/// A running server.
#[cfg(feature = "server")]
pub type Server = sync::Server<Mio>;
/// Fills a server and starts it.
#[cfg(feature = "server")]
pub type ServerBuilder = sync::ServerBuilder<Mio>;
/// A subscription to changes on the server.
#[cfg(feature = "client")]
pub type Subscription = sync::Subscription<Mio>;

/// Returns its argument. It stands where the asynchronous adapters run a future, so that programs look alike.
pub fn run<V>(value: V) -> V {
    value
}
