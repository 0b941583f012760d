//! The connections between many clients, one server and other hosts.

use std::collections::BTreeMap;

use windlass::link::AnyServer;
use windlass::{ConnError, ConnErrorKind, ConnId, Instant};

use crate::conditions::NetworkConditions;
use crate::ends::{End, Ends};
use crate::party::Closing;
use crate::scene::Scene;
use crate::stream::SimStream;
use crate::trace::Side;

/// Who hears what is written: the number of the connection, who writes, and what.
type Tap = Box<dyn FnMut(u32, Side, &[u8])>;

/// All connections, by their numbers.
#[derive(Default)]
pub(crate) struct Network {
    connections: BTreeMap<u32, Connection>,
    /// Which connection is meant by a name that an end has for it.
    names: BTreeMap<(End, ConnId), u32>,
    /// How many connections were asked for so far.
    pub(crate) opened: u32,
    /// Which of them led to other hosts.
    hosts: BTreeMap<u32, usize>,
    /// Whether nobody can connect.
    pub(crate) refuses: bool,
    pub(crate) tap: Option<Tap>,
}

struct Connection {
    client: usize,
    /// The host that it leads to, if that is another than the server's.
    host: Option<usize>,
    /// What each side calls it, for as long as that side has it.
    names: [Option<ConnId>; 2],
    /// When it will be open, or will be refused; `None` once it is open.
    opening: Option<(Instant, bool)>,
    stream: SimStream,
    /// Whether a side has said that there is something to write.
    writes: [bool; 2],
}

impl Connection {
    fn end(&self, side: Side) -> End {
        match side {
            Side::Client => End::Client(self.client),
            Side::Server => self.host.map_or(End::Server, |host| End::Host { host, client: self.client }),
        }
    }
}

impl Network {
    /// How many an end has, those that it is opening among them.
    pub(crate) fn count(&self, end: End) -> usize {
        let side = end.side();
        self.connections.values().filter(|it| it.end(side) == end && it.names[side as usize].is_some()).count()
    }

