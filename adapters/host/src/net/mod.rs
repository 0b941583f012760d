//! Connections over a network: how to get one, and how to move its bytes, without a runtime and without waiting.
//!
//! | module | what |
//! |---|---|
//! | `wire` | `Wire`: one connection, from its first packet to its last; all stages and the steps between them |
//! | `wires` | `Wires`: all connections of a machine |
//! | `socket` | `Socket`: a socket that never blocks |
//! | `target` | [`HttpTarget`]: where a client finds its server |
//! | `carrier` | [`Carrier`]: another HTTP library, in place of connections of ours |
//! | `dial` | [`DialOptions`]: how to reach a server |
//! | `dialing` | `Dialing`: the way to an open socket, over all addresses of a name |
//! | `lookup` | names to addresses, on threads of its own, because the system's resolver waits |
//! | `proxy` | [`ProxySettings`]: which connections go through a proxy |
//! | `tunnel` | `Tunnel`: `CONNECT` |
//! | `tls` | [`TlsOptions`], [`ServerTls`]: who is trusted |
//! | `trust` | `Trust`: a server may show a certificate that is trusted itself |
//! | `session` | `Session`: a TLS session between a socket and a machine |
//! | `stream` | `Stream`: an open connection, with or without TLS |
//! | `listen` | [`HttpListener`]: where clients connect |
//!
//! Nothing here knows a protocol but `tunnel`, and nothing but `lookup` starts a thread.

mod carrier;
mod dial;
mod dialing;
mod listen;
mod lookup;
mod proxy;
#[cfg(feature = "tls")]
mod session;
mod socket;
mod stream;
mod target;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
mod tls {
    /// Nobody can have one without the feature `tls`.
    #[derive(Debug)]
    pub(crate) enum ServerTls {}
}
#[cfg(feature = "tls")]
mod trust;
mod tunnel;
mod wire;
mod wires;

pub(crate) use carrier::Carriage;
pub use carrier::{Carried, Carrier};
pub use dial::DialOptions;
pub(crate) use dial::{Address, Wake};
pub use listen::HttpListener;
pub use proxy::{InvalidProxy, ProxySettings};
pub use target::HttpTarget;
#[cfg(feature = "tls")]
pub use tls::{ServerTls, TlsError, TlsOptions};
pub(crate) use wire::{Readiness, Wire};
pub(crate) use wires::Wires;
