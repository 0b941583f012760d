//! A running server process.

use std::fmt;
use std::io;
use std::process::{ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::command::{Command, Stderr};
use super::ladder::{Grace, Step};
use super::process_tree::{ProcessExit, ProcessTree, system_command};
use super::spawn_error::SpawnError;
use super::stderr::StderrTail;
use crate::wait::{self, Lock, leaving};

/// A server that runs as a child process, together with everything that it starts.
///
/// On Unix the child leads a process group of its own, on Windows it belongs to a job object; all of it is ended
/// together. Its standard error is always read, unless it is inherited, so that it cannot block the server.
///
/// # The end
///
/// The end is the one that the specification asks for: the child's standard input is closed; after [`Grace::eof`] the
/// group is asked to terminate; after [`Grace::terminate`] it is killed; then it is reaped. There are three ways:
///
/// - [`shut_down`](Self::shut_down) does it all and blocks;
/// - [`shut_down_with`](Self::shut_down_with) does it all on a short-lived thread and reports;
/// - a driver with its own timers steps a [`Ladder`](crate::Ladder), passes each step to [`signal`](Self::signal),
///   looks at [`try_exit`](Self::try_exit), and drops the child at the end.
///
/// Dropping a child never blocks for long: its standard input is closed, the group is asked to terminate at once, and a
/// thread sees to the rest. If the thread that dropped it ends before that is done, it waits for it, which is the main
/// thread's way to leave nobody behind when the program ends right afterwards. A program that is killed, aborted, or
/// exits from another thread cannot wait: then a server stays behind if it heeds neither the end of its input nor the
/// request to terminate. Neither can one where the locals of the main thread are not dropped, as with musl.
///
/// ```
/// # #[cfg(unix)] {
/// use std::io::{BufRead, BufReader, Write};
/// use windlass_host::{Child, Command, Grace};
///
/// let mut child = Child::spawn(&Command::new("cat"))?;
/// let mut input = child.take_stdin().expect("not taken yet");
/// let mut output = BufReader::new(child.take_stdout().expect("not taken yet"));
///
/// input.write_all(b"{}\n")?;
/// let mut line = String::new();
/// output.read_line(&mut line)?;
/// assert_eq!(line, "{}\n");
///
/// drop(input);
/// assert!(child.shut_down(Grace::default())?.success());
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Child {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: StderrTail,
    /// Gone once somebody has taken over the end of it.
    tree: Option<ProcessTree>,
    id: u32,
}

impl Child {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// When the program, its working directory or the system's limits do not allow it; nothing is left running.
    pub fn spawn(command: &Command) -> Result<Self, SpawnError> {
        let environment = command.environment();
        let refused = |source| SpawnError::Refused { program: command.program.clone(), source };
        let mut system_command = system_command(command, &environment)?;
        system_command.stdin(Stdio::piped()).stdout(Stdio::piped());
        system_command.stderr(match command.stderr {
            Stderr::Collected(_) => Stdio::piped(),
            Stderr::Inherited => Stdio::inherit(),
        });
        system_command.env_clear().envs(environment.iter().map(|(key, value)| (key, value)));
        if let Some(cwd) = &command.cwd {
            system_command.current_dir(cwd);
        }

        let mut process = system_command.spawn().map_err(|error| SpawnError::explain(command, &environment, error))?;
        let (stdin, stdout, stderr) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let tree = ProcessTree::new(process).map_err(refused)?;
        let id = tree.id();
        let mut child = Self { stdin, stdout, stderr: StderrTail::closed(), tree: Some(tree), id };
        if let (Some(stderr), Stderr::Collected(callback)) = (stderr, &command.stderr) {
            // When there is no thread for it, the child is dropped here and so ended.
            child.stderr = StderrTail::drain(stderr, callback.clone()).map_err(refused)?;
        }
        Ok(child)
    }

    /// The child's standard input, once. Whoever takes it closes it (by dropping it) to begin a shutdown.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// The child's standard output, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The process id of the child; on Unix also the id of its group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The last lines of the child's standard error, oldest first; empty if it is inherited.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.stderr.lines()
    }

    /// A handle on that tail which outlives the child, for a message that explains its death.
    pub fn stderr(&self) -> StderrTail {
        self.stderr.clone()
    }

    /// Whether the child has exited, and how. Does not wait. What the child itself has started may still run.
    ///
    /// # Errors
    ///
    /// When the system cannot say, for instance because the host ignores `SIGCHLD`.
    pub fn try_exit(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.tree {
            Some(tree) => tree.exit_status(),
            None => Err(ended()),
        }
    }

    /// Takes a step of the shutdown ladder: signals the whole group. Succeeds if nobody is left to be told.
    ///
    /// # Errors
    ///
    /// When the system refuses, for instance because the child has changed its user.
    pub fn signal(&mut self, step: Step) -> io::Result<()> {
        match &mut self.tree {
            Some(tree) => tree.signal(step),
            None => Err(ended()),
        }
    }

    /// Ends the child and all that it has started, and waits until nothing of it is left.
    ///
    /// Standard input that was [taken](Self::take_stdin) has to be dropped before: the child is to see its end.
    /// Standard output that was taken and is not read may keep a child from exiting on its own; it is terminated then.
    ///
    /// # Errors
    ///
    /// When the child cannot be watched, or a killed process does not end within a few seconds.
    pub fn shut_down(mut self, grace: Grace) -> io::Result<ExitStatus> {
        self.begin_end(grace).ok_or_else(ended)?.wait()
    }

    /// Does the same as [`shut_down`](Self::shut_down) on a short-lived thread, which calls `done` at the end.
    pub fn shut_down_with(self, grace: Grace, done: impl FnOnce(io::Result<ExitStatus>) + Send + 'static) {
        self.shut_down_unless_hurried(grace, Arc::default(), done);
    }

    /// The same, but the child is killed as soon as `hurried` is true.
    pub(crate) fn shut_down_unless_hurried(
        mut self,
        grace: Grace,
        hurried: Arc<AtomicBool>,
        done: impl FnOnce(io::Result<ExitStatus>) + Send + 'static,
    ) {
        match self.begin_end(grace) {
            Some(exit) => end_in_background(exit.unless(hurried), grace, done),
            None => done(Err(ended())),
        }
    }

    fn begin_end(&mut self, grace: Grace) -> Option<ProcessExit> {
        self.stdin = None;
        self.tree.take().map(|tree| ProcessExit::after_end_of_input(tree, grace))
    }
}

