//! Connections over a network: how to get one, and how to move its bytes, without a runtime and without waiting.
//!
//! | module | what |
//! |---|---|
//! | `connection` | `SocketConnection`: a connection from its first packet to its last; all states and the steps between them |
//! | `connections` | `SocketConnections`: all connections of a machine |
//! | `approach` | the way to a server, all its states and the steps between them |
//! | `socket` | `Socket`: a socket that never blocks |
//! | `target` | [`HttpTarget`]: where a client finds its server |
//! | `carrier` | [`Carrier`]: another HTTP library, in place of connections of ours |
//! | `dial` | [`DialOptions`]: how to reach a server |
//! | `dialing` | `Dialing`: the way to an open socket, over all addresses of a name |
//! | `lookup` | names to addresses, on threads of its own, because the system's resolver waits; whatever else waits |
//! | `proxy` | [`ProxySettings`]: which connections go through a proxy |
//! | `tunnel` | `Tunnel`: `CONNECT` |
//! | `tls` | [`TlsOptions`], [`ServerTls`]: who is trusted |
//! | `trust` | `Trust`: a server may show a certificate that is trusted itself |
//! | `tls_session` | `TlsSession`: a TLS session between a socket and a machine |
//! | `transport_stream` | `TransportStream`: an open connection, with or without TLS |
//! | `listen` | [`HttpListener`]: where clients connect |
//! | `without_server` | what takes the place of the listener where that role is left out |
//!
//! Nothing here knows a protocol but `tunnel`, and nothing but `lookup` starts a thread.

#[cfg(feature = "client")]
mod approach;
#[cfg(feature = "client")]
mod carrier;
#[cfg(feature = "client")]
mod dial;
#[cfg(feature = "client")]
mod dialing;
#[cfg(feature = "server")]
mod listen;
#[cfg(feature = "client")]
mod lookup;
#[cfg(feature = "client")]
mod proxy;
mod socket;
#[cfg(feature = "client")]
mod target;
#[cfg(all(test, feature = "client", feature = "server"))]
mod tests;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod tls_session;
mod transport_stream;
#[cfg(all(feature = "server", not(feature = "tls")))]
mod tls {
    /// Nobody can have one without the feature `tls`.
    #[derive(Debug)]
    pub(crate) enum ServerTls {}
}
mod connection;
mod connections;
#[cfg(all(feature = "client", feature = "tls"))]
mod trust;
#[cfg(feature = "client")]
mod tunnel;
#[cfg(not(feature = "server"))]
mod without_server;

use std::sync::Arc;

#[cfg(feature = "client")]
pub(crate) use carrier::Carriage;
#[cfg(feature = "client")]
pub use carrier::{Carried, Carrier};
pub(crate) use connection::{Readiness, SocketConnection};
pub(crate) use connections::SocketConnections;
#[cfg(feature = "client")]
pub use dial::DialOptions;
#[cfg(feature = "server")]
pub use listen::HttpListener;
#[cfg(all(feature = "client", feature = "auth"))]
pub(crate) use lookup::in_background;
#[cfg(feature = "client")]
pub use proxy::{InvalidProxy, ProxySettings};
#[cfg(feature = "client")]
pub use target::HttpTarget;
#[cfg(all(feature = "server", feature = "tls"))]
pub use tls::ServerTls;
#[cfg(feature = "tls")]
pub use tls::TlsError;
#[cfg(all(feature = "client", feature = "tls"))]
pub use tls::TlsOptions;
#[cfg(feature = "jwt")]
pub(crate) use tls::{certificates, provider};
#[cfg(not(feature = "server"))]
pub(crate) use without_server::HttpListener;

/// What is called, from any thread, when something has changed that no readiness tells of.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;
