//! A thread as something that can be woken.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// Unparks a thread.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// Made once for a thread, not for every time that it waits.
    static OWN: Waker = new();
}

/// What wakes this thread.
pub(crate) fn of_this_thread() -> Waker {
    // A thread that is about to end may wait once more while it drops what it has.
    OWN.try_with(Waker::clone).unwrap_or_else(|_| new())
}

/// Waits on this thread until `poll` is ready.
#[cfg(feature = "server")]
pub(crate) fn park_until<V>(poll: impl FnMut(&mut Context<'_>) -> Poll<V>) -> V {
    park_until_or(poll, None)
}

/// The same, with a time at which `poll` is asked in any case.
pub(crate) fn park_until_or<V>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<V>, until: Option<Instant>) -> V {
    let waker = of_this_thread();
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return value;
        }
        match until {
            Some(until) => thread::park_timeout(until.saturating_duration_since(Instant::now())),
            None => thread::park(),
        }
    }
}

fn new() -> Waker {
    Waker::from(Arc::new(ThreadWaker(thread::current())))
}
