//! One future per connection: it lets the machine work, and waits for its stream, its deadline and its callers.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use windlass::{ConnId, Instant};

#[cfg(feature = "http")]
use super::connection_tasks::ConnectionTasks;
use super::{BoxFuture, Direction, Runtime, Wakeup};
use crate::Clock;
use crate::drive::hub::{Hub, Interest, StreamPair};
use crate::drive::shared::{Driven, Driving, HasHub, Turn, Turned};
#[cfg(all(feature = "server", feature = "http"))]
use crate::net::HttpListener;

/// After this many rounds without waiting, others get a turn on the thread.
const FAIR_ROUNDS: u32 = 32;

/// Drives a machine until its connection is over. If it is dropped before, so is the connection.
pub(crate) fn drive<R: Runtime, D: Turned>(driven: Arc<D>, wakeup: Arc<Wakeup>) -> impl Future<Output = ()> + Send {
    let driver = Driver::<R>::new(driven.core().with_hub(|hub| hub.clock()));
    #[cfg(feature = "http")]
    let driver = Driver { tasks: driven.core().is_on_network().then(|| ConnectionTasks::new(None)), ..driver };
    driver.drive(driven, wakeup)
}

/// Drives the machine of a server that listens.
#[cfg(all(feature = "server", feature = "http"))]
pub(crate) fn drive_listening<R: Runtime, D: Turned>(
    driven: Arc<D>,
    wakeup: Arc<Wakeup>,
    listener: HttpListener,
) -> impl Future<Output = ()> + Send {
    let driver = Driver::<R> {
        tasks: Some(ConnectionTasks::new(Some(listener))),
        ..Driver::new(driven.core().with_hub(|hub| hub.clock()))
    };
    driver.drive(driven, wakeup)
}

struct Driver<R: Runtime> {
    stream: Option<WatchedPair<R>>,
    timer: Option<(Instant, BoxFuture<()>)>,
    clock: Clock,
    #[cfg(feature = "http")]
    tasks: Option<ConnectionTasks<R>>,
}

struct WatchedPair<R: Runtime> {
    conn: ConnId,
    input: R::Watched,
    output: R::Watched,
}

impl<R: Runtime> Driver<R> {
    fn new(clock: Clock) -> Self {
        Self {
            stream: None,
            timer: None,
            clock,
            #[cfg(feature = "http")]
            tasks: None,
        }
    }

    fn drive<D: Turned>(mut self, driven: Arc<D>, wakeup: Arc<Wakeup>) -> impl Future<Output = ()> + Send {
        // Outside of the future's body: a runtime that is shutting down drops it before it is polled at all.
        let driving = Driving::new(driven.core().clone());
        async move {
            poll_fn(|context| self.poll(&driven, &wakeup, context)).await;
            driving.done();
        }
    }

    fn poll<D: Turned>(&mut self, driven: &Arc<D>, wakeup: &Arc<Wakeup>, context: &mut Context<'_>) -> Poll<()> {
        // First of all, so that a call which comes while this runs is not missed.
        wakeup.register(context.waker());
        for _ in 0..FAIR_ROUNDS {
            let Turn { interest, acted } = driven.turn();
            self.watch_stream(driven);
            if interest.finished {
                return Poll::Ready(());
            }
            if acted > 0 {
                continue;
            }
            #[cfg(feature = "http")]
            if let Some(tasks) = &mut self.tasks {
                if tasks.look_after(driven, wakeup, interest, context) {
                    continue;
                }
            }
            if !self.poll_once(driven, interest, context) {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Watches the stream that the machine has now. One that is gone is let go, so that it is really closed.
    fn watch_stream<D: Turned>(&mut self, driven: &Arc<D>) {
        let current = driven.core().with_hub(|hub| hub.stream());
        if self.stream.as_ref().map(|stream| stream.conn) == current.as_ref().map(|stream| stream.conn) {
            return;
        }
        self.stream = None;
        let Some(StreamPair { conn, input, output }) = current else { return };
        let watched = R::watch(input, Direction::Read)
            .and_then(|input| Ok(WatchedPair { conn, input, output: R::watch(output, Direction::Write)? }));
        match watched {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => driven.core().conn_failed(conn, &error),
        }
    }

    /// Does what can be done now; false if that was nothing, so that it is time to wait.
    fn poll_once<D: Turned>(&mut self, driven: &Arc<D>, interest: Interest, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        if let Some(stream) = &self.stream {
            if interest.write {
                let flush = &mut || driven.core().with_hub(Hub::flush_or_block);
                progress |= R::poll_io(&stream.output, Direction::Write, context, flush).is_ready();
            }
            if interest.read {
                // Whether something came does not depend on whether there may be more.
                let mut count = 0;
                let read = &mut || {
                    let reading = driven.core().read();
                    count += reading.count;
                    if reading.exhausted { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
                };
                let outcome = R::poll_io(&stream.input, Direction::Read, context, read);
                progress |= count > 0;
                match outcome {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => {
                        driven.core().conn_failed(stream.conn, &error);
                        progress = true;
                    }
                    Poll::Pending => {}
                }
            }
        } else {
            // A stream that could not be watched has been reported: the machine has something to say about it.
            progress |= driven.core().with_hub(|hub| hub.stream()).is_some();
        }
        if self.poll_timer(interest.deadline, context) {
            driven.core().with_hub(Hub::handle_timeout);
            progress = true;
        }
        progress
    }

    /// Whether the deadline has come.
    fn poll_timer(&mut self, deadline: Option<Instant>, context: &mut Context<'_>) -> bool {
        // A timer that is not needed now may be for the next call, and costs nothing until it fires.
        let Some(deadline) = deadline else { return false };
        if deadline <= self.clock.now() {
            return true;
        }
        // A timer that fires early is harmless, and setting one anew for every call is not free.
        let timer = match &mut self.timer {
            Some((set, timer)) if *set <= deadline => timer,
            _ => {
                let timer = R::sleep_until(self.clock.to_std(deadline));
                &mut self.timer.insert((deadline, timer)).1
            }
        };
        if timer.as_mut().poll(context).is_pending() {
            return false;
        }
        self.timer = None;
        true
    }
}
