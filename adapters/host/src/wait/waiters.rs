//! Those who wait for something that happens once, and leave no trace when they give up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use windlass::CloseReason;

use super::{Lock, Shutdown};

/// Those who wait. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiters(Arc<Lock<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Waiters {
    /// A place among them, for one who is about to wait.
    pub(crate) fn place(&self) -> Place {
        Place { waiters: self.clone(), number: None }
    }

    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.0.lock().wakers);
        wakers.into_values().for_each(Waker::wake);
    }
}

/// A place among those who wait. Dropped, it is free again.
pub(crate) struct Place {
    waiters: Waiters,
    number: Option<u64>,
}

impl Place {
    /// Is woken from now on. What is waited for is looked at afterwards, so that it is not missed.
    pub(crate) fn wait(&mut self, context: &Context<'_>) {
        let mut waiting = self.waiters.0.lock();
        let number = *self.number.get_or_insert_with(|| {
            waiting.next += 1;
            waiting.next
        });
        waiting.wakers.insert(number, context.waker().clone());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let _waker = self.waiters.0.lock().wakers.remove(&number);
        }
    }
}

/// Whether a connection is over, and why.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    reason: Lock<Option<CloseReason>>,
    waiters: Waiters,
}

impl Closure {
    pub(crate) fn close(&self, reason: CloseReason) {
        *self.reason.lock() = Some(reason);
        self.waiters.wake_all();
    }

    pub(crate) fn reason(&self) -> Option<CloseReason> {
        self.reason.lock().clone()
    }

    /// Those who wait for it.
    #[cfg(feature = "client")]
    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// Waits until it is over, and everything that was opened is gone.
    pub(crate) fn wait(&self, shutdown: Arc<Shutdown>) -> WaitClosed<'_> {
        WaitClosed { closure: self, place: self.waiters.place(), last_place: shutdown.waiters().place(), shutdown }
    }
}

/// Waits for the end of a connection.
pub(crate) struct WaitClosed<'a> {
    closure: &'a Closure,
    place: Place,
    shutdown: Arc<Shutdown>,
    last_place: Place,
}

impl WaitClosed<'_> {
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<CloseReason> {
        self.place.wait(context);
        let Some(reason) = self.closure.reason() else { return Poll::Pending };
        self.last_place.wait(context);
        match self.shutdown.is_over() {
            true => Poll::Ready(reason),
            false => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_give_up_leave_no_trace() {
        let (closure, shutdown) = (Closure::default(), Arc::new(Shutdown::default()));
        let held = shutdown.hold();
        let context = Context::from_waker(Waker::noop());
        for _ in 0..1000 {
            assert!(closure.wait(shutdown.clone()).poll(&context).is_pending());
        }
        assert_eq!(closure.waiters.0.lock().wakers.len(), 0);
        closure.close(CloseReason::PeerClosed);
        for _ in 0..1000 {
            assert!(closure.wait(shutdown.clone()).poll(&context).is_pending());
        }
        assert_eq!(shutdown.waiters().0.lock().wakers.len(), 0);
        drop(held);
        assert_eq!(closure.wait(shutdown).poll(&context), Poll::Ready(CloseReason::PeerClosed));
    }
}
