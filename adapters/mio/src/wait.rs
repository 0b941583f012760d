//! The ready-made loop.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token, Waker};
use windlass::ConnId;
#[cfg(feature = "http")]
use windlass_host::io::Pollable;
#[cfg(feature = "http")]
use windlass_host::sync;
use windlass_host::sync::{Direction, Drive, Ready, StreamPair};

use crate::registration::{deregister, register};

const WAKE: Token = Token(0);
const INPUT: Token = Token(1);
const OUTPUT: Token = Token(2);
/// Those of sockets come behind these.
#[cfg(feature = "http")]
const FIRST_OF_SOCKETS: usize = 8;

/// Waiting by mio. It tells of changes only, so what is ready is remembered until it is exhausted.
#[derive(Debug)]
pub struct Mio {
    poll: Poll,
    events: Events,
    waker: Arc<Waker>,
    watched: Option<StreamPair>,
    ready: Ready,
    /// Whether the peer has hung up. That is told once, perhaps together with its last bytes, so that reading goes on
    /// until the end is read.
    hung_up: bool,
    #[cfg(feature = "http")]
    sockets: crate::sockets::Sockets,
}

impl Drive for Mio {
    const OWN_THREAD: bool = true;
    type Waker = Box<dyn Fn() + Send + Sync>;

    fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        Ok(Self {
            poll,
            events: Events::with_capacity(256),
            waker,
            watched: None,
            ready: Ready::default(),
            hung_up: false,
            #[cfg(feature = "http")]
            sockets: crate::sockets::Sockets::new(FIRST_OF_SOCKETS..usize::MAX),
        })
    }

    fn waker(&self) -> Self::Waker {
        let waker = self.waker.clone();
        // A loop that cannot be woken is one that is gone.
        Box::new(move || drop(waker.wake()))
    }

    fn wait(&mut self, stream: Option<&StreamPair>, wanted: Ready, at_most: Option<Duration>) -> io::Result<Ready> {
        self.watch(stream)?;
        let ready = self.ready_for(wanted);
        if ready != Ready::default() {
            return Ok(ready);
        }
        match self.poll.poll(&mut self.events, at_most) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Ready::default()),
            Err(error) => return Err(error),
        }
        for event in &self.events {
            match event.token() {
                INPUT => {
                    self.ready.read = true;
                    self.hung_up |= event.is_read_closed();
                }
                OUTPUT => self.ready.write = true,
                _ => {}
            }
        }
        Ok(self.ready_for(wanted))
    }

    fn forget(&mut self) {
        // Descriptors that cannot be taken back are about to be closed anyway.
        let _ = self.watch(None);
    }

    fn exhausted(&mut self, direction: Direction) {
        match direction {
            Direction::Read => self.ready.read = self.hung_up,
            Direction::Write => self.ready.write = false,
        }
    }
}

#[cfg(feature = "http")]
impl sync::Watch for Mio {
    fn watch_socket(&mut self, number: u64, socket: Option<&Pollable>) -> io::Result<()> {
        self.sockets.watch(self.poll.registry(), number, socket)
    }

    fn wait_for_sockets(
        &mut self,
        wanted: &mut dyn FnMut(u64) -> Ready,
        at_most: Option<Duration>,
        ready: &mut Vec<(u64, Ready)>,
    ) -> io::Result<()> {
        self.sockets.collect(wanted, ready);
        let at_most = if ready.is_empty() { at_most } else { Some(Duration::ZERO) };
        match self.poll.poll(&mut self.events, at_most) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        self.events.iter().for_each(|event| self.sockets.note(event));
        ready.clear();
        self.sockets.collect(wanted, ready);
        Ok(())
    }

    fn socket_exhausted(&mut self, number: u64, direction: Direction) {
        self.sockets.exhausted(number, direction);
    }
}

impl Mio {
    fn ready_for(&self, wanted: Ready) -> Ready {
        Ready { read: wanted.read && self.ready.read, write: wanted.write && self.ready.write }
    }

    /// Watches the stream that there is now, and no other.
    fn watch(&mut self, stream: Option<&StreamPair>) -> io::Result<()> {
        let conn = |stream: &StreamPair| -> ConnId { stream.conn };
        if self.watched.as_ref().map(conn) == stream.map(conn) {
            return Ok(());
        }
        let registry = self.poll.registry();
        if let Some(old) = self.watched.take() {
            deregister(registry, &old.input)?;
            deregister(registry, &old.output)?;
        }
        self.ready = Ready::default();
        self.hung_up = false;
        if let Some(new) = stream {
            register(registry, &new.input, INPUT, Interest::READABLE)?;
            register(registry, &new.output, OUTPUT, Interest::WRITABLE)?;
            self.watched = Some(new.clone());
        }
        Ok(())
    }
}
