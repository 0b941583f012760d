//! A conversation that hangs fails.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Far beyond what any conversation takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(40);

/// Holds a conversation on a thread of its own.
///
/// # Panics
///
/// When the conversation panics or does not end.
pub fn within_deadline(conversation: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let thread = thread::spawn(move || {
        conversation();
        let _ = done.send(());
    });
    match is_done.recv_timeout(DEADLINE) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("the conversation hangs: it did not end within {DEADLINE:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    }
}
