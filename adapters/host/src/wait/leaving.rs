//! What a thread has begun to end, it waits for when it ends itself.
//!
//! Children are ended in the background, so that nobody who drops a handle is held up. A program that drops its last one
//! and returns from `main` would be gone before a server that heeds nothing is killed, and would leave it behind. The
//! locals of a thread are dropped when it ends, those of the main thread when `main` returns or it calls `exit`: there
//! the wait is made up for. It is as long as the rest of the [`Grace`](crate::Grace) at most, and usually nothing is left
//! to wait for.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::Shutdown;
use crate::Grace;

/// How long it may take beyond the grace until what was killed is gone, or whoever drives the connection has begun to end
/// it.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    static BEGUN: Begun = const { Begun(RefCell::new(Vec::new())) };
}

struct Begun(RefCell<Vec<(Arc<Shutdown>, Duration)>>);

impl Drop for Begun {
    fn drop(&mut self) {
        for (shutdown, at_most) in self.0.take() {
            shutdown.wait(at_most);
        }
    }
}

/// Has this thread wait for something at its end, if that is not over by then.
pub(crate) fn wait_at_end_of_thread(shutdown: &Arc<Shutdown>, grace: Grace) {
    if shutdown.is_over() {
        return;
    }
    let at_most = grace.eof.saturating_add(grace.terminate).saturating_add(PATIENCE);
    // A thread whose locals are gone has ended as far as anybody can tell.
    let _ = BEGUN.try_with(|begun| {
        let mut begun = begun.0.borrow_mut();
        begun.retain(|(shutdown, _)| !shutdown.is_over());
        begun.push((shutdown.clone(), at_most));
    });
}
