//! A child process and everything that it started, as one thing that can be ended.
//!
//! The tree is in one of two states. While its leader has not been reaped ([`ProcessTree`]), the leader's process id
//! is reserved, dead or alive, so signals to its group cannot hit anybody else. Once it is reaped, only [`Survivors`]
//! keep the id of the group reserved, so their presence is checked before each signal.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass::Instant;

use crate::clock::Clock;
use crate::process::ladder::{Grace, Ladder, Step};

#[cfg(unix)]
pub(crate) use unix::{ProcessTree, Survivors, system_command};
#[cfg(windows)]
pub(crate) use windows::{ProcessTree, Survivors, system_command};

/// How long a killed process may take to vanish. Death is prompt unless the kernel is stuck in a device or a network
/// file system; then waiting longer helps nobody.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// The first pause between two looks at the processes: most servers exit within it.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause: a person does not notice it, and fifty looks in a second cost nothing.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A tree on its way out: climbs the ladder, reaps the leader, then ends what the leader left behind.
pub(crate) struct ProcessExit {
    phase: ExitPhase,
    ladder: Ladder,
    clock: Clock,
    give_up: Option<Instant>,
    /// Whether somebody wants it to be over.
    hurried: Option<Arc<AtomicBool>>,
}

enum ExitPhase {
    Leader(ProcessTree),
    Survivors(Survivors, io::Result<ExitStatus>),
    /// The status has been given; there is nothing more to ask.
    Over,
}

impl ProcessExit {
    /// For a tree whose leader has just lost its standard input.
    pub(crate) fn after_end_of_input(tree: ProcessTree, grace: Grace) -> Self {
        Self::begin(tree, |now| Ladder::start(now, grace))
    }

    /// Asks the tree to terminate at once.
    pub(crate) fn with_terminate(mut tree: ProcessTree, grace: Grace) -> Self {
        // A failure shows as a tree that does not end, for which there are the next steps.
        let _ = tree.signal(Step::Terminate);
        Self::begin(tree, |now| Ladder::start_terminating(now, grace))
    }

    fn begin(tree: ProcessTree, ladder: impl FnOnce(Instant) -> Ladder) -> Self {
        let clock = Clock::new();
        Self { phase: ExitPhase::Leader(tree), ladder: ladder(clock.now()), clock, give_up: None, hurried: None }
    }

    /// Skips the rest of the ladder as soon as this is true.
    pub(crate) fn unless(mut self, hurried: Arc<AtomicBool>) -> Self {
        self.hurried = Some(hurried);
        self
    }

    /// Skips all that is left of the ladder.
    pub(crate) fn kill_at_once(&mut self) {
        let no_grace = Grace { eof: Duration::ZERO, terminate: Duration::ZERO };
        self.ladder = Ladder::start_terminating(self.clock.now(), no_grace);
    }

    /// Looks at the processes and does what is due. The status of the leader, once nothing of the tree is left.
    pub(crate) fn poll(&mut self) -> Option<io::Result<ExitStatus>> {
        if self.hurried.take_if(|hurried| hurried.load(Ordering::Relaxed)).is_some() {
            self.kill_at_once();
        }
        let now = self.clock.now();
        let mut phase = std::mem::replace(&mut self.phase, ExitPhase::Over);
        if let ExitPhase::Leader(tree) = phase {
            phase = self.reap_if_exited(tree, now);
        }
        if let ExitPhase::Survivors(mut survivors, status) = phase {
            if !survivors.remain() {
                return Some(status);
            }
            phase = ExitPhase::Survivors(survivors, status);
        }
        self.phase = phase;
        self.climb(now);
        if self.give_up.is_some_and(|give_up| now >= give_up) {
            self.phase = ExitPhase::Over;
            return Some(Err(io::Error::new(io::ErrorKind::TimedOut, "a killed process of the server did not end")));
        }
        None
    }

    /// Looks until nothing of the tree is left.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(status) = self.poll() {
                return status;
            }
            let due = self.ladder.deadline().map_or(LONGEST_PAUSE, |deadline| self.clock.until(deadline));
            std::thread::sleep(pause.min(due.max(FIRST_PAUSE)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn reap_if_exited(&mut self, mut tree: ProcessTree, now: Instant) -> ExitPhase {
        // A leader that cannot be watched counts as gone: the group still has to be ended.
        if let Ok(None) = tree.exit_status() {
            return ExitPhase::Leader(tree);
        }
        if let Some(step) = self.ladder.skip_to_terminate(now) {
            let _ = tree.signal(step);
        }
        let (survivors, status) = tree.reap();
        ExitPhase::Survivors(survivors, status)
    }

    fn climb(&mut self, now: Instant) {
        let Some(step) = self.ladder.advance(now) else { return };
        let _ = match &mut self.phase {
            ExitPhase::Leader(tree) => tree.signal(step),
            ExitPhase::Survivors(survivors, _) => survivors.signal(step),
            ExitPhase::Over => Ok(()),
        };
        if step == Step::Kill {
            self.give_up = Some(now + KILL_PATIENCE);
        }
    }
}
