//! One future per network connection, beside the one that drives the machine.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Instant as StdInstant;

use windlass::{ConnId, Instant};

use super::{BoxFuture, Direction, Runtime, Wakeup};
use crate::drive::shared::{Driven, HasHub, Turn, Turned};
use crate::drive::{Hub, Interest};
use crate::io::Pollable;
use crate::net::HttpListener;

/// How often one connection is read or written before the others get their turn. A read is of 64 KiB at the most: with a
/// thousand who send as much as they can, whoever has a small question waits for that many times this before it is looked
/// at.
const FAIR_ROUNDS: usize = 4;

/// How many clients are let in before the connections that there are get their turn. Were it one, the last of a thousand
/// that come at once would wait for that many turns of all others.
const FAIR_ACCEPTS: usize = 16;

/// What the driver of a machine does about its connections.
pub(super) struct ConnectionTasks<R: Runtime> {
    moved: BTreeSet<ConnId>,
    armed: Arc<Armed>,
    acceptor: Option<Acceptor<R>>,
}

/// When the driver will look by itself, in microseconds. Whoever takes a turn in its place wakes it if that is too
/// late.
struct Armed(AtomicU64);

impl Armed {
    fn set(&self, deadline: Option<Instant>) {
        self.0.store(deadline.map_or(u64::MAX, Instant::as_micros), Ordering::SeqCst);
    }

    fn is_after(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|deadline| deadline.as_micros() < self.0.load(Ordering::SeqCst))
    }
}

/// Where clients come in.
struct Acceptor<R: Runtime> {
    /// Let go before the listener, which tells that it is closed.
    watched: Option<R::Watched>,
    listener: HttpListener,
    pause: Option<BoxFuture<()>>,
}

impl<R: Runtime> ConnectionTasks<R> {
    pub(super) fn new(listener: Option<HttpListener>) -> Self {
        let acceptor = listener.map(|listener| Acceptor { listener, watched: None, pause: None });
        Self { moved: BTreeSet::new(), armed: Arc::new(Armed(AtomicU64::new(u64::MAX))), acceptor }
    }

    /// Starts to move the connections that are new, and lets clients in; true if there was anything to do.
    pub(super) fn look_after<D: Turned>(
        &mut self,
        driven: &Arc<D>,
        wakeup: &Arc<Wakeup>,
        interest: Interest,
        context: &mut Context<'_>,
    ) -> bool {
        self.armed.set(interest.deadline);
        for conn in driven.core().take_unwatched() {
            if driven.core().connection_interest(conn, None).is_none() {
                self.moved.remove(&conn);
            } else if self.moved.insert(conn) {
                R::spawn(move_connection::<R, D>(driven.clone(), wakeup.clone(), self.armed.clone(), conn));
            }
        }
        if !interest.listen {
            self.acceptor = None;
        }
        let Some(acceptor) = &mut self.acceptor else { return false };
        acceptor.poll(driven, context)
    }
}

impl<R: Runtime> Acceptor<R> {
    fn poll<D: Turned>(&mut self, driven: &Arc<D>, context: &mut Context<'_>) -> bool {
        if self.pause.as_mut().is_some_and(|pause| pause.as_mut().poll(context).is_pending()) {
            return false;
        }
        self.pause = None;
        let watched = match &mut self.watched {
            Some(watched) => watched,
            none => match R::watch(self.listener.pollable().clone(), Direction::Read) {
                Ok(watched) => none.insert(watched),
                Err(_) => return self.rest(context),
            },
        };
        let mut accepted = false;
        let accept = &mut || {
            for _ in 0..FAIR_ACCEPTS {
                driven.core().accept(self.listener.accept()?);
                accepted = true;
            }
            Ok(())
        };
        match R::poll_io(watched, Direction::Read, context, accept) {
            Poll::Pending => accepted,
            Poll::Ready(Ok(())) => true,
            // Too many open files, most likely. Clients that leave make room.
            Poll::Ready(Err(_)) => self.rest(context),
        }
    }

    fn rest(&mut self, context: &mut Context<'_>) -> bool {
        let pause = self.pause.insert(R::sleep_until(StdInstant::now() + HttpListener::PAUSE));
        pause.as_mut().poll(context).is_ready()
    }
}

