//! Driving a client from the threads that wait for it: one leads, the others follow.
//!
//! The leader waits for the stream and lets the machine work; followers wait until their own call is done or the
//! leader steps down and it is their turn. A single caller therefore needs no other thread, and no switch between
//! threads stands between it and its answer.
//!
//! A follower is never forgotten: it joins under the lock while there is a leader, and a leader steps down under the
//! same lock, which wakes the first follower. One that is woken but has its answer by then wakes the next as it leaves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};

use super::Drive;
use super::attend::Post;
use crate::drive::shared::{Turn, Turned};
use crate::wait::Lock;
use crate::wait::thread_waker::{of_this_thread, park_until_or};

/// For how long nobody has to lead before the thread that a connection has of its own does. It is what the server's
/// notifications may wait after the last call.
const UNATTENDED: Duration = Duration::from_millis(1);

/// A machine with those who wait for it.
pub(crate) struct Engine<D: Drive, M: Turned> {
    post: Post<D, M::Core>,
    turned: Arc<M>,
    leadership: Lock<Leadership>,
    /// Whether the last answers were for many: their callers are about to call again, and are let do so before what
    /// they have to say is written together.
    batching: AtomicBool,
}

#[derive(Default)]
struct Leadership {
    leader: Option<ThreadId>,
    followers: BTreeMap<u64, Thread>,
    next_follower: u64,
    /// How often somebody began or ceased to lead.
    changes: u64,
    /// The connection's own thread, if it has one, and whether it sleeps until it is told.
    keeper: Option<Thread>,
    keeper_sleeps: bool,
    /// Whether the connection is over.
    over: bool,
}

/// Leads until it is dropped, also by a panic; then whoever waits next has to.
struct Leading<'a, D: Drive, M: Turned>(&'a Engine<D, M>);

impl<D: Drive, M: Turned> Drop for Leading<'_, D, M> {
    fn drop(&mut self) {
        let mut leadership = self.0.leadership.lock();
        leadership.leader = None;
        leadership.changes += 1;
        self.0.hand_on(leadership);
    }
}

impl<D: Drive, M: Turned> Engine<D, M> {
    pub(crate) fn new(drive: D, turned: Arc<M>) -> Arc<Self> {
        let post = Post::new(drive, turned.core().clone());
        Arc::new(Self { post, turned, leadership: Lock::default(), batching: AtomicBool::new(false) })
    }

