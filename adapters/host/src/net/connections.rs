//! The connections of one machine, as many as it has at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
#[cfg(feature = "client")]
use std::sync::Arc;
use std::task::Waker;

#[cfg(feature = "client")]
use windlass::HttpTarget;
use windlass::{ConnId, Instant, Machine};

#[cfg(feature = "client")]
use super::dial::{Address, DialOptions};
use super::{Readiness, SocketConnection, Wake};
use crate::Clock;
use crate::drive::Reading;
use crate::io::Pollable;

/// The connections of a machine, and what their driver has to know of them.
pub(crate) struct SocketConnections {
    #[cfg(feature = "client")]
    options: Arc<DialOptions>,
    clock: Clock,
    /// Makes the driver look again.
    wake: Wake,
    connections: BTreeMap<ConnId, Held>,
    /// Those whose socket is not the one that the driver knows: new ones, changed ones, ones that are gone.
    unwatched: Vec<ConnId>,
    /// Those that are being looked up or connected to, of which readiness does not tell all.
    dialing: BTreeSet<ConnId>,
    /// Those that time moves on as well, being opened or being closed, by when it does.
    timed: BTreeSet<(Instant, ConnId)>,
    /// Those that are closed but for what their peers still send, in this order. Their machine knows no more of them.
    closing: VecDeque<ConnId>,
}

struct Held {
    connection: SocketConnection,
    /// Wakes the task that moves this one, where each has its own.
    mover: Option<Waker>,
    /// What whoever moves it waits for.
    awaited: Readiness,
    /// Where it is among those that time moves on.
    due: Option<Instant>,
}

impl SocketConnections {
    /// Connections at a time that are closed but for what their peers still send. No machine counts them: peers that
    /// connect, are refused and stay would take up all descriptors. Beyond it the oldest are closed at once.
    pub(crate) const LINGERING: usize = 256;

    pub(crate) fn new(clock: Clock, wake: Wake) -> Self {
        Self {
            #[cfg(feature = "client")]
            options: Arc::default(),
            clock,
            wake,
            connections: BTreeMap::new(),
            unwatched: Vec::new(),
            dialing: BTreeSet::new(),
            timed: BTreeSet::new(),
            closing: VecDeque::new(),
        }
    }

    /// Those of a machine that has them opened.
    #[cfg(feature = "client")]
    pub(crate) fn dialled_by(options: DialOptions, clock: Clock, wake: Wake) -> Self {
        Self { options: Arc::new(options), ..Self::new(clock, wake) }
    }

    /// Begins to connect.
    #[cfg(feature = "client")]
    pub(crate) fn open(&mut self, conn: ConnId, target: HttpTarget) {
        let address =
            Address { host: target.host, port: target.port, tls: target.tls, public_only: target.public_only };
        let connection = SocketConnection::dial(address, &self.options, self.clock, self.wake.clone());
        self.insert(conn, connection);
    }

    /// Takes in a connection that was accepted.
    pub(crate) fn insert(&mut self, conn: ConnId, connection: SocketConnection) {
        self.connections.insert(conn, Held { connection, mover: None, awaited: Readiness::default(), due: None });
        self.unwatched.push(conn);
        self.with(conn, |_| ());
    }

    /// Closes a connection on which everything is written.
    pub(crate) fn close(&mut self, conn: ConnId) {
        let clock = self.clock;
        self.with(conn, |connection| connection.close(clock));
        if let Some(mover) = self.connections.get_mut(&conn).and_then(|held| held.mover.take()) {
            mover.wake();
        }
        if self.connections.get(&conn).is_some_and(|held| held.connection.is_closing()) {
            self.closing.push_back(conn);
        }
        while self.closing.len() > Self::LINGERING {
            let Some(oldest) = self.closing.pop_front() else { break };
            self.with(oldest, SocketConnection::close_at_once);
        }
    }

    /// Lets go of a connection that nobody can wait for.
    pub(crate) fn drop_one(&mut self, conn: ConnId) {
        self.with(conn, SocketConnection::close_at_once);
    }

    /// Lets go of all connections, and gives their names.
    pub(crate) fn drop_all(&mut self) -> Vec<ConnId> {
        self.unwatched.clear();
        self.dialing.clear();
        self.timed.clear();
        self.closing.clear();
        std::mem::take(&mut self.connections).into_keys().collect()
    }

    pub(crate) fn read<M: Machine>(&mut self, machine: &mut M, conn: ConnId) -> Reading {
        let clock = self.clock;
        let read = self.with(conn, |connection| {
            let Ok(mut exhausted) = connection.read(machine, conn, clock) else {
                return Reading { count: 0, exhausted: true };
            };
            // Something was read: that there is no more must not have the driver wait before the machine has seen it.
            while !exhausted && connection.interest(machine.reads(conn), false).now {
                match connection.read(machine, conn, clock) {
                    Ok(nothing_left) => exhausted = nothing_left,
                    Err(_) => break,
                }
            }
            Reading { count: 1, exhausted }
        });
        read.unwrap_or(Reading { count: 1, exhausted: false })
    }

    pub(crate) fn write<M: Machine>(&mut self, machine: &mut M, conn: ConnId) -> io::Result<()> {
        let clock = self.clock;
        self.with(conn, |connection| connection.write(machine, conn, clock)).unwrap_or(Ok(()))
    }

