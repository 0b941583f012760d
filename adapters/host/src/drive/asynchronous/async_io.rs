//! Waiting on smol and async-std: by the reactor that the two share, or by the thread's own where it has one.

use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use async_io::{Async, Timer};

use super::own_reactor::OwnReactor;
use super::{BoxFuture, Direction, own_thread};
use crate::io::Pollable;

/// A stream that is watched.
pub struct Watched {
    stream: Pollable,
    own: Option<(Arc<OwnReactor>, u64)>,
    /// Once there is no own reactor, or not any more.
    shared: OnceLock<Async<Pollable>>,
}

/// Begins to watch a stream.
///
/// # Errors
///
/// When the reactor cannot watch it.
pub fn watch(stream: Pollable, direction: Direction) -> io::Result<Watched> {
    let own = own_thread::reactor().and_then(|reactor| {
        let id = reactor.add(&stream, direction)?;
        Some((reactor, id))
    });
    let watched = Watched { stream, own, shared: OnceLock::new() };
    if watched.own.is_none() {
        watched.shared()?;
    }
    Ok(watched)
}

impl Watched {
    fn poll_ready(&self, direction: Direction, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some((reactor, id)) = &self.own {
            if let Ok(readiness) = reactor.poll_ready(*id, context) {
                return readiness.map(Ok);
            }
        }
        let shared = self.shared()?;
        match direction {
            Direction::Read => shared.poll_readable(context),
            Direction::Write => shared.poll_writable(context),
        }
    }

    fn shared(&self) -> io::Result<&Async<Pollable>> {
        if self.shared.get().is_none() {
            let watched = Async::new_nonblocking(self.stream.clone())?;
            // One task polls a stream, so nobody else has set it meanwhile.
            drop(self.shared.set(watched));
        }
        self.shared.get().ok_or_else(|| io::ErrorKind::Other.into())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some((reactor, id)) = &self.own {
            reactor.remove(*id);
        }
    }
}

/// Runs `operation` when the stream is ready.
pub fn poll_io(
    watched: &Watched,
    direction: Direction,
    context: &mut Context<'_>,
    operation: &mut dyn FnMut() -> io::Result<()>,
) -> Poll<io::Result<()>> {
    loop {
        ready!(watched.poll_ready(direction, context))?;
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            outcome => return Poll::Ready(outcome),
        }
    }
}

/// A future that is ready at `instant`. Drivers set a timer once in many calls, so the shared reactor does for that.
pub fn sleep_until(instant: Instant) -> BoxFuture<()> {
    Box::pin(async move {
        Timer::at(instant).await;
    })
}
