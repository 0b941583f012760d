//! Waiting by the reactor that smol and async-std share.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use async_io::{Async, Timer};

use super::{BoxFuture, Direction};

/// A descriptor that the reactor watches.
pub type Watched = Async<Arc<OwnedFd>>;

/// Begins to watch a descriptor.
///
/// # Errors
///
/// When the reactor cannot watch it.
pub fn watch(descriptor: Arc<OwnedFd>) -> io::Result<Watched> {
    Async::new_nonblocking(descriptor)
}

/// Runs `operation` when the descriptor is ready.
pub fn poll_io(
    watched: &Watched,
    direction: Direction,
    context: &mut Context<'_>,
    operation: &mut dyn FnMut() -> io::Result<()>,
) -> Poll<io::Result<()>> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            outcome => return Poll::Ready(outcome),
        }
        ready!(match direction {
            Direction::Read => watched.poll_readable(context),
            Direction::Write => watched.poll_writable(context),
        })?;
    }
}

/// A future that is ready at `instant`.
pub fn sleep_until(instant: Instant) -> BoxFuture<()> {
    Box::pin(async move {
        Timer::at(instant).await;
    })
}