    /// Waits until `poll` is ready, driving the machine if nobody else does.
    pub(crate) fn wait<V>(&self, poll: impl FnMut(&mut Context<'_>) -> Poll<V>) -> V {
        self.wait_until(poll, None)
    }

    /// The same, with a time at which `poll` is asked in any case.
    pub(crate) fn wait_until<V>(&self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<V>, until: Option<Instant>) -> V {
        let waker = of_this_thread();
        let mut context = Context::from_waker(&waker);
        let mut following = None;
        loop {
            if let Poll::Ready(value) = poll(&mut context) {
                if let Some(number) = following {
                    self.leave(number);
                }
                return value;
            }
            let this = thread::current();
            let mut leadership = self.leadership.lock();
            // A callback of the leader's may wait for a call of its own: it leads on.
            if leadership.leader.is_none() || leadership.leader == Some(this.id()) {
                if let Some(number) = following.take() {
                    leadership.followers.remove(&number);
                }
                let leading = self.take_lead(leadership, this.id());
                let value = self.lead(|_| poll(&mut context), until);
                drop(leading);
                // Without a value the connection is over; what is waited for comes from elsewhere.
                return value.unwrap_or_else(|| park_until_or(poll, until));
            }
            following.get_or_insert_with(|| leadership.follow(this));
            drop(leadership);
            match until {
                Some(until) => thread::park_timeout(until.saturating_duration_since(Instant::now())),
                None => thread::park(),
            }
        }
    }

    /// Drives the machine whenever nobody else does, until the connection is over, for a thread that does nothing else.
    ///
    /// Callers that call again and again lead themselves: this thread only looks from time to time whether they still
    /// do, and steps back as soon as it has led for one of them.
    pub(crate) fn keep(&self) {
        let this = thread::current();
        self.leadership.lock().keeper = Some(this.clone());
        let mut seen = None;
        loop {
            let mut leadership = self.leadership.lock();
            leadership.keeper_sleeps = false;
            if leadership.over {
                return;
            }
            let changes = leadership.changes;
            if seen.replace(changes) != Some(changes) {
                drop(leadership);
                thread::park_timeout(UNATTENDED);
            } else if leadership.leader.is_none() {
                let _leading = self.take_lead(leadership, this.id());
                let stepped_back = |acted| match acted > 0 && !self.leadership.lock().followers.is_empty() {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                };
                self.lead(stepped_back, None);
            } else {
                // Somebody waits for long. It will tell when it is done.
                leadership.keeper_sleeps = true;
                drop(leadership);
                thread::park();
                seen = None;
            }
        }
    }

    /// Lets the machine say what it has to say, if nobody drives it.
    pub(crate) fn turn_if_free(&self) {
        self.drive_if_free(0);
    }

    /// Lets the machine take in what has come, if nobody drives it. Does not wait.
    pub(crate) fn read_if_free(&self) {
        self.drive_if_free(1);
    }

    fn drive_if_free(&self, mut looks: usize) {
        let leadership = self.leadership.lock();
        if leadership.leader.is_some() {
            return;
        }
        // As the leader: one that came meanwhile would wait for its stream, and miss what is completed here.
        let _leading = self.take_lead(leadership, thread::current().id());
        loop {
            let Turn { interest, acted } = self.turned.turn();
            if interest.finished {
                return self.finish();
            }
            if acted == 0 {
                match looks.checked_sub(1) {
                    Some(left) => looks = left,
                    None => return,
                }
                self.post.attend(interest, Some(Duration::ZERO));
            }
        }
    }

    fn take_lead(&self, mut leadership: MutexGuard<'_, Leadership>, this: ThreadId) -> Option<Leading<'_, D, M>> {
        if leadership.leader == Some(this) {
            return None;
        }
        leadership.leader = Some(this);
        leadership.changes += 1;
        Some(Leading(self))
    }

    /// Leads until `poll`, which is told how much there was to do, is ready; `None` when the connection is over before.
    fn lead<V>(&self, mut poll: impl FnMut(usize) -> Poll<V>, until: Option<Instant>) -> Option<V> {
        if self.batching.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        loop {
            let Turn { interest, acted } = self.turned.turn();
            if acted > 0 {
                self.batching.store(acted > 1, Ordering::Relaxed);
            }
            if let Poll::Ready(value) = poll(acted) {
                // It may be long until anybody leads again, and a server is to see at once that nobody waits for it.
                self.post.let_go();
                return Some(value);
            }
            if interest.finished {
                self.finish();
                return None;
            }
            match acted {
                0 => {
                    let at_most = until.map(|until| until.saturating_duration_since(Instant::now()));
                    self.post.attend(interest, at_most);
                }
                1 => {}
                _ => thread::yield_now(),
            }
        }
    }

    fn finish(&self) {
        self.post.forget();
        let mut leadership = self.leadership.lock();
        leadership.over = true;
        if let Some(keeper) = &leadership.keeper {
            keeper.unpark();
        }
    }

    /// A follower is done waiting. If nobody leads, the next one has to.
    fn leave(&self, number: u64) {
        let mut leadership = self.leadership.lock();
        leadership.followers.remove(&number);
        if leadership.leader.is_none() {
            self.hand_on(leadership);
        }
    }

    /// Wakes whoever is next to lead.
    fn hand_on(&self, mut leadership: MutexGuard<'_, Leadership>) {
        let next = leadership.followers.first_key_value().map(|(_, next)| next.clone());
        let next = next.or_else(|| match std::mem::take(&mut leadership.keeper_sleeps) {
            true => leadership.keeper.clone(),
            false => None,
        });
        drop(leadership);
        if let Some(next) = next {
            next.unpark();
        }
    }
}

impl Leadership {
    fn follow(&mut self, thread: Thread) -> u64 {
        let number = self.next_follower;
        self.next_follower += 1;
        self.followers.insert(number, thread);
        number
    }
}
