//! Ctrl-C, for a server that has no client whose leaving would end it.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// What a shell says of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// A wish to end the program, from a person (Ctrl-C) or from whoever has started it (SIGTERM).
pub(crate) struct Interrupt(Signals);

impl Interrupt {
    /// From now on the first wish is to be waited for; a second one ends the program at once.
    pub(crate) fn new() -> io::Result<Self> {
        let wished = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order, so that the first one finds the flag unset.
            flag::register_conditional_shutdown(signal, INTERRUPTED, wished.clone())?;
            flag::register(signal, wished.clone())?;
        }
        Signals::new([SIGINT, SIGTERM]).map(Self)
    }

    /// Waits for it.
    pub(crate) fn wait(mut self) {
        self.0.forever().next();
    }

    /// The same on a thread of its own, for a runtime whose threads have better to do.
    pub(crate) fn wait_aside(self) -> impl Future<Output = ()> + Send {
        #[derive(Default)]
        struct Shared {
            wished: bool,
            waker: Option<Waker>,
        }

        fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
            shared.lock().unwrap_or_else(PoisonError::into_inner)
        }

        let shared = Arc::new(Mutex::new(Shared::default()));
        let waiting = shared.clone();
        std::thread::spawn(move || {
            self.wait();
            let mut shared = lock(&waiting);
            shared.wished = true;
            if let Some(waker) = shared.waker.take() {
                waker.wake();
            }
        });
        poll_fn(move |context| {
            let mut shared = lock(&shared);
            if shared.wished {
                return Poll::Ready(());
            }
            shared.waker = Some(context.waker().clone());
            Poll::Pending
        })
    }
}