    /// Writes on the connections that have something new, and looks after those that are not open yet. Returns whether
    /// the machine may have something to say about that.
    pub(crate) fn advance<M: Machine>(&mut self, machine: &mut M) -> bool {
        let mut progress = false;
        if !(self.dialing.is_empty() && self.timed.is_empty()) {
            let now = self.clock.now();
            let due = self.timed.iter().take_while(|(due, _)| *due <= now).map(|(_, conn)| conn);
            let moved: Vec<_> = self.dialing.iter().chain(due).copied().collect();
            for conn in moved {
                let (clock, before) = (self.clock, self.connections.len());
                self.with(conn, |connection| connection.advance(machine, conn, clock));
                progress |= self.connections.len() != before;
            }
        }
        while let Some(conn) = machine.next_to_move() {
            progress = true;
            // What could not be written now is waited for.
            let _ = self.write(machine, conn);
            self.have_awaited(machine, conn);
        }
        progress
    }

    /// Wakes whoever moves a connection if it does not wait for what has become possible, or necessary.
    fn have_awaited<M: Machine>(&mut self, machine: &mut M, conn: ConnId) {
        let Some(held) = self.connections.get_mut(&conn) else { return };
        let wanted = held.connection.interest(machine.reads(conn), !machine.write_buf(conn).is_empty());
        if held.awaited.covers(wanted) {
            return;
        }
        match held.mover.take() {
            Some(mover) => mover.wake(),
            None => (self.wake)(),
        }
    }

    /// Does something with a connection, and notes what that did to it.
    fn with<V>(&mut self, conn: ConnId, act: impl FnOnce(&mut SocketConnection) -> V) -> Option<V> {
        let held = self.connections.get_mut(&conn)?;
        let socket = |connection: &SocketConnection| connection.socket().map(Pollable::identity);
        let before = socket(&held.connection);
        let value = act(&mut held.connection);
        if socket(&held.connection) != before {
            self.unwatched.push(conn);
            if let Some(mover) = held.mover.take() {
                mover.wake();
            }
        }
        match held.connection.is_dialing() {
            true => self.dialing.insert(conn),
            false => !self.dialing.is_empty() && self.dialing.remove(&conn),
        };
        let due = held.connection.deadline();
        if held.due != due {
            let before = std::mem::replace(&mut held.due, due);
            before.map(|before| self.timed.remove(&(before, conn)));
            due.map(|due| self.timed.insert((due, conn)));
        }
        if held.connection.is_over() {
            self.connections.remove(&conn);
            self.closing.retain(|closing| *closing != conn);
        }
        Some(value)
    }

    /// What to wait for on a connection; `None` if it is gone.
    pub(crate) fn interest<M: Machine>(
        &mut self,
        machine: &mut M,
        conn: ConnId,
        mover: Option<&Waker>,
    ) -> Option<(Option<Pollable>, Readiness)> {
        let held = self.connections.get_mut(&conn)?;
        if let Some(mover) = mover {
            held.mover = Some(mover.clone());
        }
        let reads = machine.reads(conn);
        let writes = !machine.write_buf(conn).is_empty();
        held.awaited = held.connection.interest(reads, writes);
        Some((held.connection.socket().cloned(), held.awaited))
    }

    /// The connections whose sockets the driver does not know.
    pub(crate) fn take_unwatched(&mut self) -> Vec<ConnId> {
        std::mem::take(&mut self.unwatched)
    }

    pub(crate) fn has_unwatched(&self) -> bool {
        !self.unwatched.is_empty()
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timed.first().map(|(due, _)| *due)
    }

    /// Whether nothing is being closed any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }
}

#[cfg(all(test, feature = "client", feature = "server"))]
mod tests {
    use std::net::TcpStream;

    use windlass::link::http::{HttpServer, HttpServerConfig};
    use windlass::model::Implementation;
    use windlass::server::{Registry, ServerConfig};
    use windlass::{Output, Seed};

    use super::*;
    use crate::HttpListener;

    #[test]
    fn peers_that_are_refused_and_stay_are_not_all_waited_for() {
        let clock = Clock::new();
        let mut http = HttpServerConfig::on_loopback();
        http.connections = 0;
        let config = ServerConfig::new(Implementation::new("test", "1"));
        let mut machine: HttpServer<(), ()> =
            HttpServer::new(config, http, Registry::new(), &Seed::from_number(1), clock.now());
        let mut connections = SocketConnections::new(clock, Arc::new(|| {}));
        let listener = HttpListener::bind("127.0.0.1:0").unwrap();
        let mut staying = Vec::new();
        for _ in 0..SocketConnections::LINGERING + 50 {
            staying.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let conn = machine.accept(clock.now());
            connections.insert(conn, listener.accept().unwrap());
            let Output::Close(refused) = machine.poll() else { panic!("there is no room for anybody") };
            assert_eq!(refused, conn);
            connections.close(refused);
        }
        let counts = [connections.connections.len(), connections.timed.len(), connections.closing.len()];
        assert!(counts.iter().all(|count| *count <= SocketConnections::LINGERING), "{counts:?}");
        // The oldest had to go, and those who leave themselves are forgotten.
        let mut buffer = [0; 1];
        staying[0].set_nonblocking(true).unwrap();
        assert_eq!(staying[0].peek(&mut buffer).unwrap(), 0);
        let last: ConnId = *connections.closing.back().unwrap();
        drop(staying);
        while connections.read(&mut machine, last).exhausted {}
        assert!(!connections.closing.contains(&last) && !connections.connections.contains_key(&last));
    }
}
