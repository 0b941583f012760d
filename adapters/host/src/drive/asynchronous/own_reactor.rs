//! Waiting for the few streams of one thread's connections, by one call of the system for each wait.
//!
//! The reactor that smol and async-std share serves all threads of a process. With it, a call of 64 bytes over stdio takes 21
//! calls of the system at both ends together (strace), and with this one 6, which no runtime can do without; on one core
//! that is 16 to 24 µs in place of 12 to 20. It is used as soon as this one is closed, for streams beyond a few, since
//! `poll` looks at every one of them each time, for timers, and by everything else in the program.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::Direction;
use crate::io::{Pollable, Poller};
use crate::wait::Lock;

/// Streams at a time: what a client has connections by default. Looking through as many takes a few microseconds.
const MOST_SOURCES: usize = 64;

/// How often in a row the thread goes on without a look at its streams because there is something to do already.
/// An answer that leads to the next call takes one or two; tasks that always have something to do would never look.
const MOST_UNSEEN: u32 = 4;

/// Waits on behalf of the thread that made it. It is what wakes that thread, too.
pub(super) struct OwnReactor {
    state: Lock<State>,
    poller: Poller,
}

#[derive(Default)]
struct State {
    sources: BTreeMap<u64, Source>,
    next_id: u64,
    /// Whether the thread was woken since it last waited, and whether it has to be interrupted for that.
    notified: bool,
    waiting: bool,
    /// How often in a row it did not look at its streams.
    unseen: u32,
    closed: bool,
}

struct Source {
    stream: Pollable,
    direction: Direction,
    ready: bool,
    waker: Option<Waker>,
}

/// The thread does not wait here any more.
pub(super) struct Closed;

impl OwnReactor {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { state: Lock::default(), poller: Poller::new()? }))
    }

    /// Watches a stream, if there are not too many.
    pub(super) fn add(&self, stream: &Pollable, direction: Direction) -> Option<u64> {
        let mut state = self.state.lock();
        if state.sources.len() >= MOST_SOURCES {
            return None;
        }
        let id = state.new_id();
        state.sources.insert(id, Source { stream: stream.clone(), direction, ready: false, waker: None });
        Some(id)
    }

    pub(super) fn remove(&self, id: u64) {
        self.state.lock().sources.remove(&id);
    }

    /// Ready once for every time that the stream was found ready.
    pub(super) fn poll_ready(&self, id: u64, context: &Context<'_>) -> Result<Poll<()>, Closed> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Closed);
        }
        let Some(source) = state.sources.get_mut(&id) else { return Err(Closed) };
        if std::mem::take(&mut source.ready) {
            return Ok(Poll::Ready(()));
        }
        match &mut source.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Ok(Poll::Pending)
    }

    /// Waits until this thread is woken or a stream is ready, and wakes the tasks concerned.
    ///
    /// A wake-up is not lost: it is noted under the lock, and either seen here before the thread waits, or made by
    /// somebody who sees that it waits, and interrupts it.
    pub(super) fn wait(&self) {
        let (watched, busy) = {
            let mut state = self.state.lock();
            let busy = std::mem::take(&mut state.notified);
            if busy && state.unseen < MOST_UNSEEN {
                state.unseen += 1;
                return;
            }
            state.unseen = 0;
            state.waiting = !busy;
            let wanted = state.sources.iter().filter(|(_, source)| source.waker.is_some());
            let watched: Vec<_> = wanted.map(|(id, it)| (*id, it.stream.clone(), it.direction)).collect();
            (watched, busy)
        };
        let at_most = busy.then_some(Duration::ZERO);
        let wanted = watched.iter().map(|(_, stream, direction)| (stream, (*direction).into()));
        let mut ready = Vec::new();
        if self.poller.wait(wanted, at_most, |at, _| ready.push(watched[at].0)).is_err() {
            // Whatever the system complains about is found out by those who read and write.
            ready.extend(watched.iter().map(|(id, ..)| *id));
        }
        let wakers = self.state.lock().found(ready);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Sends everybody to the other reactor.
    pub(super) fn close(&self) {
        let wakers = {
            let mut state = self.state.lock();
            state.closed = true;
            let sources = std::mem::take(&mut state.sources).into_values();
            sources.filter_map(|source| source.waker).collect::<Vec<_>>()
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Notes what is ready; gives those who wait for it.
    fn found(&mut self, ready: Vec<u64>) -> Vec<Waker> {
        self.waiting = false;
        self.notified = false;
        let mut wakers = Vec::new();
        for id in ready {
            if let Some(source) = self.sources.get_mut(&id) {
                source.ready = true;
                wakers.extend(source.waker.take());
            }
        }
        wakers
    }
}

impl Wake for OwnReactor {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.notified, true) && state.waiting {
            drop(state);
            self.poller.bell().ring();
        }
    }
}
