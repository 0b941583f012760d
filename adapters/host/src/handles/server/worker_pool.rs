//! The threads of a server. One reads, and runs handlers itself: most are done in less time than it takes to wake
//! another thread. Were all of them run elsewhere, a call of 64 bytes over stdio would take three calls of futex and a
//! yield more (strace), 19 to 21 µs on one core in place of 10 to 15, and 16 callers would get a quarter to a third as
//! many answers.
//!
//! A handler may take long all the same, and then requests and cancellations have to be read meanwhile. So there is a
//! second thread on standby, which looks at the first once in a while and relieves it if it is still in the same
//! handler. The relieved thread gives its answer and is done with reading; the new one gets a standby of its own.
//! Handlers that are known to take long are left to the pool from the beginning; when they have to wait for each other,
//! those that are quick do not wait for them.
//!
//! Those that have given large answers are begun only while there is room for another: what handlers have in their hands
//! is not counted by the machine, and a thousand clients that ask for it at once would have it a thousand times.
//!
//! Handlers on other threads than the reader's are counted, and when there are as many as there may be, all others wait
//! in order, but for those that have been quick so far and run nowhere else, which the reader runs itself. The reader reads
//! on: requests are taken in, cancelled and refused as before, and a handler that asks back is not kept from its answer,
//! because it does not wait for it but is run again.
//!
//! There is always exactly one reader: its shift has a number, which changes under the lock when it is relieved, and
//! which it looks at under the lock after every handler. The standby sleeps for good only while no handler runs, and
//! whoever begins one wakes it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::reply_bytes::bytes_of;
use super::run_times::RunTimes;
use crate::drive::shared::{Driven, Driving};
use crate::drive::sync::Drive;
use crate::drive::sync::attend::Post;
use crate::drive::sync::thread_pool::ThreadPool;
use crate::handles::server::context::Context;
use crate::handles::server::{Job, Responding, ServerAction, ServerCore, panicked};
use crate::wait::Lock;

/// How often the standby looks. A handler that takes longer than this is relieved after at most twice as long.
const LOOK: Duration = Duration::from_millis(1);

/// How long the reader runs short handlers one after another, at least, before it reads and writes again. If there was so
/// much to read that this took longer, it is as long as that took: handlers are not to starve behind clients that send as
/// much as they can.
const STRETCH: Duration = Duration::from_micros(500);

/// Nor are clients to starve behind handlers.
const LONGEST_STRETCH: Duration = Duration::from_millis(50);

/// Those who serve one connection.
pub(crate) struct WorkerPool<D: Drive> {
    post: Post<D, ServerCore>,
    roster: Lock<Roster>,
    threads: ThreadPool,
    most_handlers: usize,
}

/// The reader and its standby are among the threads as well, and so are those who follow when a handler that has always
/// been quick holds them up while all others are busy.
const READERS: usize = 4;

/// A handler on another thread than the reader's, by its key, which is done when this is dropped.
struct Handling<'a, D: Drive>(&'a WorkerPool<D>, usize);

impl<D: Drive> Drop for Handling<'_, D> {
    fn drop(&mut self) {
        let mut roster = self.0.roster.lock();
        let full = roster.handling >= self.0.most_handlers;
        let others_wait = !roster.large_jobs.is_empty() || full && !roster.jobs.is_empty();
        roster.handling -= 1;
        roster.run_times.ends_apart(self.1);
        drop(roster);
        if others_wait {
            self.0.post.driven.wake_driver();
        }
    }
}

#[derive(Default)]
struct Roster {
    jobs: VecDeque<Job>,
    /// Those of them whose answers there is no room for yet.
    large_jobs: VecDeque<Job>,
    /// The number of the reader's shift.
    shift: u64,
    /// How many handlers readers have begun, and which one runs.
    begun: u64,
    running: Option<usize>,
    standby: Standby,
    run_times: RunTimes,
    /// How many handlers run on other threads than the reader's.
    handling: usize,
    /// Whether the connection is over.
    over: bool,
}

