//! A byte stream that the system gives us, and how to get one to the peer.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
#[cfg(feature = "server")]
use std::time::Duration;

use windlass::{ConnError, ConnErrorKind};

#[cfg(all(feature = "client", feature = "http"))]
use crate::HttpTarget;
use crate::io::Pollable;
#[cfg(feature = "server")]
use crate::wait::Lock;
use crate::wait::{Held, Shutdown};
use crate::{Child, Command, Grace, StderrTail};
#[cfg(feature = "server")]
use crate::{OutputPump, OwnStdio};

/// How long a client may take to read the last words.
#[cfg(feature = "server")]
const LAST_WORDS: Duration = Duration::from_millis(500);

/// One end of a byte stream: something to read from, something to write to, both non-blocking, and what is to be
/// ended with it.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) input: Pollable,
    pub(crate) output: Pollable,
    /// The server at the other end, if it is a child of ours.
    pub(crate) child: Option<Child>,
    /// It is not the end before the child is gone.
    pub(crate) held: Option<Held>,
    /// What still writes our standard output, if a thread does.
    #[cfg(feature = "server")]
    pub(crate) pump: Option<OutputPump>,
    /// Whether a read that leaves room means that there is no more, which a terminal does not promise.
    short_read_empties: bool,
    /// Whether it has been tried to give the output more room.
    widened: bool,
}

impl Endpoint {
    /// An end that reads from one stream and writes to another, which may be the same.
    pub fn of(input: Pollable, output: Pollable) -> Self {
        let short_read_empties = input.short_read_empties();
        Self {
            input,
            output,
            child: None,
            held: None,
            #[cfg(feature = "server")]
            pump: None,
            short_read_empties,
            widened: false,
        }
    }

    /// Our own standard input and output, for a server.
    ///
    /// # Errors
    ///
    /// When they have been taken already, or the system is out of descriptors or threads.
    #[cfg(feature = "server")]
    pub fn own_stdio() -> io::Result<Self> {
        let OwnStdio { input, output, pump } = OwnStdio::take()?;
        Ok(Self { pump: Some(pump), ..Self::of(Pollable::new(input)?, Pollable::new(output)?) })
    }

