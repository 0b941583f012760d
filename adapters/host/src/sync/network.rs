//! Waiting for many connections on one thread, and for clients that come in.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::{ConnError, ConnErrorKind, ConnId};

use super::{Direction, Drive, Ready};
use crate::net::HttpListener;
use crate::shared::Driven;

/// The number of the socket at which clients come in. Connections have smaller ones.
const DOOR: u64 = u64::MAX;

/// How often one connection is read before the others get their turn.
const FAIR_READS: usize = 16;

/// What is known of the connections between one waiting and the next.
#[derive(Default)]
pub(super) struct Network {
    listener: Option<HttpListener>,
    /// Whether the door is watched.
    watched: bool,
    paused_until: Option<Instant>,
    conns: BTreeMap<u64, ConnId>,
    /// Those that were not read to the end. A TLS session may hold what no readiness tells of.
    unfinished: BTreeSet<u64>,
    ready: Vec<(u64, Ready)>,
}

impl Network {
    pub(super) fn new(listener: Option<HttpListener>) -> Self {
        Self { listener, ..Self::default() }
    }

    /// Waits for whatever the connections are interested in, but no longer than this, and does it.
    pub(super) fn attend<D: Drive, M: Driven>(
        &mut self,
        drive: &mut D,
        driven: &Arc<M>,
        listen: bool,
        at_most: Option<Duration>,
    ) -> io::Result<()> {
        if !listen {
            self.close_door(drive);
        }
        self.watch(drive, driven)?;
        let pause = self.paused_until.map(|until| until.saturating_duration_since(Instant::now()));
        if pause.is_some_and(|pause| pause.is_zero()) {
            self.paused_until = None;
        }
        let held = self.held(driven);
        let at_most = if held.is_empty() { at_most.into_iter().chain(pause).min() } else { Some(Duration::ZERO) };
        let (conns, paused) = (&self.conns, self.paused_until.is_some());
        let mut wanted = |number| match conns.get(&number) {
            Some(conn) => {
                let wanted = driven.wire(*conn, None).map(|(_, wanted)| wanted).unwrap_or_default();
                Ready { read: wanted.read, write: wanted.write }
            }
            None => Ready { read: number == DOOR && !paused, write: false },
        };
        drive.wait_for_sockets(&mut wanted, at_most, &mut self.ready)?;
        for number in held {
            if !self.ready.iter().any(|(ready, _)| *ready == number) {
                self.ready.push((number, Ready { read: true, write: false }));
            }
        }
        for (number, ready) in std::mem::take(&mut self.ready) {
            match self.conns.get(&number) {
                Some(conn) => match move_connection(drive, driven, number, *conn, ready) {
                    true => self.unfinished.remove(&number),
                    false => self.unfinished.insert(number),
                },
                None if number == DOOR => {
                    self.let_in(drive, driven);
                    false
                }
                None => self.unfinished.remove(&number),
            };
        }
        Ok(())
    }

    /// The connections that can be read though their sockets may have nothing.
    fn held<M: Driven>(&self, driven: &Arc<M>) -> Vec<u64> {
        let holds = |conn: &ConnId| driven.wire(*conn, None).is_some_and(|(_, wanted)| wanted.now);
        self.unfinished.iter().copied().filter(|number| self.conns.get(number).is_some_and(holds)).collect()
    }

    /// Watches the sockets that there are now.
    fn watch<D: Drive, M: Driven>(&mut self, drive: &mut D, driven: &Arc<M>) -> io::Result<()> {
        if let Some(listener) = self.listener.as_ref().filter(|_| !self.watched) {
            drive.watch_socket(DOOR, Some(listener.socket()))?;
            self.watched = true;
        }
        for conn in driven.take_unwatched() {
            let number = u64::from(conn.number());
            let socket = driven.wire(conn, None).map(|(socket, _)| socket);
            match &socket {
                Some(_) => self.conns.insert(number, conn),
                None => {
                    self.unfinished.remove(&number);
                    self.conns.remove(&number)
                }
            };
            if let Err(error) = drive.watch_socket(number, socket.flatten().as_ref()) {
                driven.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, error.to_string()));
            }
        }
        Ok(())
    }

    fn let_in<D: Drive, M: Driven>(&mut self, drive: &mut D, driven: &Arc<M>) {
        let Some(listener) = &self.listener else { return };
        loop {
            match listener.accept() {
                Ok(wire) => driven.accept(wire),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return drive.socket_exhausted(DOOR, Direction::Read);
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
    pub(super) fn forget<D: Drive>(&mut self, drive: &mut D) {
        for number in std::mem::take(&mut self.conns).into_keys() {
            // A socket that cannot be taken back is about to be closed anyway.
            let _ = drive.watch_socket(number, None);
        }
        self.close_door(drive);
    }

    /// Lets nobody in any more.
    fn close_door<D: Drive>(&mut self, drive: &mut D) {
        if self.listener.is_some() {
            // It is let go here before the listener is, which tells that it is closed.
            let _ = drive.watch_socket(DOOR, None);
            self.listener = None;
        }
    }
}

/// Returns whether nothing is left to read.
fn move_connection<D: Drive, M: Driven>(
    drive: &mut D,
    driven: &Arc<M>,
    number: u64,
    conn: ConnId,
    ready: Ready,
) -> bool {
    if ready.write && driven.write_wire(conn).is_err() {
        drive.socket_exhausted(number, Direction::Write);
    }
    if ready.read {
        for _ in 0..FAIR_READS {
            if driven.read_wire(conn).exhausted {
                drive.socket_exhausted(number, Direction::Read);
                return true;
            }
            // What has ended, or is not wanted now, is not read in vain.
            if !driven.wire(conn, None).is_some_and(|(_, wanted)| wanted.read) {
                return false;
            }
        }
    }
    !ready.read
}
