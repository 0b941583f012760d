//! Driving on plain threads and on mio, which have no executor.
//!
//! The two differ in how they wait, and in who waits: that is [`Drive`], and all that an adapter writes. Everything else
//! is here, once. Read in this order:
//!
//! | module | what |
//! |---|---|
//! | `attend` | `Post`: a machine with its way to wait, and what a thread does that waits there |
//! | `engine` | `Engine`: the threads that call a client drive it themselves, one for all |
//! | `watched_connections` | `WatchedConnections`: many connections, and clients that come in, on one thread |
//! | `hosted` | `Hosted`: the same in a loop of the program's own |
//! | `thread_pool` | `ThreadPool`: threads for handlers |
//!
//! The threads of a server are those of its handlers as well: `handles::server::worker_pool`.

pub(crate) mod attend;
#[cfg(feature = "client")]
pub(crate) mod engine;
#[cfg(feature = "http")]
mod hosted;
pub(crate) mod thread_pool;
#[cfg(feature = "http")]
mod watched_connections;

use std::io;
use std::time::Duration;

#[cfg(feature = "http")]
use crate::io::Pollable;

pub use crate::drive::hub::StreamPair;
pub use crate::io::{Direction, Ready};

#[cfg(feature = "http")]
pub use hosted::Hosted;

/// What an adapter has to know of its way to wait.
pub trait Drive: Watch + Sized + Send + 'static {
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
    fn wait(&mut self, stream: Option<&StreamPair>, wanted: Ready, at_most: Option<Duration>) -> io::Result<Ready>;

    /// What was ready is not any more. Those who are told of changes only have to know.
    fn exhausted(&mut self, _direction: Direction) {}

    /// The connection is over: whatever is held of its stream is let go, so that it is really closed.
    fn forget(&mut self) {}
}

/// Watches many sockets, each under a number. Whatever drives does; so does what is in a loop of somebody else's, and
/// never waits.
#[cfg(feature = "http")]
pub trait Watch {
    /// Watches a socket under a number from now on, in place of the one that it had, or none any more.
    ///
    /// # Errors
    ///
    /// When the system cannot watch it.
    fn watch_socket(&mut self, number: u64, socket: Option<&Pollable>) -> io::Result<()>;

    /// Waits until any of the sockets can be read or written, whichever is wanted of it, until it is woken, or for as
    /// long as this; adds those that are ready.
    ///
    /// # Errors
    ///
    /// When the system cannot wait.
    fn wait_for_sockets(
        &mut self,
        wanted: &mut dyn FnMut(u64) -> Ready,
        at_most: Option<Duration>,
        ready: &mut Vec<(u64, Ready)>,
    ) -> io::Result<()>;

    /// A socket that was ready is not any more.
    fn socket_exhausted(&mut self, _number: u64, _direction: Direction) {}
}

/// Without the feature `http` there are no sockets to watch.
#[cfg(not(feature = "http"))]
pub trait Watch {}
#[cfg(not(feature = "http"))]
impl<T> Watch for T {}