/// A socket as the runtime watches it.
struct Watched<R: Runtime> {
    socket: Pollable,
    input: R::Watched,
    /// Few connections ever have to wait until they can be written, and none for long.
    output: Option<R::Watched>,
}

impl<R: Runtime> Watched<R> {
    fn new(socket: Pollable) -> io::Result<Self> {
        Ok(Self { input: R::watch(socket.clone(), Direction::Read)?, socket, output: None })
    }

    fn output(&mut self) -> io::Result<&R::Watched> {
        match &mut self.output {
            Some(output) => Ok(output),
            none => Ok(none.insert(R::watch(self.socket.twin()?, Direction::Write)?)),
        }
    }
}

/// Moves the bytes of one connection until it is gone.
async fn move_connection<R: Runtime, D: Turned>(driven: Arc<D>, wakeup: Arc<Wakeup>, armed: Arc<Armed>, conn: ConnId) {
    let mut watched: Option<Watched<R>> = None;
    poll_fn(|context| {
        for _ in 0..FAIR_ROUNDS {
            // The waker is left with the connection first, so that nothing which happens from now on is missed.
            let Some((socket, wanted)) = driven.core().connection_interest(conn, Some(context.waker())) else {
                return Poll::Ready(());
            };
            let progress = match watch(&mut watched, socket) {
                Ok(None) => return Poll::Pending,
                Ok(Some(watched)) => move_once::<R, D>(&driven, conn, watched, wanted, context),
                Err(error) => Err(error),
            };
            match progress {
                Ok(false) => return Poll::Pending,
                Ok(true) => {}
                Err(error) => {
                    driven.core().conn_failed(conn, &error);
                    watched = None;
                }
            }
            take_turn(&driven, &wakeup, &armed);
        }
        // Runtimes look at their timers rarely while there is always something to do. What is due is due.
        driven.core().with_hub(Hub::handle_timeout);
        take_turn(&driven, &wakeup, &armed);
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    take_turn(&driven, &wakeup, &armed);
}

/// Watches the socket that there is now.
fn watch<R: Runtime>(
    watched: &mut Option<Watched<R>>,
    socket: Option<Pollable>,
) -> io::Result<Option<&mut Watched<R>>> {
    let Some(socket) = socket else {
        *watched = None;
        return Ok(None);
    };
    if watched.as_ref().is_none_or(|watched| !watched.socket.is(&socket)) {
        // The old one first: its number may be that of the new one.
        *watched = None;
        *watched = Some(Watched::new(socket)?);
    }
    Ok(watched.as_mut())
}

/// Does what can be done now; false if that was nothing.
fn move_once<R: Runtime, D: Turned>(
    driven: &Arc<D>,
    conn: ConnId,
    watched: &mut Watched<R>,
    wanted: crate::net::Readiness,
    context: &mut Context<'_>,
) -> io::Result<bool> {
    let mut progress = false;
    if !wanted.write {
        watched.output = None;
    } else if driven.core().write_connection(conn).is_ok() {
        progress = true;
    } else {
        let written =
            R::poll_io(watched.output()?, Direction::Write, context, &mut || driven.core().write_connection(conn));
        progress |= ready(written)?;
    }
    // What a TLS session holds no readiness tells of.
    if wanted.now && driven.core().read_connection(conn).count > 0 {
        progress = true;
    } else if wanted.read {
        // Whether something came does not depend on whether there may be more.
        let read = &mut || {
            let reading = driven.core().read_connection(conn);
            progress |= reading.count > 0;
            if reading.exhausted { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        };
        let read = R::poll_io(&watched.input, Direction::Read, context, read);
        progress |= ready(read)?;
    }
    Ok(progress)
}

fn ready(outcome: Poll<io::Result<()>>) -> io::Result<bool> {
    match outcome {
        Poll::Ready(Ok(())) => Ok(true),
        Poll::Ready(Err(error)) => Err(error),
        Poll::Pending => Ok(false),
    }
}

/// Lets the machine make what it can of what came, and leaves to the driver what only it can do.
fn take_turn<D: Turned>(driven: &Arc<D>, wakeup: &Wakeup, armed: &Armed) {
    loop {
        let Turn { interest, acted } = driven.turn();
        if acted > 0 {
            continue;
        }
        if interest.finished || armed.is_after(interest.deadline) || driven.core().has_unwatched() {
            wakeup.wake();
        }
        return;
    }
}