impl Roster {
    /// The next job that may be begun, and the key of its handler.
    fn next_job(&mut self, most_handlers: usize) -> Option<(Job, usize)> {
        let with_key = |job: Job| {
            let key = RunTimes::key(&job.handler);
            (job, key)
        };
        if self.handling >= most_handlers {
            // What is done in a moment needs no thread: one client's slow calls do not lock all others out.
            let at = self.jobs.iter().position(|job| self.run_times.is_quick(RunTimes::key(&job.handler)))?;
            return self.jobs.remove(at).map(with_key);
        }
        let first = self.large_jobs.front().map(|job| RunTimes::key(&job.handler));
        if first.is_some_and(|key| self.run_times.has_room(key)) {
            return self.large_jobs.pop_front().map(with_key);
        }
        while let Some((job, key)) = self.jobs.pop_front().map(with_key) {
            if self.run_times.has_room(key) {
                return Some((job, key));
            }
            self.large_jobs.push_back(job);
        }
        None
    }

    /// A handler runs on another thread than the reader's from now on.
    fn begins_apart(&mut self, key: usize) {
        self.handling += 1;
        self.run_times.begins_apart(key);
    }
}

#[derive(Default)]
enum Standby {
    #[default]
    Absent,
    Looking,
    Asleep(Thread),
}

/// What became of the jobs.
#[derive(PartialEq, Eq)]
enum Work {
    None,
    Done,
    /// It is time to read and write before the rest.
    Left,
    /// Somebody else reads now.
    Relieved,
}

impl<D: Drive> WorkerPool<D> {
    pub(crate) fn new(post: Post<D, ServerCore>, most_handlers: usize) -> Arc<Self> {
        let threads = ThreadPool::new(most_handlers.saturating_add(READERS));
        Arc::new(Self { post, roster: Lock::default(), threads, most_handlers })
    }

    /// Serves on this thread, until the connection is over or another thread has taken over.
    pub(crate) fn run(self: &Arc<Self>) {
        self.read(0);
    }

    fn read(self: &Arc<Self>, shift: u64) {
        let driving = Driving::new(self.post.driven.clone());
        self.read_until_relieved(shift);
        driving.done();
    }

    fn read_until_relieved(self: &Arc<Self>, shift: u64) {
        let mut actions = Vec::new();
        let mut stretch = STRETCH;
        loop {
            let interest = self.post.driven.turn(&mut actions);
            let acted = !actions.is_empty();
            for job in actions.drain(..).filter_map(|action: ServerAction| action.perform(&self.post.driven)) {
                self.roster.lock().jobs.push_back(job);
            }
            if interest.finished {
                return self.finish();
            }
            match self.work(shift, stretch) {
                Work::Relieved => return,
                Work::Done => {}
                Work::None if acted => {}
                Work::None => self.post.attend(interest, None),
                Work::Left => {
                    let began = Instant::now();
                    self.post.attend(interest, Some(Duration::ZERO));
                    stretch = began.elapsed().clamp(STRETCH, LONGEST_STRETCH);
                }
            }
        }
    }

    /// Runs what is to be run, for a stretch.
    fn work(self: &Arc<Self>, shift: u64, stretch: Duration) -> Work {
        let mut roster = self.roster.lock();
        let began = Instant::now();
        let mut last = began;
        let mut worked = Work::None;
        while let Some((job, key)) = roster.next_job(self.most_handlers) {
            if job.cancellation.is_cancelled() {
                drop(roster);
                self.post.driven.respond_before_turn(job.reply, Err(panicked()));
            } else if !roster.run_times.takes_long(key) {
                roster.begun += 1;
                roster.running = Some(key);
                self.have_standby(roster);
                if !self.run_here(job, shift, key, last) {
                    return Work::Relieved;
                }
            } else {
                roster.begins_apart(key);
                drop(roster);
                self.run_apart(job, key);
                // It may be done in a moment, and its thread there for the next.
                thread::yield_now();
            }
            worked = Work::Done;
            last = Instant::now();
            roster = self.roster.lock();
            if last - began >= stretch && !roster.jobs.is_empty() {
                return Work::Left;
            }
        }
        worked
    }

