//! A thread as something that can be woken.

use std::sync::Arc;
use std::task::Wake;
use std::thread::Thread;

/// Unparks a thread.
pub(crate) struct ThreadWaker(pub(crate) Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
