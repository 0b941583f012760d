//! Those who have connections: many clients, a server, and other hosts.

use windlass::{ConnId, Instant};

use crate::client::SimClient;
use crate::host::Host;
use crate::movable::Movable;
use crate::party::Want;
use crate::scene::Scene;
use crate::server::SimServer;
use crate::trace::Side;

/// One of those who have connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Client(usize),
    Server,
    /// Another host, with one of the clients.
    Host {
        host: usize,
        client: usize,
    },
}

impl End {
    pub(crate) fn side(self) -> Side {
        match self {
            Self::Client(_) => Side::Client,
            Self::Server | Self::Host { .. } => Side::Server,
        }
    }
}

/// A client among many.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) program: SimClient,
    pub(crate) deadline: Option<Instant>,
    /// Whether something has happened to it since its last turn. Many wait while one moves.
    pub(crate) stirred: bool,
}

impl Member {
    pub(crate) fn stirred(&mut self) -> &mut SimClient {
        self.stirred = true;
        &mut self.program
    }
}

/// All of them.
pub(crate) struct Ends<'a> {
    pub(crate) clients: &'a mut [Member],
    pub(crate) server: &'a mut SimServer,
    pub(crate) hosts: &'a mut [Host],
}

impl Ends<'_> {
    pub(crate) fn name(&self, end: End) -> &str {
        match end {
            End::Client(client) => &self.clients[client].name,
            End::Server => Side::Server.name(),
            End::Host { host, .. } => &self.hosts[host].name,
        }
    }

    /// Lets one take care of what has happened to it, until it wants something.
    pub(crate) fn next_want(&mut self, end: End, scene: &mut Scene) -> Want {
        match end {
            End::Client(client) => {
                let Member { name, program, .. } = &mut self.clients[client];
                program.next_want(&mut scene.log(Side::Client, name))
            }
            End::Server => self.server.next_want(&mut scene.log(Side::Server, Side::Server.name())),
            // It answers where it reads.
            End::Host { .. } => Want::Rest(None),
        }
    }

    /// The next connection on which one has something to write.
    pub(crate) fn next_to_move(&mut self, end: End) -> Option<ConnId> {
        match end {
            End::Client(client) => Movable::next_to_move(self.clients[client].program.machine()),
            End::Server => Movable::next_to_move(self.server.machine()),
            End::Host { .. } => None,
        }
    }

    /// The machine of one to which something happens.
    pub(crate) fn stirred(&mut self, end: End) -> &mut dyn Movable {
        match end {
            End::Client(client) => self.clients[client].stirred().machine(),
            End::Server => self.server.machine(),
            End::Host { host, client } => self.hosts[host].with(client),
        }
    }
}