    /// Runs a handler on the reader's thread; false if the reader was relieved meanwhile.
    fn run_here(&self, job: Job, shift: u64, key: usize, began: Instant) -> bool {
        let Job { reply, handler, invocation, cancellation } = job;
        let core = &self.post.driven;
        let context = Context::new(invocation, cancellation, core.clone());
        // A panic has been reported by its hook; it is answered for, and the server goes on.
        let outcome = match catch_unwind(AssertUnwindSafe(|| handler(context.clone()).wait())) {
            Ok(outcome) => context.outcome(outcome),
            Err(_) => Err(panicked()),
        };
        let bytes = bytes_of(&outcome);
        let mut roster = self.roster.lock();
        roster.run_times.gives(key, bytes);
        if roster.shift != shift {
            drop(roster);
            let _handling = Handling(self, key);
            core.respond(reply, outcome);
            return false;
        }
        // Nobody is relieved for having to wait for the machine: whoever reads needs it too.
        roster.running = None;
        roster.run_times.took(key, began.elapsed());
        drop(roster);
        core.respond_before_turn(reply, outcome);
        true
    }

    fn run_apart(self: &Arc<Self>, job: Job, key: usize) {
        let Job { reply, handler, invocation, cancellation } = job;
        let workers = self.clone();
        self.threads.run(move || {
            let _handling = Handling(&workers, key);
            let core = &workers.post.driven;
            let responding = Responding::new(core.clone(), reply);
            let context = Context::new(invocation, cancellation, core.clone());
            let began = Instant::now();
            let outcome = context.outcome(handler(context.clone()).wait());
            let mut roster = workers.roster.lock();
            roster.run_times.took(key, began.elapsed());
            roster.run_times.gives(key, bytes_of(&outcome));
            drop(roster);
            responding.respond(outcome);
        });
    }

    /// Sees to it that somebody watches over the handler that is about to run.
    fn have_standby(self: &Arc<Self>, mut roster: MutexGuard<'_, Roster>) {
        let standby = std::mem::replace(&mut roster.standby, Standby::Looking);
        drop(roster);
        match standby {
            Standby::Looking => {}
            Standby::Asleep(thread) => thread.unpark(),
            Standby::Absent => {
                let workers = self.clone();
                self.threads.run(move || workers.stand_by());
            }
        }
    }

    fn stand_by(self: &Arc<Self>) {
        let mut seen = 0;
        loop {
            let mut roster = self.roster.lock();
            if roster.over {
                return;
            }
            if seen != roster.begun {
                seen = roster.begun;
                drop(roster);
                thread::park_timeout(LOOK);
                continue;
            }
            match roster.running.take() {
                Some(key) => {
                    roster.run_times.took(key, LOOK);
                    roster.standby = Standby::Absent;
                    roster.begins_apart(key);
                    roster.shift += 1;
                    let shift = roster.shift;
                    drop(roster);
                    return self.read(shift);
                }
                None => {
                    roster.standby = Standby::Asleep(thread::current());
                    drop(roster);
                    thread::park();
                    // Whoever woke it has said so, unless it woke by itself.
                    self.roster.lock().standby = Standby::Looking;
                }
            }
        }
    }

    fn finish(&self) {
        self.post.forget();
        let mut roster = self.roster.lock();
        roster.over = true;
        // Nobody is there any more to be answered.
        roster.jobs.clear();
        roster.large_jobs.clear();
        if let Standby::Asleep(thread) = &roster.standby {
            thread.unpark();
        }
    }
}
