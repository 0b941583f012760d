//! Waiting until what was opened is really gone: a child reaped, the last output written, a listener closed.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar};
use std::time::Duration;

use super::{Lock, Waiters};

/// How long whoever hurries waits for what was killed: a little longer than those who watch it die do.
#[cfg(feature = "client")]
const HURRY: Duration = Duration::from_secs(6);

/// The end of streams and children, which takes its time in the background.
#[derive(Debug, Default)]
pub struct Shutdown {
    /// How many are not gone yet.
    open: Lock<usize>,
    over: Condvar,
    waiters: Waiters,
    /// Whether children get no grace any more.
    hurried: Arc<AtomicBool>,
}

impl Shutdown {
    /// Takes all grace from children, those to come as well, and waits until nothing is left.
    #[cfg(feature = "client")]
    pub(crate) fn hurry(&self) {
        self.hurried.store(true, std::sync::atomic::Ordering::Relaxed);
        self.wait(HURRY);
    }

    /// Whether children get no grace any more, as it changes.
    pub(crate) fn hurried(&self) -> &Arc<AtomicBool> {
        &self.hurried
    }

    /// It is not the end before this is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        *self.open.lock() += 1;
        Held(self.clone())
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        *self.open.lock() == 0
    }

    /// Those who wait until nothing is left.
    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// Waits until nothing is left, but no longer than this.
    pub fn wait(&self, at_most: Duration) {
        let is_open = |open: &mut usize| *open > 0;
        drop(self.over.wait_timeout_while(self.open.lock(), at_most, is_open));
    }
}

/// Something that is not gone yet.
#[derive(Debug)]
pub(crate) struct Held(Arc<Shutdown>);

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = self.0.open.lock();
        *open -= 1;
        if *open == 0 {
            self.0.over.notify_all();
            drop(open);
            self.0.waiters.wake_all();
        }
    }
}