    /// The numbers of all that are left.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.connections.keys().copied().collect()
    }

    /// Which host a connection leads, or led, to.
    pub(crate) fn host_of(&self, number: u32) -> Option<usize> {
        self.hosts.get(&number).copied()
    }

    /// Whether no byte is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.values().all(|connection| connection.stream.is_empty())
    }

    pub(crate) fn next_arrival(&self, now: Instant) -> Option<Instant> {
        let next = |connection: &Connection| match connection.opening {
            Some((at, _)) => Some(at),
            None => connection.stream.next_arrival(now),
        };
        self.connections.values().filter_map(next).min()
    }

    pub(crate) fn set_conditions(&mut self, conditions: &NetworkConditions) {
        for connection in self.connections.values_mut() {
            connection.stream.set_conditions(conditions);
        }
    }

    /// Breaks every connection under both sides.
    pub(crate) fn reset(&mut self, ends: &mut Ends<'_>, scene: &mut Scene) {
        for number in self.numbers() {
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.stream.cut(scene.now);
            }
            for side in [Side::Client, Side::Server] {
                self.tell_of_break(number, side, ends, scene);
            }
        }
    }

    /// A machine wants a connection.
    pub(crate) fn open(&mut self, end: End, conn: ConnId, host: Option<usize>, name: &str, scene: &mut Scene) {
        let End::Client(client) = end else { panic!("a server opens nothing") };
        self.opened += 1;
        let number = self.opened;
        let refused = scene.refuse();
        let at = scene.now + scene.random.duration(&scene.conditions.delay);
        let connection = Connection {
            client,
            host,
            names: [Some(conn), None],
            opening: Some((at, refused)),
            stream: SimStream::new(scene),
            writes: [false; 2],
        };
        self.connections.insert(number, connection);
        self.names.insert((end, conn), number);
        scene.trace.connection('+', number, name, scene.now);
        if let Some(host) = host {
            self.hosts.insert(number, host);
            scene.trace.keep_secret(number);
        }
    }

    /// A machine is done with a connection.
    pub(crate) fn close(&mut self, end: End, conn: ConnId, name: &str, scene: &mut Scene) {
        let Some(number) = self.names.get(&(end, conn)).copied() else { return };
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.stream.close(end.side(), Closing::Both, scene.now);
            scene.trace.ended(end.side(), Some(number), scene.now);
            scene.trace.connection('x', number, name, scene.now);
        }
        self.forget(number, end.side());
    }

    /// A machine has something to write.
    pub(crate) fn has_to_write(&mut self, end: End, conn: ConnId) {
        let connection = self.names.get(&(end, conn)).and_then(|number| self.connections.get_mut(number));
        if let Some(connection) = connection {
            connection.writes[end.side() as usize] = true;
        }
    }

    /// Connections that have been on their way to the server for long enough are there.
    pub(crate) fn let_arrive(&mut self, ends: &mut Ends<'_>, scene: &mut Scene) -> bool {
        self.numbers().into_iter().fold(false, |moved, number| moved | self.arrive(number, ends, scene))
    }

    /// Bytes are written on every connection, and what has arrived is given.
    pub(crate) fn move_bytes(&mut self, ends: &mut Ends<'_>, scene: &mut Scene) -> bool {
        let mut moved = false;
        for number in self.numbers() {
            for side in [Side::Client, Side::Server] {
                moved |= self.write(number, side, ends, scene);
            }
            for side in [Side::Client, Side::Server] {
                moved |= self.deliver(number, side, ends, scene);
            }
        }
        moved
    }

    fn arrive(&mut self, number: u32, ends: &mut Ends<'_>, scene: &mut Scene) -> bool {
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        let refuses = self.refuses || (connection.host.is_none() && ends.server.closed().is_some());
        let Some((_, refused)) = connection.opening.take_if(|(at, _)| *at <= scene.now) else { return false };
        if refused || refuses {
            scene.trace.connection('x', number, "refused", scene.now);
            let why = ConnError::new(ConnErrorKind::NotOpened, "the connection was refused");
            self.fail(number, Side::Client, why, ends, scene.now);
        } else if let (Some(host), Some(conn)) = (connection.host, connection.names[Side::Client as usize]) {
            ends.hosts[host].accept(connection.client, conn);
            connection.names[Side::Server as usize] = Some(conn);
            self.names.insert((connection.end(Side::Server), conn), number);
        } else if let AnyServer::Http(machine) = ends.server.machine() {
            let conn = machine.accept(scene.now);
            connection.names[Side::Server as usize] = Some(conn);
            self.names.insert((End::Server, conn), number);
        }
        true
    }

    /// Moves what a side has to write, in as many writes as the conditions want.
    fn write(&mut self, number: u32, side: Side, ends: &mut Ends<'_>, scene: &mut Scene) -> bool {
        let mut moved = false;
        loop {
            let Some(connection) = self.connections.get_mut(&number) else { return moved };
            let Some(conn) = connection.names[side as usize] else { return moved };
            if connection.opening.is_some() || !connection.writes[side as usize] {
                return moved;
            }
            let machine = ends.stirred(connection.end(side));
            let bytes = machine.write_buf(conn);
            let count = connection.stream.write(side, bytes, scene.now);
            if count == 0 {
                if bytes.is_empty() {
                    connection.writes[side as usize] = false;
                    scene.trace.paused(side, Some(number), scene.now);
                }
                return moved;
            }
            scene.trace.wrote(side, Some(number), &bytes[..count], scene.now);
            if let Some(tap) = &mut self.tap {
                tap(number, side, &bytes[..count]);
            }
            machine.write_done(conn, count, scene.now);
            moved = true;
            // Whoever has let go of a connection answers what still comes with a reset.
            if connection.names[side.other() as usize].is_none() && connection.stream.knows_end(side) {
                connection.stream.cut(scene.now);
            }
        }
    }

    /// Gives a side one chunk that has arrived, or the end.
    fn deliver(&mut self, number: u32, side: Side, ends: &mut Ends<'_>, scene: &mut Scene) -> bool {
        if self.tell_of_break(number, side, ends, scene) {
            return true;
        }
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        let Some(conn) = connection.names[side as usize] else { return false };
        let end = connection.end(side);
        if let Some(bytes) = connection.stream.arrived(side, scene.now) {
            let count = ends.stirred(end).give(conn, bytes, scene.now);
            if count > 0 {
                scene.trace.read(side, Some(number), &bytes[..count], scene.now);
                connection.stream.take(side, count);
                // A host answers where it reads.
                connection.writes[side as usize] |= matches!(end, End::Host { .. });
            }
            return count > 0;
        }
        let ended = connection.stream.ends_for(side, scene.now);
        if ended {
            ends.stirred(end).read_eof(conn, scene.now);
            if let End::Host { .. } = end {
                // It has nothing to say to somebody who is gone.
                connection.stream.close(side, Closing::Both, scene.now);
                self.forget(number, side);
            }
        }
        ended
    }

    fn tell_of_break(&mut self, number: u32, side: Side, ends: &mut Ends<'_>, scene: &mut Scene) -> bool {
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        if !connection.stream.breaks_for(side, scene.now) {
            return false;
        }
        if side == Side::Client {
            scene.trace.connection('x', number, "reset", scene.now);
        }
        let why = ConnError::new(ConnErrorKind::Broken, "the connection was reset");
        self.fail(number, side, why, ends, scene.now);
        true
    }

    fn fail(&mut self, number: u32, side: Side, why: ConnError, ends: &mut Ends<'_>, now: Instant) {
        let Some(connection) = self.connections.get(&number) else { return };
        if let Some(conn) = connection.names[side as usize] {
            ends.stirred(connection.end(side)).conn_failed(conn, why, now);
        }
        self.forget(number, side);
    }

    /// A side does not have a connection any more. When neither has, or it was never open, it is gone.
    fn forget(&mut self, number: u32, side: Side) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let end = connection.end(side);
        if let Some(conn) = connection.names[side as usize].take() {
            self.names.remove(&(end, conn));
        }
        if connection.opening.is_some() || connection.names == [None, None] {
            self.connections.remove(&number);
        }
    }
}
