//! Threads for handlers: as many as are needed at once, kept for a while for the next.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a thread waits for more work before it ends.
const KEPT: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// A pool that grows with the work. What a peer can start at once is limited by the machine, not here.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
}

impl Pool {
    /// Runs a job on a thread that is free, or on a new one. If the system has no more threads, it waits for one.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        state.jobs.push_back(Box::new(job));
        let someone_is_free = state.idle >= state.jobs.len();
        drop(state);
        if someone_is_free {
            self.0.work.notify_one();
            return;
        }
        let shared = self.0.clone();
        let started = thread::Builder::new().name("windlass-handler".into()).spawn(move || shared.work());
        if started.is_err() {
            self.0.work.notify_one();
        }
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let (woken, waited) = self.work.wait_timeout(state, KEPT).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
