//! The seam on Unix: everything is a descriptor, and `poll` waits for any of them.

mod endpoint;
#[cfg(all(feature = "server", feature = "http"))]
mod listener;
mod pollable;
mod poller;
#[cfg(feature = "http")]
mod socket;

#[cfg(all(feature = "server", feature = "http"))]
pub(crate) use listener::Listener;
#[cfg(all(feature = "server", feature = "http", test))]
pub(crate) use listener::listen;
pub use pollable::Pollable;
pub use poller::{Bell, Poller, Rung};

use std::io;

/// A signal in the middle of a call is no reason to give it up.
fn retry<T>(mut operation: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(rustix::io::Errno::INTR) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
}
