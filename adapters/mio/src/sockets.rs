//! Many sockets in one loop. mio tells of changes only, so what is ready is remembered until it is exhausted; those that
//! nothing is known of cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Events, Interest, Registry, Token};
use windlass_host::sync::{Direction, Ready};

/// Smaller tokens belong to the loop itself.
const FIRST: usize = 8;

/// The sockets of a loop.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    watched: BTreeMap<u64, Watched>,
    /// Those of which something is ready.
    stirred: BTreeSet<u64>,
}

#[derive(Debug)]
struct Watched {
    socket: Arc<OwnedFd>,
    ready: Ready,
    /// Whether the peer has hung up. That is told once, perhaps together with its last bytes, so that reading goes on
    /// until the end is read.
    hung_up: bool,
}

impl Sockets {
    pub(crate) fn watch(&mut self, registry: &Registry, number: u64, socket: Option<&Arc<OwnedFd>>) -> io::Result<()> {
        if let (Some(old), Some(new)) = (self.watched.get(&number), socket) {
            if Arc::ptr_eq(&old.socket, new) {
                return Ok(());
            }
        }
        if let Some(old) = self.watched.remove(&number) {
            self.stirred.remove(&number);
            registry.deregister(&mut SourceFd(&old.socket.as_raw_fd()))?;
        }
        let Some(socket) = socket else { return Ok(()) };
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut SourceFd(&socket.as_raw_fd()), token(number), interest)?;
        // It may have been ready before anybody looked; trying does no harm.
        let ready = Ready { read: true, write: true };
        self.watched.insert(number, Watched { socket: socket.clone(), ready, hung_up: false });
        self.stirred.insert(number);
        Ok(())
    }

    /// Takes in what the loop was told.
    pub(crate) fn note(&mut self, events: &Events) {
        for event in events {
            let Some(number) = number(event.token()) else { continue };
            let Some(watched) = self.watched.get_mut(&number) else { continue };
            watched.ready.read |= event.is_readable() || event.is_read_closed() || event.is_error();
            watched.ready.write |= event.is_writable() || event.is_write_closed() || event.is_error();
            watched.hung_up |= event.is_read_closed();
            self.stirred.insert(number);
        }
    }

    /// Those of which something is both ready and wanted.
    pub(crate) fn collect(&mut self, wanted: &mut dyn FnMut(u64) -> Ready, ready: &mut Vec<(u64, Ready)>) {
        for &number in &self.stirred {
            let Some(watched) = self.watched.get(&number) else { continue };
            let wanted = wanted(number);
            let found = Ready { read: wanted.read && watched.ready.read, write: wanted.write && watched.ready.write };
            if found != Ready::default() {
                ready.push((number, found));
            }
        }
    }

    pub(crate) fn exhausted(&mut self, number: u64, direction: Direction) {
        let Some(watched) = self.watched.get_mut(&number) else { return };
        match direction {
            Direction::Read => watched.ready.read = watched.hung_up,
            Direction::Write => watched.ready.write = false,
        }
        if !watched.ready.read {
            // That it can be written is nearly always so, and is found out by trying.
            self.stirred.remove(&number);
        }
    }
}

fn token(number: u64) -> Token {
    // The largest number is the door's.
    Token(if number == u64::MAX { FIRST } else { FIRST + 1 + number as usize })
}

fn number(token: Token) -> Option<u64> {
    match token.0.checked_sub(FIRST)? {
        0 => Some(u64::MAX),
        more => Some(more as u64 - 1),
    }
}
