//! What ends a client command before it is done: a signal, or its deadline. Either way it ends as it would by itself: the
//! call is cancelled on the wire, a session is ended, a server that was started is ended with all that it has started.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use windlass_host::Closer;

use crate::failure::{Failure, FailureKind};
use crate::interrupt;

/// How long the end may take. A server that heeds nothing has three seconds until it is killed, and an HTTP server that
/// does not answer has four; a program whose output nobody reads would never end.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Watches over one run of a client command.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    closer: Closer,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What has ended the command first.
    cause: Option<Cause>,
    /// Whether the server has given all that was asked of it: no deadline holds for showing it.
    answered: bool,
}

/// What has ended a command before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Signal(i32),
    /// This much time has passed.
    Deadline(Duration),
}

impl Cause {
    fn exit_code(self) -> u8 {
        match self {
            Self::Signal(signal) => interrupt::exit_code(signal),
            Self::Deadline(_) => FailureKind::Unreachable.exit_code(),
        }
    }
}

impl Watch {
    /// Watches from now on, with a deadline if there is one.
    pub(crate) fn start(limit: Option<Duration>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut signals = interrupt::signals()?;
        let told = shared.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                told.end(Cause::Signal(signal));
            }
        })?;
        if let Some(limit) = limit {
            let told = shared.clone();
            thread::Builder::new().name("deadline".into()).spawn(move || told.wait_for_deadline(limit))?;
        }
        Ok(Self { shared })
    }

    /// What closes the connection that is watched.
    pub(crate) fn closer(&self) -> &Closer {
        &self.shared.closer
    }

    /// The server has given all that was asked of it: what is left takes as long as it takes.
    pub(crate) fn answered(&self) {
        self.shared.state().answered = true;
        self.shared.changed.notify_all();
    }

    /// What came of the command, all things considered.
    pub(crate) fn judge(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        let cause = self.shared.state().cause;
        match (cause, outcome) {
            (Some(Cause::Signal(signal)), _) => Err(Failure::interrupted(signal)),
            (Some(Cause::Deadline(limit)), Err(failure)) => Err(failure.because_of_deadline(limit)),
            (_, outcome) => outcome,
        }
    }
}

impl Shared {
    fn wait_for_deadline(self: &Arc<Self>, limit: Duration) {
        let pending = |state: &mut State| !state.answered && state.cause.is_none();
        let (state, waited) =
            self.changed.wait_timeout_while(self.state(), limit, pending).unwrap_or_else(PoisonError::into_inner);
        drop(state);
        if waited.timed_out() {
            self.end(Cause::Deadline(limit));
        }
    }

    /// Ends the command; whoever asks for it a second time wants it now.
    fn end(self: &Arc<Self>, cause: Cause) {
        if self.state().cause.replace(cause).is_some() {
            self.end_at_once(cause);
        }
        self.changed.notify_all();
        let last = self.clone();
        // Before anything that may take its time: whoever waits for the end waits for so long at most.
        let spawned = thread::Builder::new().name("end".into()).spawn(move || {
            thread::sleep(END_PATIENCE);
            last.end_at_once(cause);
        });
        if spawned.is_err() {
            self.end_at_once(cause);
        }
        self.closer.close();
    }

    /// Kills the server, if it is a child of ours, and is gone.
    fn end_at_once(&self, cause: Cause) -> ! {
        self.closer.kill();
        std::process::exit(cause.exit_code().into())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
