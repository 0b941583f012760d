//! [Windlass](windlass), the Model Context Protocol engine, on plain threads.
//!
//! ```no_run
//! use windlass_blocking::{Client, Command};
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
//!     windlass_blocking::run(example())
//! }
//! ```
//!
//! A client has no thread of its own: the thread that waits for a call drives the connection meanwhile, and if several
//! threads share a client, one of them does so for all. While nobody waits, nothing is driven: a program that wants to
//! hear notifications between its calls uses `Client::drive_for`, or waits on a `Subscription`.
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
//! | `ureq` | no | clients whose requests are made by ureq; brings `client` and `http` |
//!
//! They combine freely, and there is at least one role.

#![cfg(unix)]
#![forbid(unsafe_code)]

#[cfg(feature = "ureq")]
mod through_ureq;

use std::io;
use std::time::Duration;

#[cfg(feature = "http")]
use windlass_host::io::Pollable;
use windlass_host::io::Poller;
use windlass_host::sync::{self, Direction, Drive, Ready, StreamPair};

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

#[cfg(feature = "ureq")]
pub use through_ureq::through_ureq;
#[cfg(feature = "ureq")]
pub use ureq;

/// A connected client.
#[cfg(feature = "client")]
pub type Client = sync::Client<Blocking>;
/// Sets up a client.
#[cfg(feature = "client")]
pub type ClientBuilder = sync::ClientBuilder<Blocking>;
/// A running server.
#[cfg(feature = "server")]
pub type Server = sync::Server<Blocking>;
/// Fills a server and starts it.
#[cfg(feature = "server")]
pub type ServerBuilder = sync::ServerBuilder<Blocking>;
/// A subscription to changes on the server.
#[cfg(feature = "client")]
pub type Subscription = sync::Subscription<Blocking>;

/// Returns its argument. It stands where the asynchronous adapters run a future, so that programs look alike.
pub fn run<V>(value: V) -> V {
    value
}

/// Waiting by `poll`.
#[derive(Debug)]
pub struct Blocking {
    poller: Poller,
    #[cfg(feature = "http")]
    sockets: std::collections::BTreeMap<u64, Pollable>,
}

impl Drive for Blocking {
    const OWN_THREAD: bool = false;
    type Waker = Box<dyn Fn() + Send + Sync>;

    fn new() -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            #[cfg(feature = "http")]
            sockets: Default::default(),
        })
    }

    fn waker(&self) -> Self::Waker {
        let bell = self.poller.bell().clone();
        Box::new(move || bell.ring())
    }

    fn wait(&mut self, stream: Option<&StreamPair>, wanted: Ready, at_most: Option<Duration>) -> io::Result<Ready> {
        let input = stream.filter(|_| wanted.read).map(|stream| (&stream.input, Direction::Read.into()));
        let output = stream.filter(|_| wanted.write).map(|stream| (&stream.output, Direction::Write.into()));
        let mut ready = Ready::default();
        self.poller.wait(input.into_iter().chain(output), at_most, |at, _| match at {
            0 if wanted.read => ready.read = true,
            _ => ready.write = true,
        })?;
        Ok(ready)
    }
}

#[cfg(feature = "http")]
impl sync::Watch for Blocking {
    fn watch_socket(&mut self, number: u64, socket: Option<&Pollable>) -> io::Result<()> {
        match socket {
            Some(socket) => self.sockets.insert(number, socket.clone()),
            None => self.sockets.remove(&number),
        };
        Ok(())
    }

    fn wait_for_sockets(
        &mut self,
        wanted: &mut dyn FnMut(u64) -> Ready,
        at_most: Option<Duration>,
        ready: &mut Vec<(u64, Ready)>,
    ) -> io::Result<()> {
        let asked = self.sockets.iter().map(|(&number, socket)| (number, socket, wanted(number)));
        let asked: Vec<_> = asked.filter(|(.., wanted)| wanted.is_any()).collect();
        self.poller.wait(asked.iter().map(|(_, socket, wanted)| (*socket, *wanted)), at_most, |at, found| {
            let (number, _, wanted) = asked[at];
            let found = Ready { read: wanted.read && found.read, write: wanted.write && found.write };
            if found.is_any() {
                ready.push((number, found));
            }
        })
    }
}
