//! The seam to the system: a byte stream that can be polled, and a way to wait for it. All I/O of the kit goes through it,
//! and nothing else knows what a descriptor is, but for what is about processes, and the folder that credentials are kept in.
//!
//! | item | what |
//! |---|---|
//! | [`Pollable`] | a byte stream that never blocks, and tells when it is [`Ready`] |
//! | [`Poller`] | waits for several of them at once |
//! | [`Bell`], [`Rung`] | end that wait from another thread |
//! | `Remote`, `Connect` | where a socket can lead, and how far it has got |
//! | `Listener` | where clients connect |
//!
//! `unix` has what depends on the system. Another one gets a folder with the same items beside it, and its adapters get at
//! what their runtimes want by the traits of the standard library: on Unix a [`Pollable`] is `AsFd`.

#[cfg(unix)]
mod unix;

#[cfg(feature = "http")]
use std::net::SocketAddr;
#[cfg(feature = "http")]
use std::path::PathBuf;

#[cfg(all(unix, feature = "server", feature = "http"))]
pub(crate) use unix::Listener;
#[cfg(all(unix, feature = "server", feature = "http", test))]
pub(crate) use unix::listen;
#[cfg(unix)]
pub use unix::{Bell, Pollable, Poller, Rung};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To us.
    Read,
    /// To the peer.
    Write,
}

/// What can be done without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Something can be read, or the peer is gone.
    pub read: bool,
    /// Something can be written.
    pub write: bool,
}

impl Ready {
    /// Whether anything is.
    pub fn is_any(self) -> bool {
        self.read || self.write
    }
}

impl From<Direction> for Ready {
    fn from(direction: Direction) -> Self {
        Self { read: direction == Direction::Read, write: direction == Direction::Write }
    }
}

/// Where a socket can lead.
#[cfg(feature = "http")]
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "servers only try whether a Unix socket answers"))]
pub(crate) enum Remote {
    Internet(SocketAddr),
    Unix(PathBuf),
}

/// How far a connection has got at once.
#[cfg(feature = "http")]
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "servers only try whether a Unix socket answers"))]
pub(crate) enum Connect {
    Begun(Pollable),
    Done(Pollable),
}