/// Closes standard input, asks the group to terminate, and leaves the rest of the ladder to a thread.
impl Drop for Child {
    fn drop(&mut self) {
        self.stdin = None;
        self.stdout = None;
        let Some(tree) = self.tree.take() else { return };
        let mut exit = ProcessExit::with_terminate(tree, Grace::default());
        // A child that has already exited, which is usual, needs no thread.
        if exit.poll().is_none() {
            end_in_background(exit, Grace::default(), |_| ());
        }
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("id", &self.id).finish_non_exhaustive()
    }
}

fn end_in_background(exit: ProcessExit, grace: Grace, done: impl FnOnce(io::Result<ExitStatus>) + Send + 'static) {
    let over = Arc::new(wait::Shutdown::default());
    let held = over.hold();
    leaving::wait_at_end_of_thread(&over, grace);
    let done = move |status| {
        done(status);
        drop(held);
    };
    // Shared, because a thread that cannot be started does not give back what it was to get.
    let work = Arc::new(Lock::new(Some((exit, done))));
    let taken = Arc::clone(&work);
    let take = |work: &Lock<Option<_>>| work.lock().take();
    let started = thread::Builder::new().name("windlass-reaper".into()).spawn(move || {
        if let Some((mut exit, done)) = take(&taken) {
            done(exit.wait());
        }
    });
    if started.is_err() {
        if let Some((mut exit, done)) = take(&work) {
            exit.kill_at_once();
            done(exit.wait());
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the child has already been ended")
}
