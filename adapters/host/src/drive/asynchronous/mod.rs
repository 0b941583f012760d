//! Driving on runtimes with futures: tokio, async-std, smol.
//!
//! They differ in how one waits, sleeps and spawns: that is [`Runtime`], and all that an adapter writes. Everything else
//! is here, once. Read in this order:
//!
//! | module | what |
//! |---|---|
//! | `driver` | one future per machine, which waits for its stream, its deadline and its callers |
//! | `connection_tasks` | one future per network connection beside it |
//! | `async_io` | how smol and async-std wait |
//! | `own_thread` | a program and its connections on one thread, for the two |
//! | `own_reactor` | what that thread waits by |

#[cfg(feature = "http")]
mod connection_tasks;
pub(crate) mod driver;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

#[cfg(feature = "async-io")]
pub mod async_io;
#[cfg(feature = "async-io")]
mod own_reactor;
#[cfg(feature = "async-io")]
pub mod own_thread;

use crate::io::Pollable;
use crate::wait::Lock;

pub use crate::io::Direction;

/// A future that can be kept and moved between threads.
pub type BoxFuture<V> = Pin<Box<dyn Future<Output = V> + Send>>;

/// What an adapter has to know of its runtime.
pub trait Runtime: Send + Sync + 'static {
    /// A stream that the runtime watches.
    type Watched: Send + Unpin;

    /// Begins to watch a stream.
    ///
    /// # Errors
    ///
    /// When the runtime cannot watch it.
    fn watch(stream: Pollable, direction: Direction) -> io::Result<Self::Watched>;

    /// Runs `operation` when the stream is ready; pending while the operation says `WouldBlock`.
    fn poll_io(
        watched: &Self::Watched,
        direction: Direction,
        context: &mut Context<'_>,
        operation: &mut dyn FnMut() -> io::Result<()>,
    ) -> Poll<io::Result<()>>;

    /// A future that is ready at `instant`.
    fn sleep_until(instant: Instant) -> BoxFuture<()>;

    /// Runs a future in the background.
    fn spawn(future: impl Future<Output = ()> + Send + 'static);
}

/// Makes the driver look again after somebody called the machine.
#[derive(Debug, Default)]
pub(crate) struct Wakeup(Lock<Option<Waker>>);

impl Wakeup {
    /// One, and what wakes by it.
    pub(crate) fn new() -> (Arc<Self>, Arc<dyn Fn() + Send + Sync>) {
        let wakeup = Arc::new(Self::default());
        let waking = wakeup.clone();
        (wakeup, Arc::new(move || waking.wake()))
    }

    fn register(&self, waker: &Waker) {
        let mut slot = self.0.lock();
        match &mut *slot {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    fn wake(&self) {
        let waker = self.0.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
