//! Many clients, one server and the connections between them, under one clock.

use std::ops::{Index, IndexMut};

use windlass::client::ClientConfig;
use windlass::link::AnyServer;
use windlass::link::http::HttpClientConfig;
use windlass::{Instant, earliest};

use crate::client::SimClient;
use crate::clock::{World, under_the_clock};
use crate::conditions::NetworkConditions;
use crate::ends::{End, Ends, Member};
use crate::host::{Host, SimRequest, SimResponse};
use crate::network::Network;
use crate::party::{Party, Want};
use crate::scene::Scene;
use crate::server::SimServer;
use crate::trace::Side;

/// Clients of HTTP and their server in one process, under one virtual clock.
///
/// It is [`Sim`](crate::Sim) for HTTP: the clients open connections as they need them, and each connection has
/// chance of its own, drawn from the one seed. Whatever host a client's address names, it reaches this server, unless there
/// is [another one](Self::add_host) of that name.
///
/// ```
/// use windlass::client::{ClientConfig, Negotiation};
/// use windlass::link::http::{HttpClientConfig, HttpServerConfig};
/// use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, Tool};
/// use windlass::server::{Registry, ServerConfig};
/// use windlass_sim::{HttpSim, SimServer, NetworkConditions, handler};
///
/// let mut registry = Registry::new();
/// registry.add_tool(
///     Tool::without_arguments("greet"),
///     handler(|_| Ok(CallToolResult::text("hello").into())),
/// );
/// let config = ServerConfig::new(Implementation::new("greeter", "1"));
/// let server = SimServer::over_http(config, HttpServerConfig::on_loopback(), registry, 1);
/// let mut sim = HttpSim::new(7, NetworkConditions::rough(), server);
///
/// let address = HttpClientConfig::new("http://localhost/mcp").unwrap();
/// let modern = ClientConfig::new(Implementation::new("ada", "1"));
/// let mut legacy = ClientConfig::new(Implementation::new("bob", "1"));
/// legacy.negotiation = Negotiation::Legacy;
/// let ada = sim.add_client("ada", modern, address.clone());
/// let bob = sim.add_client("bob", legacy, address);
///
/// let greet = |sim: &mut HttpSim, client| {
///     let call = sim[client].call::<CallTool>(&CallToolParams::new("greet")).unwrap();
///     assert!(sim.run_until(|sim| sim[client].outcome(call).is_some()));
///     sim[client].result::<CallTool>(call).map(|result| result.text_content())
/// };
/// assert!(sim.run_until(|sim| sim[ada].peer().is_some() && sim[bob].peer().is_some()));
/// sim.set_conditions(NetworkConditions::faulty());
/// let _ = greet(&mut sim, ada);
/// let _ = greet(&mut sim, bob);
/// sim.set_conditions(NetworkConditions::rough());
/// assert_eq!(greet(&mut sim, ada).unwrap(), "hello");
/// assert_eq!(greet(&mut sim, bob).unwrap(), "hello");
///
/// sim[ada].close();
/// sim[bob].close();
/// sim.run_until_idle();
/// sim.assert_nothing_left();
/// println!("{}", sim.transcript());
/// ```
pub struct HttpSim {
    /// The server.
    pub server: SimServer,
    server_deadline: Option<Instant>,
    clients: Vec<Member>,
    hosts: Vec<Host>,
    network: Network,
    scene: Scene,
}

/// A client of an [`HttpSim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimClientId(usize);

impl HttpSim {
    /// A server without clients. It is to be one [over HTTP](SimServer::over_http).
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn new(seed: u64, conditions: NetworkConditions, server: SimServer) -> Self {
        Self {
            server: checked(server),
            server_deadline: None,
            clients: Vec::new(),
            hosts: Vec::new(),
            network: Network::default(),
            scene: Scene::new(seed, conditions),
        }
    }

    under_the_clock!();

    /// One more client, which begins to negotiate at once. The name is for the transcript.
    pub fn add_client(&mut self, name: &str, config: ClientConfig, http: HttpClientConfig) -> SimClientId {
        let program = SimClient::over_http(config, http, self.scene.now);
        self.clients.push(Member { name: name.to_owned(), program, deadline: None, stirred: true });
        SimClientId(self.clients.len() - 1)
    }

    /// Another server, which clients reach by this name, under the same conditions: it answers each request at once, as
    /// `answer` says. In the transcript its conversations are left out, but for the first line of each message: they are full
    /// of secrets. Clients are authorized there if they are told to be, by `HttpClientConfig::authorization`; whose tokens are
    /// good the server is told by [`SimServer::verified_by`].
    pub fn add_host(&mut self, name: &str, answer: impl FnMut(&SimRequest) -> SimResponse + 'static) {
        self.hosts.push(Host::new(name, answer));
    }

    /// The host that a connection leads to, if that is another than the server's.
    pub fn host_of(&self, connection: u32) -> Option<&str> {
        let host = self.network.host_of(connection)?;
        Some(&self.hosts[host].name)
    }

    /// All clients, in the order in which they were added.
    pub fn clients(&self) -> impl Iterator<Item = SimClientId> + use<> {
        (0..self.clients.len()).map(SimClientId)
    }

    /// Puts another server in place of this one, as after a crash: it knows of no session, and every connection breaks.
    ///
    /// # Panics
    ///
    /// If it is not one over HTTP.
    pub fn restart_server(&mut self, server: SimServer) {
        self.scene.trace.saw(Side::Server, "server", "is started again", self.scene.now);
        self.reset_connections();
        self.server = checked(server);
        self.server.set_time(self.scene.now);
        self.server_deadline = None;
    }

