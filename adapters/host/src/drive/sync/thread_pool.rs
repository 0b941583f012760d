//! Threads for handlers: as many as are needed at once up to a limit, kept for a while for the next.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, PoisonError};
use std::thread;
use std::time::Duration;

use crate::wait::Lock;

/// How many handlers have a thread at the same time, unless a builder says otherwise. It is what tokio gives to work that
/// blocks: a thread that waits costs some 20 KB, and a program with so many handlers that all wait for something else
/// would hardly be faster with more.
pub(crate) const HANDLER_THREADS: usize = 512;

/// How long a thread waits for more work before it ends.
const KEPT: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// A pool that grows with the work, up to its limit. What comes beyond it waits, in order.
#[derive(Clone)]
pub(crate) struct ThreadPool(Arc<Shared>);

struct Shared {
    state: Lock<State>,
    work: Condvar,
    most_threads: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl ThreadPool {
    pub(crate) fn new(most_threads: usize) -> Self {
        Self(Arc::new(Shared { state: Lock::default(), work: Condvar::new(), most_threads }))
    }

    /// Runs a job on a thread that is free, or on a new one. If there can be no more threads, it waits for one.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.0.state.lock();
        state.jobs.push_back(Box::new(job));
        if state.idle >= state.jobs.len() {
            drop(state);
            self.0.work.notify_one();
            return;
        }
        if state.threads >= self.0.most_threads {
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = self.0.clone();
        let started = thread::Builder::new().name("windlass-handler".into()).spawn(move || shared.work());
        if started.is_err() {
            self.0.state.lock().threads -= 1;
            self.0.work.notify_one();
        }
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // A panic has been reported by its hook, and the thread is still good for others.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.state.lock();
                continue;
            }
            state.idle += 1;
            let (woken, waited) = self.work.wait_timeout(state, KEPT).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}
