//! Work that takes its time, on a thread of its own so that no runtime is held up by it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

#[derive(Default)]
struct Timer {
    over: bool,
    waker: Option<Waker>,
}

/// Is ready after `duration`, on any runtime.
pub fn pause(duration: Duration) -> impl Future<Output = ()> + Send {
    let timer = Arc::new(Mutex::new(Timer::default()));
    let ringing = timer.clone();
    std::thread::spawn(move || {
        std::thread::sleep(duration);
        let mut timer = ringing.lock().unwrap_or_else(PoisonError::into_inner);
        timer.over = true;
        if let Some(waker) = timer.waker.take() {
            waker.wake();
        }
    });
    std::future::poll_fn(move |context| {
        let mut timer = timer.lock().unwrap_or_else(PoisonError::into_inner);
        if timer.over {
            return Poll::Ready(());
        }
        timer.waker = Some(context.waker().clone());
        Poll::Pending
    })
}
