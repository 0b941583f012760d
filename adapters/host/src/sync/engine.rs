//! Driving a machine from the threads that wait for it: one leads, the others follow.
//!
//! The leader waits for the stream and lets the machine work; followers are parked until their own call is done or the
//! leader steps down and it is their turn. A single caller therefore needs no other thread, and no switch between
//! threads stands between it and its answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread, ThreadId};
use std::time::Instant;

use windlass::{ConnError, ConnErrorKind};

use super::{Direction, Drive, Ready, Stream};
use crate::hub::Driven;
use crate::thread_waker::ThreadWaker;

/// A machine with its way to wait.
pub(super) struct Engine<D: Drive, M: Driven> {
    pub(super) driven: Arc<M>,
    drive: Mutex<D>,
    waker: D::Waker,
    leadership: Mutex<Leadership>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leader {
    Thread(ThreadId),
    /// A thread that is being started for it.
    Expected,
}

#[derive(Default)]
struct Leadership {
    leader: Option<Leader>,
    followers: VecDeque<Thread>,
}

/// Leads until it is dropped, also by a panic; then whoever waits next has to.
struct Leading<'a, D: Drive, M: Driven> {
    engine: &'a Engine<D, M>,
    this: &'a Thread,
}

impl<D: Drive, M: Driven> Drop for Leading<'_, D, M> {
    fn drop(&mut self) {
        self.engine.leadership().leader = None;
        self.engine.leave(self.this);
    }
}

impl<D: Drive, M: Driven> Engine<D, M> {
    pub(super) fn new(drive: D, driven: Arc<M>) -> Arc<Self> {
        let waker = drive.waker();
        Arc::new(Self { driven, drive: Mutex::new(drive), waker, leadership: Mutex::default() })
    }

    /// Waits until `poll` is ready, driving the machine if nobody else does.
    pub(super) fn wait<V>(&self, poll: impl FnMut(&mut Context<'_>) -> Poll<V>) -> V {
        self.wait_until(poll, None)
    }

    /// The same, with a time at which `poll` is asked in any case.
    pub(super) fn wait_until<V>(&self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<V>, until: Option<Instant>) -> V {
        let this = thread::current();
        let waker = Waker::from(Arc::new(ThreadWaker(this.clone())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(value) = poll(&mut context) {
                self.leave(&this);
                return value;
            }
            let mut leadership = self.leadership();
            match leadership.leader {
                None => {
                    let leading = self.take_lead(leadership, &this);
                    let value = self.lead(|| poll(&mut context), until);
                    drop(leading);
                    match value {
                        Some(value) => return value,
                        // The connection is over; what is waited for comes from elsewhere.
                        None => return park_until(poll, &mut context),
                    }
                }
                // A callback of the leader's waits for a call of its own: it leads on.
                Some(leader) if leader == Leader::Thread(this.id()) => {
                    drop(leadership);
                    return match self.lead(|| poll(&mut context), until) {
                        Some(value) => value,
                        None => park_until(poll, &mut context),
                    };
                }
                Some(_) => {
                    if !leadership.followers.iter().any(|follower| follower.id() == this.id()) {
                        leadership.followers.push_back(this.clone());
                    }
                    drop(leadership);
                    match until {
                        Some(until) => thread::park_timeout(until.saturating_duration_since(Instant::now())),
                        None => thread::park(),
                    }
                }
            }
        }
    }

    /// From now on the thread that will call [`run`](Self::run) leads, and no other.
    pub(super) fn expect_leader(&self) {
        self.leadership().leader = Some(Leader::Expected);
    }

    /// Drives the machine until the connection is over, for a thread that does nothing else.
    pub(super) fn run(&self) {
        let this = thread::current();
        let _leading = self.take_lead(self.leadership(), &this);
        let _: Option<()> = self.lead(|| Poll::Pending, None);
    }

    /// Somebody changed the machine: whoever drives it looks again.
    pub(super) fn wake(&self) {
        let leader = self.leadership().leader;
        if leader.is_some_and(|leader| leader != Leader::Thread(thread::current().id())) {
            (self.waker)();
        }
    }

    /// Lets the machine say what it has to say, if nobody drives it.
    pub(super) fn turn_if_free(&self) {
        let leadership = self.leadership();
        if leadership.leader.is_some() {
            drop(leadership);
            return self.wake();
        }
        // As the leader: one that came meanwhile would wait for its stream, and miss what is completed here.
        let this = thread::current();
        let _leading = self.take_lead(leadership, &this);
        self.driven.turn();
    }

    fn take_lead<'a>(&'a self, mut leadership: MutexGuard<'_, Leadership>, this: &'a Thread) -> Leading<'a, D, M> {
        leadership.leader = Some(Leader::Thread(this.id()));
        Leading { engine: self, this }
    }

    /// Leads until `poll` is ready; `None` when the connection is over before.
    fn lead<V>(&self, mut poll: impl FnMut() -> Poll<V>, until: Option<Instant>) -> Option<V> {
        loop {
            let interest = self.driven.turn();
            if let Poll::Ready(value) = poll() {
                return Some(value);
            }
            if interest.finished {
                self.drive().forget();
                return None;
            }
            let stream = self.driven.stream().map(|(conn, input, output)| Stream { conn, input, output });
            let deadline = interest.deadline.map(|deadline| self.driven.clock().until(deadline));
            let until = until.map(|until| until.saturating_duration_since(Instant::now()));
            let at_most = deadline.into_iter().chain(until).min();
            let wanted = Ready { read: interest.read, write: interest.write };
            let waited = self.drive().wait(stream.as_ref(), wanted, at_most);
            match (waited, stream) {
                (Ok(ready), _) => {
                    if ready.write && self.driven.flush().is_err() {
                        self.drive().exhausted(Direction::Write);
                    }
                    if ready.read && self.driven.read().is_err() {
                        self.drive().exhausted(Direction::Read);
                    }
                }
                (Err(error), Some(stream)) => {
                    self.driven.conn_failed(stream.conn, ConnError::new(ConnErrorKind::Broken, error.to_string()));
                }
                (Err(_), None) => {}
            }
            if interest.deadline.is_some_and(|deadline| self.driven.clock().until(deadline).is_zero()) {
                self.driven.handle_timeout();
            }
        }
    }

    /// A thread is done waiting. If nobody leads, the next one has to.
    fn leave(&self, this: &Thread) {
        let mut leadership = self.leadership();
        leadership.followers.retain(|follower| follower.id() != this.id());
        if leadership.leader.is_none() {
            if let Some(next) = leadership.followers.front() {
                next.unpark();
            }
        }
    }

    fn drive(&self) -> MutexGuard<'_, D> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leadership(&self) -> MutexGuard<'_, Leadership> {
        self.leadership.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn park_until<V>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<V>, context: &mut Context<'_>) -> V {
    loop {
        if let Poll::Ready(value) = poll(context) {
            return value;
        }
        thread::park();
    }
}
