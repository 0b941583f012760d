//! Connections over a network: how to get one, and how to move its bytes, without a runtime and without waiting.
//!
//! | module | what |
//! |---|---|
//! | `wire` | `Wire`: one connection, from its first packet to its last; all stages and the steps between them |
//! | `socket` | `Socket`: a socket that never blocks |
//! | `dial` | [`DialOptions`]: how to reach a server |
//! | `dialing` | `Dialing`: the way to an open socket, over all addresses of a name |
//! | `lookup` | names to addresses, on threads of its own, because the system's resolver waits |
//! | `proxy` | [`ProxySettings`]: which connections go through a proxy |
//! | `tunnel` | `Tunnel`: `CONNECT` |
//! | `tls` | [`TlsOptions`], [`ServerTls`]: who is trusted |
//! | `session` | `Session`: a TLS session between a socket and a machine |
//! | `stream` | `Stream`: an open connection, with or without TLS |
//! | `listen` | [`HttpListener`]: where clients connect |
//!
//! Nothing here knows a protocol but `tunnel`, and nothing but `lookup` starts a thread.

mod dial;
mod dialing;
mod listen;
mod lookup;
mod proxy;
#[cfg(feature = "tls")]
mod session;
mod socket;
mod stream;
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
mod tunnel;
mod wire;

pub use dial::DialOptions;
pub(crate) use dial::{Address, Wake};
pub use listen::HttpListener;
pub use proxy::{InvalidProxy, ProxySettings};
#[cfg(feature = "tls")]
pub use tls::{ServerTls, TlsError, TlsOptions};
pub(crate) use wire::{Readiness, Wire};