    /// Starts a server as a child process and takes its standard input and output.
    fn spawn(command: &Command) -> Result<Self, ConnError> {
        let not_opened = |detail: String| ConnError::new(ConnErrorKind::NotOpened, detail);
        let mut child = Child::spawn(command).map_err(|error| not_opened(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(not_opened("the child has no standard input or output".into()));
        };
        let pipes = Pollable::new(stdout).and_then(|stdout| Ok((stdout, Pollable::new(stdin)?)));
        let (input, output) = pipes.map_err(|error| not_opened(error.to_string()))?;
        Ok(Self { child: Some(child), ..Self::of(input, output) })
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    /// Gives a pipe that was too small for what is written more room, once. Returns whether that helped.
    ///
    /// Pipes that carry small messages only are left as they are: what all pipes of a user may hold is limited.
    pub(crate) fn widen(&mut self) -> bool {
        !std::mem::replace(&mut self.widened, true) && self.output.widen()
    }

    /// Whether a read that leaves room means that there is no more.
    pub(crate) fn short_read_empties(&self) -> bool {
        self.short_read_empties
    }

    /// Closes it. A child is given the chance to exit by itself, then made to.
    pub(crate) fn end(self, shutdown: &Arc<Shutdown>, grace: Grace) {
        let Self { input, output, child, held, .. } = self;
        // For a server that reads its standard input this is the sign to exit.
        drop((input, output));
        if let Some(child) = child {
            let held = held.unwrap_or_else(|| shutdown.hold());
            end_child(child, grace, shutdown, held);
        }
        #[cfg(feature = "server")]
        if let Some(pump) = self.pump.filter(OutputPump::is_running) {
            finish_output(pump, shutdown.hold());
        }
    }

    /// Leaves the child no time to exit by itself, once [`Shutdown::hurry`] is called.
    #[cfg(feature = "client")]
    pub(crate) fn end_child(&mut self, shutdown: &Arc<Shutdown>, grace: Grace) {
        if let Some(child) = self.child.take() {
            // The end does not wait for the stream as well: whoever would close it may be what holds everything up.
            let held = self.held.take().unwrap_or_else(|| shutdown.hold());
            end_child(child, grace, shutdown, held);
        }
    }
}

/// Writes our own last words, in the background: the process must not exit before.
#[cfg(feature = "server")]
fn finish_output(pump: OutputPump, held: Held) {
    // Shared, because a thread that cannot be started does not give back what it was to get.
    let pump = Arc::new(Lock::new(Some((pump, held))));
    let finish = |pump: &Lock<Option<(OutputPump, Held)>>| {
        let taken = pump.lock().take();
        if let Some((pump, _held)) = taken {
            let _ = pump.finish_within(LAST_WORDS);
        }
    };
    let taken = pump.clone();
    let thread = std::thread::Builder::new().name("windlass-output".into());
    if thread.spawn(move || finish(&taken)).is_err() {
        finish(&pump);
    }
}

/// Gives a child the chance to exit by itself, then makes it.
fn end_child(child: Child, grace: Grace, shutdown: &Shutdown, held: Held) {
    child.shut_down_unless_hurried(grace, shutdown.hurried().clone(), move |_| drop(held));
}

impl TryFrom<TcpStream> for Endpoint {
    type Error = io::Error;

    fn try_from(stream: TcpStream) -> io::Result<Self> {
        // Messages are whole when they are written; waiting for more to send would only delay them.
        stream.set_nodelay(true)?;
        let output = stream.try_clone()?;
        Ok(Self::of(Pollable::new(stream)?, Pollable::new(output)?))
    }
}

/// How to reach the peer. A machine may ask for it more than once.
pub enum Connector {
    /// Start it as a child process; asked again, start it anew.
    Command(Box<Command>),
    /// It is connected already, and cannot be connected again.
    Connected(Option<Endpoint>),
    /// It is reached over HTTP.
    #[cfg(all(feature = "client", feature = "http"))]
    Http(Box<HttpTarget>),
    /// Call this.
    Custom(Box<dyn FnMut() -> io::Result<Endpoint> + Send>),
}

impl Connector {
    /// Opens a stream to the peer.
    pub(crate) fn open(&mut self) -> Result<Endpoint, ConnError> {
        let not_opened = |detail: String| ConnError::new(ConnErrorKind::NotOpened, detail);
        match self {
            Self::Command(command) => Endpoint::spawn(command),
            Self::Connected(endpoint) => endpoint
                .take()
                .ok_or_else(|| not_opened("the stream has ended, and there is no way to open another".into())),
            #[cfg(all(feature = "client", feature = "http"))]
            Self::Http(target) => {
                let url = target.url();
                Err(not_opened(format!(
                    "{url}: this machine speaks on a single stream, and not HTTP; \
                     in a mio loop of your own, make a source that does with `Source::http_client`"
                )))
            }
            Self::Custom(open) => open().map_err(|error| not_opened(error.to_string())),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => f.debug_tuple("Command").field(command).finish(),
            Self::Connected(endpoint) => f.debug_tuple("Connected").field(endpoint).finish(),
            #[cfg(all(feature = "client", feature = "http"))]
            Self::Http(target) => f.debug_tuple("Http").field(target).finish(),
            Self::Custom(_) => f.write_str("Custom(..)"),
        }
    }
}

impl From<Command> for Connector {
    fn from(command: Command) -> Self {
        Self::Command(Box::new(command))
    }
}

#[cfg(all(feature = "client", feature = "http"))]
impl From<HttpTarget> for Connector {
    fn from(target: HttpTarget) -> Self {
        Self::Http(Box::new(target))
    }
}

impl From<Endpoint> for Connector {
    fn from(endpoint: Endpoint) -> Self {
        Self::Connected(Some(endpoint))
    }
}

/// What a child said on its standard error, kept beyond the child.
pub(crate) fn stderr_of(endpoint: &Endpoint) -> Option<StderrTail> {
    endpoint.child.as_ref().map(Child::stderr)
}
