//! The handles and the driver of the adapters without a runtime: plain blocking threads and mio.
//!
//! The two differ in how they wait for a descriptor, and in who waits: that is [`Drive`], and all that an adapter
//! writes. Everything else is here, once.

mod attend;
mod client;
mod crew;
mod engine;
mod habits;
mod pool;
mod server;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use windlass::ConnId;

pub use crate::hub::Direction;

pub use client::{Client, ClientBuilder, Subscription};
pub use server::{Handler, Server, ServerBuilder};

/// What an adapter has to know of its way to wait.
pub trait Drive: Sized + Send + 'static {
    /// Whether a client has a thread of its own, which drives it while nobody waits. The threads that wait for calls do
    /// so themselves, with or without it.
    const OWN_THREAD: bool;

    /// Ends the waiting from another thread.
    type Waker: Fn() + Send + Sync + 'static;

    /// A way to wait.
    ///
    /// # Errors
    ///
    /// When the system is out of descriptors.
    fn new() -> io::Result<Self>;

    /// What wakes this one.
    fn waker(&self) -> Self::Waker;

    /// Waits until the stream can be read or written (whichever is wanted), until it is woken, or for as long as this.
    ///
    /// # Errors
    ///
    /// When the system cannot wait.
    fn wait(&mut self, stream: Option<&Stream>, wanted: Ready, at_most: Option<Duration>) -> io::Result<Ready>;

    /// What was ready is not any more. Those who are told of changes only have to know.
    fn exhausted(&mut self, _direction: Direction) {}

    /// The connection is over: whatever is held of its stream is let go, so that it is really closed.
    fn forget(&mut self) {}
}

/// The stream to wait for. Another connection has another id.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Which it is.
    pub conn: ConnId,
    /// What is read from.
    pub input: Arc<OwnedFd>,
    /// What is written to.
    pub output: Arc<OwnedFd>,
}

/// What can be done without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Something can be read, or the peer is gone.
    pub read: bool,
    /// Something can be written.
    pub write: bool,
}
