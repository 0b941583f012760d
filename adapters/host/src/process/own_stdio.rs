//! Our own standard input and output, for a server that talks over them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{dup2_stdin, dup2_stdout};

/// Bytes that a pump moves at a time: what a pipe holds on Linux.
const PUMP_BYTES: usize = 64 * 1024;

/// The lowest descriptor for our duplicates, above the three standard ones.
const FIRST_FREE_DESCRIPTOR: i32 = 3;

/// There is one standard input and output for a process, so they can be taken once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Our standard input and output, taken away from the rest of the process.
///
/// Both are non-blocking and work with `epoll` and `kqueue`, whatever the parent has connected. The flags of what was
/// connected are left alone: the parent or the shell may share it, and a terminal that turned non-blocking would break
/// them. A pipe is opened a second time where the system allows it (Linux); everything else (terminals, files, sockets)
/// is joined to a socket pair by a thread that pumps the bytes.
///
/// From then on descriptor 0 is `/dev/null` and descriptor 1 is standard error, so that a stray `println!` cannot
/// corrupt the stream of messages, and neither can a process that the server starts.
///
/// ```no_run
/// use windlass_host::OwnStdio;
///
/// let stdio = OwnStdio::take()?;
/// println!("this shows up on standard error");
/// // … register `stdio.input` and `stdio.output` with an event loop and serve …
/// stdio.finish()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct OwnStdio {
    /// Where the client's messages come from.
    pub input: OwnedFd,
    /// Where our messages go to.
    pub output: OwnedFd,
    /// Whoever moves `output` elsewhere calls [`OutputPump::finish`] after closing it.
    pub pump: OutputPump,
}

impl OwnStdio {
    /// Takes standard input and output. What has been printed before and is still buffered goes to standard error.
    ///
    /// # Errors
    ///
    /// When they have been taken already, or when the system is out of descriptors or threads.
    pub fn take() -> io::Result<Self> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "standard input and output have already been taken by this process",
            ));
        }
        let taken = Self::take_first();
        TAKEN.store(taken.is_ok(), Ordering::SeqCst);
        taken
    }

    /// Closes both and waits until all output has reached what was connected to standard output.
    ///
    /// # Errors
    ///
    /// When it could not be written, for instance because the client is gone.
    pub fn finish(self) -> io::Result<()> {
        drop((self.input, self.output));
        self.pump.finish()
    }

    fn take_first() -> io::Result<Self> {
        let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let original_input = duplicate(io::stdin().as_fd())?;
        let original_output = duplicate(io::stdout().as_fd())?;

        let input = match reopen_pipe(&original_input, OFlags::RDONLY) {
            Some(input) => input,
            None => pump_input(original_input)?,
        };
        let (output, pump) = match reopen_pipe(&original_output, OFlags::WRONLY) {
            Some(output) => (output, OutputPump { done: None }),
            None => pump_output(original_output)?,
        };
        dup2_stdin(null)?;
        dup2_stdout(io::stderr().as_fd())?;
        Ok(Self { input, output, pump })
    }
}

/// The thread that writes our output, where one is needed.
#[derive(Debug)]
pub struct OutputPump {
    done: Option<Receiver<io::Result<()>>>,
}

impl OutputPump {
    /// Whether there is a thread to wait for.
    pub fn is_running(&self) -> bool {
        self.done.is_some()
    }

    /// Waits until all output has been written. [`OwnStdio::output`] has to be closed before, duplicates included.
    ///
    /// # Errors
    ///
    /// When it could not be written, for instance because the client is gone.
    pub fn finish(self) -> io::Result<()> {
        let Some(done) = self.done else { return Ok(()) };
        done.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that writes standard output panicked")))
    }

    /// The same, but no longer than this: a client that does not read is not waited for.
    ///
    /// # Errors
    ///
    /// When it could not be written, or not in time.
    pub fn finish_within(self, patience: Duration) -> io::Result<()> {
        let Some(done) = self.done else { return Ok(()) };
        done.recv_timeout(patience).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

fn duplicate(descriptor: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST_FREE_DESCRIPTOR)?)
}

/// The same pipe with flags of its own. Not everywhere possible: other systems have no such path or make a duplicate of
/// it, and a pipe that another user made may not be opened.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reopen_pipe(original: &OwnedFd, direction: OFlags) -> Option<OwnedFd> {
    use rustix::fs::FileType;
    use std::os::fd::AsRawFd;

    let is_pipe = FileType::from_raw_mode(rustix::fs::fstat(original).ok()?.st_mode) == FileType::Fifo;
    let path = format!("/proc/self/fd/{}", original.as_raw_fd());
    let flags = direction | OFlags::NONBLOCK | OFlags::CLOEXEC;
    is_pipe.then(|| rustix::fs::open(path, flags, Mode::empty()).ok()).flatten()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn reopen_pipe(_original: &OwnedFd, _direction: OFlags) -> Option<OwnedFd> {
    None
}

/// This thread is never joined: it may wait for input that does not come for as long as the process lives.
fn pump_input(original: OwnedFd) -> io::Result<OwnedFd> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    thread::Builder::new().name("windlass-stdin".into()).spawn(move || {
        // An error of either side ends the input, which is all that the server has to know.
        let _ = pump(&File::from(original), &theirs);
    })?;
    Ok(ours.into())
}

fn pump_output(original: OwnedFd) -> io::Result<(OwnedFd, OutputPump)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    ours.shutdown(Shutdown::Read)?;
    let (tell, done) = mpsc::channel();
    thread::Builder::new().name("windlass-stdout".into()).spawn(move || {
        // Whoever does not wait any more does not want to know.
        let _ = tell.send(pump(&theirs, &File::from(original)));
    })?;
    Ok((ours.into(), OutputPump { done: Some(done) }))
}

/// Moves bytes until the source ends.
fn pump<Source: AsFd, Sink: AsFd>(source: &Source, sink: &Sink) -> io::Result<()>
where
    for<'a> &'a Source: Read,
    for<'a> &'a Sink: Write,
{
    let mut buffer = vec![0; PUMP_BYTES];
    loop {
        let count = when_ready(source, PollFlags::IN, || (&*source).read(&mut buffer))?;
        let mut rest = &buffer[..count];
        if rest.is_empty() {
            return Ok(());
        }
        while !rest.is_empty() {
            match when_ready(sink, PollFlags::OUT, || (&*sink).write(rest))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => rest = &rest[written..],
            }
        }
    }
}

/// Repeats `transfer` until it has an answer. The parent may have made the descriptor non-blocking, which is its right.
fn when_ready(
    descriptor: &impl AsFd,
    readiness: PollFlags,
    mut transfer: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match transfer() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(descriptor, readiness)], None);
            }
            answer => return answer,
        }
    }
}
