//! Waiting until what was opened is really gone: a child reaped, the last output written, a listener closed.

use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::{Grace, OutputPump};

/// How long a client may take to read the last words.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The end of streams and children, which takes its time in the background.
#[derive(Debug, Default)]
pub struct Ending {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many are not gone yet.
    open: usize,
    wakers: Vec<Waker>,
}

impl Ending {
    /// Closes an endpoint. A child is given the chance to exit by itself, then made to.
    pub(crate) fn end(self: &Arc<Self>, endpoint: Endpoint, grace: Grace) {
        let Endpoint { input, output, child, pump, .. } = endpoint;
        // For a server that reads its standard input this is the sign to exit.
        drop((input, output));
        if let Some(child) = child {
            let held = self.hold();
            child.shut_down_with(grace, move |_| drop(held));
        }
        if let Some(pump) = pump.filter(OutputPump::is_running) {
            // The process must not exit before its last words are written.
            let held = self.hold();
            std::thread::spawn(move || {
                let _ = pump.finish_within(LAST_WORDS);
                drop(held);
            });
        }
    }

    /// It is not the end before this is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        self.lock().open += 1;
        Held(self.clone())
    }

    /// Ready when nothing is left.
    pub fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.open == 0 {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is not gone yet.
#[derive(Debug)]
pub(crate) struct Held(Arc<Ending>);

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        if state.open == 0 {
            for waker in std::mem::take(&mut state.wakers) {
                waker.wake();
            }
        }
    }
}
