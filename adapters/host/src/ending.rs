//! Waiting until what was opened is really gone: a child reaped, the last output written, a listener closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[cfg(unix)]
use crate::endpoint::Endpoint;
use crate::waiters::Waiters;
#[cfg(unix)]
use crate::{Child, Grace, OutputPump};

/// How long a client may take to read the last words.
#[cfg(unix)]
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long whoever hurries waits for what was killed: a little longer than those who watch it die do.
const HURRY: Duration = Duration::from_secs(6);

/// The end of streams and children, which takes its time in the background.
#[derive(Debug, Default)]
pub struct Ending {
    /// How many are not gone yet.
    open: Mutex<usize>,
    over: Condvar,
    waiters: Waiters,
    /// Whether children get no grace any more.
    hurried: Arc<AtomicBool>,
}

impl Ending {
    /// Closes an endpoint. A child is given the chance to exit by itself, then made to.
    #[cfg(unix)]
    pub(crate) fn end(self: &Arc<Self>, endpoint: Endpoint, grace: Grace) {
        let Endpoint { input, output, child, pump, held, .. } = endpoint;
        // For a server that reads its standard input this is the sign to exit.
        drop((input, output));
        if let Some(child) = child {
            let held = held.unwrap_or_else(|| self.hold());
            self.end_child(child, grace, held);
        }
        if let Some(pump) = pump.filter(OutputPump::is_running) {
            // The process must not exit before its last words are written.
            let held = self.hold();
            // Shared, because a thread that cannot be started does not give back what it was to get.
            let pump = Arc::new(Mutex::new(Some((pump, held))));
            let finish = |pump: &Mutex<Option<(OutputPump, Held)>>| {
                let taken = pump.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some((pump, _held)) = taken {
                    let _ = pump.finish_within(LAST_WORDS);
                }
            };
            let taken = pump.clone();
            let thread = std::thread::Builder::new().name("windlass-output".into());
            if thread.spawn(move || finish(&taken)).is_err() {
                finish(&pump);
            }
        }
    }

    /// Gives a child the chance to exit by itself, then makes it.
    #[cfg(unix)]
    pub(crate) fn end_child(&self, child: Child, grace: Grace, held: Held) {
        child.shut_down_unless_hurried(grace, self.hurried.clone(), move |_| drop(held));
    }

    /// Takes all grace from children, those to come as well, and waits until nothing is left.
    pub(crate) fn hurry(&self) {
        self.hurried.store(true, Ordering::Relaxed);
        self.wait(HURRY);
    }

    /// It is not the end before this is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        *self.lock() += 1;
        Held(self.clone())
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        *self.lock() == 0
    }

    /// Those who wait until nothing is left.
    #[cfg(unix)]
    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// Waits until nothing is left, but no longer than this.
    pub fn wait(&self, at_most: Duration) {
        let is_open = |open: &mut usize| *open > 0;
        drop(self.over.wait_timeout_while(self.lock(), at_most, is_open));
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is not gone yet.
#[derive(Debug)]
pub(crate) struct Held(Arc<Ending>);

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = self.0.lock();
        *open -= 1;
        if *open == 0 {
            self.0.over.notify_all();
            drop(open);
            self.0.waiters.wake_all();
        }
    }
}
