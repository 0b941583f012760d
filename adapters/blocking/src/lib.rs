//! [Windlass](windlass), the Model Context Protocol engine, on plain threads.
//!
//! ```no_run
//! use windlass_blocking::{Client, Command};
//!
//! fn example() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::connect(Command::new("my-server"))?;
//!     for tool in client.list_tools()? {
//!         println!("{}", tool.name);
//!     }
//!     client.close();
//!     Ok(())
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     windlass_blocking::run(example())
//! }
//! ```
//!
//! A client has no thread of its own: the thread that waits for a call drives the connection meanwhile, and if several
//! threads share a client, one of them does so for all. While nobody waits, nothing is driven: a program that wants to
//! hear notifications between its calls uses `Client::drive_for`, or waits on a `Subscription`.

#![cfg(unix)]
#![forbid(unsafe_code)]

#[cfg(feature = "ureq")]
mod through_ureq;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use windlass_host::sync::{self, Drive, Ready, Stream};

#[cfg(feature = "http")]
pub use windlass::link::http::{HttpClientConfig, HttpServerConfig};
pub use windlass::server::HandlerError;
pub use windlass::{CallError, CloseReason, Json, Limits, RpcError, SendError};
pub use windlass::{client, model, server};
pub use windlass_host::{
    Canceller, Closer, Command, ConnectError, Connector, Context, Endpoint, Error, Grace, ResourceRequest, ServeError,
};
#[cfg(feature = "http")]
pub use windlass_host::{Challenge, DialOptions, HttpListener, HttpTarget, ProxySettings};
#[cfg(feature = "tls")]
pub use windlass_host::{ServerTls, TlsOptions};

#[cfg(feature = "ureq")]
pub use through_ureq::through_ureq;
#[cfg(feature = "ureq")]
pub use ureq;

/// A connected client.
pub type Client = sync::Client<Blocking>;
/// Sets up a client.
pub type ClientBuilder = sync::ClientBuilder<Blocking>;
/// A running server.
pub type Server = sync::Server<Blocking>;
/// Fills a server and starts it.
pub type ServerBuilder = sync::ServerBuilder<Blocking>;
/// A subscription to changes on the server.
pub type Subscription = sync::Subscription<Blocking>;

/// Returns its argument. It stands where the asynchronous adapters run a future, so that programs look alike.
pub fn run<V>(value: V) -> V {
    value
}

/// Waiting by `poll`.
#[derive(Debug)]
pub struct Blocking {
    woken: UnixStream,
    waker: Arc<UnixStream>,
    #[cfg(feature = "http")]
    sockets: std::collections::BTreeMap<u64, Arc<std::os::fd::OwnedFd>>,
}

impl Drive for Blocking {
    const OWN_THREAD: bool = false;
    type Waker = Box<dyn Fn() + Send + Sync>;

    fn new() -> io::Result<Self> {
        let (woken, waker) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        Ok(Self {
            woken,
            waker: Arc::new(waker),
            #[cfg(feature = "http")]
            sockets: Default::default(),
        })
    }

    fn waker(&self) -> Self::Waker {
        let waker = self.waker.clone();
        // A full pipe wakes as well as one more byte would.
        Box::new(move || drop((&*waker).write(&[1])))
    }

    fn wait(&mut self, stream: Option<&Stream>, wanted: Ready, at_most: Option<Duration>) -> io::Result<Ready> {
        let woken = || PollFd::new(&self.woken, PollFlags::IN);
        // What is not wanted is left out altogether: its hang-up would be told again and again.
        let (mut descriptors, mut count) = ([woken(), woken(), woken()], 1);
        let mut watch = |descriptor| {
            descriptors[count] = descriptor;
            count += 1;
            count - 1
        };
        let input = stream.filter(|_| wanted.read).map(|it| watch(PollFd::new(&it.input, PollFlags::IN)));
        let output = stream.filter(|_| wanted.write).map(|it| watch(PollFd::new(&it.output, PollFlags::OUT)));
        let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut descriptors[..count], at_most.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        // Hang-ups and errors are for reading and writing to find out about.
        let is_ready = |at: usize| !descriptors[at].revents().is_empty();
        let ready = Ready { read: input.is_some_and(is_ready), write: output.is_some_and(is_ready) };
        if is_ready(0) {
            let mut wakes = [0; 64];
            while matches!((&self.woken).read(&mut wakes), Ok(64)) {}
        }
        Ok(ready)
    }

    #[cfg(feature = "http")]
    fn watch_socket(&mut self, number: u64, socket: Option<&Arc<std::os::fd::OwnedFd>>) -> io::Result<()> {
        match socket {
            Some(socket) => self.sockets.insert(number, socket.clone()),
            None => self.sockets.remove(&number),
        };
        Ok(())
    }

    #[cfg(feature = "http")]
    fn wait_for_sockets(
        &mut self,
        wanted: &mut dyn FnMut(u64) -> Ready,
        at_most: Option<Duration>,
        ready: &mut Vec<(u64, Ready)>,
    ) -> io::Result<()> {
        let mut descriptors = Vec::from([PollFd::new(&self.woken, PollFlags::IN)]);
        let mut numbers = Vec::new();
        for (&number, socket) in &self.sockets {
            let wanted = wanted(number);
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, wanted.read);
            flags.set(PollFlags::OUT, wanted.write);
            // What is not wanted is left out altogether: its hang-up would be told again and again.
            if !flags.is_empty() {
                numbers.push((number, wanted));
                descriptors.push(PollFd::new(socket, flags));
            }
        }
        let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut descriptors, at_most.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        for (&(number, wanted), descriptor) in numbers.iter().zip(&descriptors[1..]) {
            // Hang-ups and errors are for reading and writing to find out about.
            let told = descriptor.revents();
            let beyond = told.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            let is_ready = |wanted: bool, flag| wanted && (beyond || told.contains(flag));
            let found =
                Ready { read: is_ready(wanted.read, PollFlags::IN), write: is_ready(wanted.write, PollFlags::OUT) };
            if found != Ready::default() {
                ready.push((number, found));
            }
        }
        if !descriptors[0].revents().is_empty() {
            let mut wakes = [0; 64];
            while matches!((&self.woken).read(&mut wakes), Ok(64)) {}
        }
        Ok(())
    }
}