    /// Breaks every connection under both sides.
    pub fn reset_connections(&mut self) {
        let mut ends = Ends { clients: &mut self.clients, server: &mut self.server, hosts: &mut self.hosts };
        self.network.reset(&mut ends, &mut self.scene);
    }

    /// From now on, or no longer, nobody can connect.
    pub fn refuse_connections(&mut self, refuse: bool) {
        self.network.refuses = refuse;
    }

    /// Changes the conditions for what is written from now on.
    pub fn set_conditions(&mut self, conditions: NetworkConditions) {
        self.network.set_conditions(&conditions);
        self.scene.conditions = conditions;
    }

    /// Hands on whatever is written on any connection, with the connection's number, for a recording.
    pub fn tap(&mut self, tap: impl FnMut(u32, Side, &[u8]) + 'static) {
        self.network.tap = Some(Box::new(tap));
    }

    /// How many connections the server has.
    pub fn connections(&self) -> usize {
        self.network.count(End::Server)
    }

    /// How many connections a client has, those that are being opened among them.
    pub fn connections_of(&self, client: SimClientId) -> usize {
        self.network.count(End::Client(client.0))
    }

    /// How many connections were asked for so far.
    pub fn opened(&self) -> u32 {
        self.network.opened
    }

    /// Whether nobody has anything left: no call, no request, no timer of a program's, no byte. Connections may be
    /// open.
    pub fn is_idle(&self) -> bool {
        self.clients.iter().all(|client| client.program.is_idle()) && self.server.is_idle() && self.network.is_empty()
    }

    /// Asserts that nothing is left once every client is closed: no call, no request, no byte, no timer, no connection
    /// and no session.
    ///
    /// # Panics
    ///
    /// If something is.
    #[track_caller]
    pub fn assert_nothing_left(&mut self) {
        self.settle();
        for client in &self.clients {
            assert!(client.program.is_idle(), "{} is not idle:\n{}", client.name, self.transcript());
            assert_eq!(client.deadline, None, "{} has a timer:\n{}", client.name, self.transcript());
        }
        assert!(self.server.is_idle(), "the server is not idle:\n{}", self.transcript());
        assert_eq!(self.server_deadline, None, "the server has a timer:\n{}", self.transcript());
        assert_eq!(self.server.sessions(), 0, "the server has sessions:\n{}", self.transcript());
        let open = self.network.numbers();
        assert!(open.is_empty(), "connections {open:?} are open:\n{}", self.transcript());
    }

    /// Lets one of them do everything that it can, short of moving bytes.
    fn turn(&mut self, end: End) -> bool {
        let mut ends = Ends { clients: &mut self.clients, server: &mut self.server, hosts: &mut self.hosts };
        let mut moved = false;
        let deadline = loop {
            match ends.next_want(end, &mut self.scene) {
                Want::Open(conn, host) => {
                    let host = host.and_then(|name| ends.hosts.iter().position(|host| host.name == name));
                    self.network.open(end, conn, host, ends.name(end), &mut self.scene);
                }
                Want::Close(conn) => self.network.close(end, conn, ends.name(end), &mut self.scene),
                Want::Rest(deadline) => break deadline,
            }
            moved = true;
        };
        while let Some(conn) = ends.next_to_move(end) {
            self.network.has_to_write(end, conn);
        }
        match end {
            End::Client(client) => self.clients[client].deadline = deadline,
            End::Server => self.server_deadline = deadline,
            End::Host { .. } => {}
        }
        moved
    }
}

fn checked(mut server: SimServer) -> SimServer {
    assert!(matches!(server.machine(), AnyServer::Http(_)), "the server is to be one of `SimServer::over_http`");
    server
}

impl Index<SimClientId> for HttpSim {
    type Output = SimClient;

    fn index(&self, client: SimClientId) -> &SimClient {
        &self.clients[client.0].program
    }
}

impl IndexMut<SimClientId> for HttpSim {
    fn index_mut(&mut self, client: SimClientId) -> &mut SimClient {
        self.clients[client.0].stirred()
    }
}

impl World for HttpSim {
    fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Connections are opened, all take a turn, bytes are written, and what has arrived is given.
    fn exchange(&mut self) -> bool {
        let mut ends = Ends { clients: &mut self.clients, server: &mut self.server, hosts: &mut self.hosts };
        let mut moved = self.network.let_arrive(&mut ends, &mut self.scene);
        for client in 0..self.clients.len() {
            if std::mem::take(&mut self.clients[client].stirred) {
                moved |= self.turn(End::Client(client));
            }
        }
        moved |= self.turn(End::Server);
        let mut ends = Ends { clients: &mut self.clients, server: &mut self.server, hosts: &mut self.hosts };
        moved |= self.network.move_bytes(&mut ends, &mut self.scene);
        self.scene.count_step();
        moved
    }

    fn fire(&mut self) -> bool {
        let (mut fired, now) = (false, self.scene.now);
        for client in &mut self.clients {
            if client.deadline.take_if(|deadline| *deadline <= now).is_some() {
                self.scene.trace.woke(Side::Client, now);
                client.stirred().timeout();
                fired = true;
            }
        }
        if self.server_deadline.take_if(|deadline| *deadline <= now).is_some() {
            self.scene.trace.woke(Side::Server, now);
            self.server.timeout();
            fired = true;
        }
        fired
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.server_deadline, self.clients.iter().filter_map(|client| client.deadline).min())
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.network.next_arrival(self.scene.now)
    }

    fn set_time(&mut self, now: Instant) {
        self.scene.set_time(now);
        self.server.set_time(self.scene.now);
        for client in &mut self.clients {
            client.program.set_time(self.scene.now);
        }
    }
}
