//! A test that hangs fails.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Far beyond what any case takes on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Runs a test on a thread of its own, and fails if it does not end in time.
///
/// # Panics
///
/// When the test panics or does not end.
pub fn within_deadline(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let name = thread::current().name().unwrap_or_default().to_owned();
    let thread = thread::Builder::new().name(name).spawn(move || {
        test();
        let _ = done.send(());
    });
    let thread = thread.expect("there is room for a thread");
    match is_done.recv_timeout(DEADLINE) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("the test hangs: it did not end within {DEADLINE:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    }
}
