//! Ctrl-C and its like: a person, or whoever has started the program, asks it to end.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// The signals that ask the program to end: Ctrl-C, a polite request, a terminal that is gone.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Hears of every signal to end the program, one after the other.
pub(crate) fn signals() -> io::Result<Signals> {
    Signals::new(heeded())
}

/// What a shell says of a program that a signal has ended.
pub(crate) fn exit_code(signal: i32) -> u8 {
    u8::try_from(signal).unwrap_or_default().wrapping_add(128)
}

/// A signal to end a server that has no client whose leaving would end it.
pub(crate) struct Interrupt(Signals);

impl Interrupt {
    /// From now on the first signal is to be waited for; a second one ends the program at once.
    pub(crate) fn new() -> io::Result<Self> {
        let signalled = Arc::new(AtomicBool::new(false));
        for signal in heeded() {
            // In this order, so that the first one finds the flag unset.
            flag::register_conditional_shutdown(signal, exit_code(signal).into(), signalled.clone())?;
            flag::register(signal, signalled.clone())?;
        }
        signals().map(Self)
    }

    /// Waits for it.
    pub(crate) fn wait(mut self) {
        self.0.forever().next();
    }

    /// The same on a thread of its own, for a runtime whose threads have better to do.
    pub(crate) fn wait_aside(self) -> impl Future<Output = ()> + Send {
        #[derive(Default)]
        struct Shared {
            signalled: bool,
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
            shared.signalled = true;
            if let Some(waker) = shared.waker.take() {
                waker.wake();
            }
        });
        poll_fn(move |context| {
            let mut shared = lock(&shared);
            if shared.signalled {
                return Poll::Ready(());
            }
            shared.waker = Some(context.waker().clone());
            Poll::Pending
        })
    }
}

/// The signals that are heeded. Whoever has started the program with a signal ignored, such as `nohup`, does not want it
/// to end by that signal.
fn heeded() -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored_signals(&status);
    SIGNALS.into_iter().filter(move |signal| ignored & (1 << (signal - 1)) == 0)
}

/// Which signals are ignored, a bit for each, as Linux tells it. Where nothing is told, none are.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read() {
        assert_eq!(ignored_signals("Name:\tx\nSigIgn:\t0000000000000001\nSigCgt:\tffff\n"), 1 << (SIGHUP - 1));
        assert_eq!(ignored_signals(""), 0);
    }

    #[test]
    fn codes_are_those_of_shells() {
        assert_eq!([SIGHUP, SIGINT, SIGTERM].map(exit_code), [129, 130, 143]);
    }
}
