//! Waiting for many connections on one thread, and for clients that come in.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use windlass::ConnId;

use super::{Direction, Ready, Watch};
use crate::drive::shared::HasHub;
use crate::net::HttpListener;

/// The number of the socket at which clients come in. Connections have smaller ones.
const LISTENER: u64 = u64::MAX;

/// How often one connection is read before the others get their turn. A read is of 64 KiB at the most: with a thousand
/// who send as much as they can, whoever has a small question waits for that many times this before it is looked at.
const FAIR_READS: usize = 4;

/// How many clients are let in before the connections that there are get their turn. Whoever connects again and again
/// would hold up all others.
pub(crate) const FAIR_ACCEPTS: usize = 64;

/// What is known of the connections between one waiting and the next.
#[derive(Default)]
pub(crate) struct WatchedConnections {
    listener: Option<HttpListener>,
    /// Whether the listener is watched.
    watched: bool,
    paused_until: Option<Instant>,
    conns: BTreeMap<u64, ConnId>,
    /// Those that were not read to the end. A TLS session may hold what no readiness tells of.
    unfinished: BTreeSet<u64>,
    ready: Vec<(u64, Ready)>,
}

impl WatchedConnections {
    pub(crate) fn new(listener: Option<HttpListener>) -> Self {
        Self { listener, ..Self::default() }
    }

    /// Waits for whatever the connections are interested in, but no longer than this, and does it. Returns whether there
    /// was anything to do.
    pub(crate) fn attend<W: Watch, C: HasHub>(
        &mut self,
        drive: &mut W,
        driven: &C,
        listen: bool,
        at_most: Option<Duration>,
    ) -> io::Result<bool> {
        if !listen {
            self.close_listener(drive);
        }
        let unwatchable = self.watch(drive, driven)?;
        let pause = self.pause();
        if pause.is_some_and(|pause| pause.is_zero()) {
            self.paused_until = None;
        }
        let held = self.held(driven);
        let at_most = if held.is_empty() { at_most.into_iter().chain(pause).min() } else { Some(Duration::ZERO) };
        let (conns, paused) = (&self.conns, self.paused_until.is_some());
        let mut wanted = |number| match conns.get(&number) {
            Some(conn) => {
                let wanted = driven.connection_interest(*conn, None).map(|(_, wanted)| wanted).unwrap_or_default();
                Ready { read: wanted.read, write: wanted.write }
            }
            None => Ready { read: number == LISTENER && !paused, write: false },
        };
        drive.wait_for_sockets(&mut wanted, at_most, &mut self.ready)?;
        for number in held {
            if !self.ready.iter().any(|(ready, _)| *ready == number) {
                self.ready.push((number, Ready { read: true, write: false }));
            }
        }
        let acted = unwatchable || !self.ready.is_empty();
        for (number, ready) in std::mem::take(&mut self.ready) {
            match self.conns.get(&number) {
                Some(conn) => match move_connection(drive, driven, number, *conn, ready) {
                    true => self.unfinished.remove(&number),
                    false => self.unfinished.insert(number),
                },
                None if number == LISTENER => {
                    self.let_in(drive, driven);
                    false
                }
                None => self.unfinished.remove(&number),
            };
        }
        Ok(acted)
    }

    /// How long nobody is let in, because there was no room for another client.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.paused_until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// The connections that can be read though their sockets may have nothing.
    fn held<C: HasHub>(&self, driven: &C) -> Vec<u64> {
        let holds = |conn: &ConnId| driven.connection_interest(*conn, None).is_some_and(|(_, wanted)| wanted.now);
        self.unfinished.iter().copied().filter(|number| self.conns.get(number).is_some_and(holds)).collect()
    }

    /// Watches the sockets that there are now. Returns whether any could not be, which its machine has been told.
    pub(super) fn watch<W: Watch, C: HasHub>(&mut self, drive: &mut W, driven: &C) -> io::Result<bool> {
        let mut unwatchable = false;
        if let Some(listener) = self.listener.as_ref().filter(|_| !self.watched) {
            drive.watch_socket(LISTENER, Some(listener.pollable()))?;
            self.watched = true;
        }
        for conn in driven.take_unwatched() {
            let number = u64::from(conn.number());
            let socket = driven.connection_interest(conn, None).map(|(socket, _)| socket);
            match &socket {
                Some(_) => self.conns.insert(number, conn),
                None => {
                    self.unfinished.remove(&number);
                    self.conns.remove(&number)
                }
            };
            if let Err(error) = drive.watch_socket(number, socket.flatten().as_ref()) {
                driven.conn_failed(conn, &error);
                unwatchable = true;
            }
        }
        Ok(unwatchable)
    }

    fn let_in<W: Watch, C: HasHub>(&mut self, drive: &mut W, driven: &C) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..FAIR_ACCEPTS {
            match listener.accept() {
                Ok(connection) => driven.accept(connection),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return drive.socket_exhausted(LISTENER, Direction::Read);
                }
                // Too many open files, most likely. Clients that leave make room.
                Err(_) => {
                    self.paused_until = Some(Instant::now() + HttpListener::PAUSE);
                    return;
                }
            }
        }
    }

    /// Lets go of everything.
    pub(crate) fn forget<W: Watch>(&mut self, drive: &mut W) {
        for number in std::mem::take(&mut self.conns).into_keys() {
            // A socket that cannot be taken back is about to be closed anyway.
            let _ = drive.watch_socket(number, None);
        }
        self.close_listener(drive);
    }

    /// Lets nobody in any more.
    fn close_listener<W: Watch>(&mut self, drive: &mut W) {
        if self.listener.is_some() {
            // It is let go here before the listener is, which tells that it is closed.
            let _ = drive.watch_socket(LISTENER, None);
            self.listener = None;
        }
    }
}

/// Returns whether nothing is left to read.
fn move_connection<W: Watch, C: HasHub>(drive: &mut W, driven: &C, number: u64, conn: ConnId, ready: Ready) -> bool {
    if ready.write && driven.write_connection(conn).is_err() {
        drive.socket_exhausted(number, Direction::Write);
    }
    if ready.read {
        for _ in 0..FAIR_READS {
            if driven.read_connection(conn).exhausted {
                drive.socket_exhausted(number, Direction::Read);
                return true;
            }
            // What has ended, or is not wanted now, is not read in vain.
            if !driven.connection_interest(conn, None).is_some_and(|(_, wanted)| wanted.read) {
                return false;
            }
        }
    }
    !ready.read
}
