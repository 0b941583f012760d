//! A test that hangs fails.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Far beyond what any test takes on a busy machine: some need six seconds of a processor that many share.
const DEADLINE: Duration = Duration::from_secs(120);

/// Runs a test on a thread of its own, and fails if that does not end in time.
pub fn within_deadline(test: impl FnOnce() + Send + 'static) {
    within(DEADLINE, test);
}

/// The same with a deadline of one's own.
pub fn within(deadline: Duration, test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        test();
        let _ = done.send(());
    });
    let thread = thread.expect("there is room for a thread");
    match is_done.recv_timeout(deadline) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("the test hangs: it did not end within {deadline:?}"),
        Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().expect_err("it did not send")),
    }
}

/// How long to look for something that cannot be waited for, such as the end of a process that is not our child.
pub struct Patience<'a> {
    what: &'a str,
    until: Instant,
}

impl<'a> Patience<'a> {
    /// The time between two looks.
    pub const PAUSE: Duration = Duration::from_millis(2);

    /// Begins to look.
    pub fn for_it_to_be_so_that(what: &'a str) -> Self {
        Self { what, until: Instant::now() + DEADLINE / 3 }
    }

    /// Fails if there is none left.
    #[track_caller]
    pub fn check(&self) {
        assert!(Instant::now() < self.until, "it never came true that {}", self.what);
    }
}

/// Looks until something is so, on this thread.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = Patience::for_it_to_be_so_that(what);
    while !is_so() {
        patience.check();
        std::thread::sleep(Patience::PAUSE);
    }
}
