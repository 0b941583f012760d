//! Many clients, one server and the connections between them, under one clock.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::time::Duration;

use windlass::client::ClientConfig;
use windlass::link::AnyServer;
use windlass::link::http::HttpClientConfig;
use windlass::{ConnError, ConnErrorKind, ConnId, Instant, earliest};

use crate::client::SimClient;
use crate::clock::{self, MOST_STEPS_AT_ONCE, World};
use crate::movable::Movable;
use crate::party::{Closing, Log, Party, Want};
use crate::random::Random;
use crate::server::SimServer;
use crate::stream::Stream;
use crate::trace::{Side, Trace};
use crate::weather::Weather;

/// Clients of HTTP and their server in one process, under one virtual clock.
///
/// It is [`Sim`](crate::Sim) for HTTP: the clients open connections as they need them, and each connection has a weather
/// of its own, drawn from the one seed. Whatever host a client's address names, it reaches this server.
///
/// ```
/// use windlass::client::{ClientConfig, Negotiation};
/// use windlass::link::http::{HttpClientConfig, HttpServerConfig};
/// use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, Tool};
/// use windlass::server::{Registry, ServerConfig};
/// use windlass_sim::{HttpSim, SimServer, Weather, handler};
///
/// let mut registry = Registry::new();
/// registry.add_tool(
///     Tool::without_arguments("greet"),
///     handler(|_| Ok(CallToolResult::text("hello").into())),
/// );
/// let config = ServerConfig::new(Implementation::new("greeter", "1"));
/// let server = SimServer::over_http(config, HttpServerConfig::on_loopback(), registry, 1);
/// let mut sim = HttpSim::new(7, Weather::rough(), server);
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
/// sim.run_until(|sim| sim[ada].peer().is_some() && sim[bob].peer().is_some());
/// sim.set_weather(Weather::stormy());
/// let _ = greet(&mut sim, ada);
/// let _ = greet(&mut sim, bob);
/// sim.set_weather(Weather::rough());
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
    connections: BTreeMap<u32, Connection>,
    /// Which connection is meant by a name that an end has for it.
    names: BTreeMap<(End, ConnId), u32>,
    opened: u32,
    refuses: bool,
    now: Instant,
    weather: Weather,
    random: Random,
    trace: Trace,
    tap: Option<Tap>,
    steps_at_once: u32,
}

/// A client of an [`HttpSim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimClientId(usize);

/// Who hears what is written: the number of the connection, who writes, and what.
type Tap = Box<dyn FnMut(u32, Side, &[u8])>;

struct Member {
    name: String,
    program: SimClient,
    deadline: Option<Instant>,
    /// Whether something has happened to it since its last turn. Many wait while one moves.
    stirred: bool,
}

impl Member {
    fn stirred(&mut self) -> &mut SimClient {
        self.stirred = true;
        &mut self.program
    }
}

/// One of those who have connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Client(usize),
    Server,
}

impl End {
    fn side(self) -> Side {
        match self {
            Self::Client(_) => Side::Client,
            Self::Server => Side::Server,
        }
    }
}

struct Connection {
    client: usize,
    /// What each side calls it, for as long as that side has it.
    names: [Option<ConnId>; 2],
    /// When it will be open, or will be refused; `None` once it is open.
    opening: Option<(Instant, bool)>,
    stream: Stream,
    /// Whether a side has said that there is something to write.
    writes: [bool; 2],
}

impl Connection {
    fn end(&self, side: Side) -> End {
        match side {
            Side::Client => End::Client(self.client),
            Side::Server => End::Server,
        }
    }
}

impl HttpSim {
    /// A server without clients. It is to be one [over HTTP](SimServer::over_http).
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn new(seed: u64, weather: Weather, server: SimServer) -> Self {
        Self {
            server: checked(server),
            server_deadline: None,
            clients: Vec::new(),
            connections: BTreeMap::new(),
            names: BTreeMap::new(),
            opened: 0,
            refuses: false,
            now: Instant::ZERO,
            weather,
            random: Random::new(seed),
            trace: Trace::default(),
            tap: None,
            steps_at_once: 0,
        }
    }

    /// One more client, which begins to negotiate at once. The name is for the transcript.
    pub fn add_client(&mut self, name: &str, config: ClientConfig, http: HttpClientConfig) -> SimClientId {
        let program = SimClient::over_http(config, http, self.now);
        self.clients.push(Member { name: name.to_owned(), program, deadline: None, stirred: true });
        SimClientId(self.clients.len() - 1)
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
        self.trace.saw(Side::Server, "server", "is started again", self.now);
        self.reset_connections();
        self.server = checked(server);
        self.server.set_time(self.now);
        self.server_deadline = None;
    }

    /// Breaks every connection under both sides.
    pub fn reset_connections(&mut self) {
        let all: Vec<u32> = self.connections.keys().copied().collect();
        for number in all {
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.stream.cut(self.now);
            }
            for side in [Side::Client, Side::Server] {
                self.tell_of_break(number, side);
            }
        }
    }

    /// From now on, or no longer, nobody can connect.
    pub fn refuse_connections(&mut self, refuse: bool) {
        self.refuses = refuse;
    }

    /// Changes the weather for what is written from now on.
    pub fn set_weather(&mut self, weather: Weather) {
        for connection in self.connections.values_mut() {
            connection.stream.set_weather(&weather);
        }
        self.weather = weather;
    }

    /// Hands on whatever is written on any connection, with the connection's number, for a recording.
    pub fn tap(&mut self, tap: impl FnMut(u32, Side, &[u8]) + 'static) {
        self.tap = Some(Box::new(tap));
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What happened so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What happened so far, for a person to read.
    pub fn transcript(&self) -> &str {
        self.trace.transcript()
    }

    /// How many connections the server has.
    pub fn connections(&self) -> usize {
        self.connections.values().filter(|it| it.names[Side::Server as usize].is_some()).count()
    }

    /// How many connections a client has, those that are being opened among them.
    pub fn connections_of(&self, client: SimClientId) -> usize {
        let has = |it: &&Connection| it.client == client.0 && it.names[Side::Client as usize].is_some();
        self.connections.values().filter(has).count()
    }

    /// How many connections were asked for so far.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    /// Runs until nothing is on its way. Timers fire only as far as time moves for arrivals; no time is waited out.
    pub fn settle(&mut self) {
        clock::settle(self);
    }

    /// Runs until nothing is on its way and no timer is armed, however long that takes. Connections that are kept and
    /// sessions that nobody uses end on the way.
    ///
    /// # Panics
    ///
    /// If that takes more than a virtual week: something then re-arms its timer for ever, as an open stream of a
    /// server's does.
    pub fn run_until_idle(&mut self) {
        clock::run_until_idle(self);
    }

    /// Runs for so much virtual time.
    pub fn run_for(&mut self, time: Duration) {
        clock::run_for(self, time);
    }

    /// Runs until a condition holds; false if it does not when everything is idle.
    pub fn run_until(&mut self, condition: impl FnMut(&mut Self) -> bool) -> bool {
        clock::run_until(self, condition)
    }

    /// Whether nobody has anything left: no call, no request, no timer of a program's, no byte. Connections may be open.
    pub fn is_idle(&self) -> bool {
        self.clients.iter().all(|client| client.program.is_idle())
            && self.server.is_idle()
            && self.connections.values().all(|connection| connection.stream.is_empty())
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
        let open: Vec<_> = self.connections.keys().collect();
        assert!(open.is_empty(), "connections {open:?} are open:\n{}", self.transcript());
    }

    /// Lets one of them do everything that it can, short of moving bytes.
    fn turn(&mut self, end: End) -> bool {
        let mut moved = false;
        loop {
            let (name, now) = (self.name_of(end).to_owned(), self.now);
            let mut log = Log { trace: &mut self.trace, side: end.side(), name: &name, now };
            let want = match end {
                End::Client(client) => self.clients[client].program.next_want(&mut log),
                End::Server => self.server.next_want(&mut log),
            };
            match want {
                Want::Open(conn) => self.open(end, conn),
                Want::Close(conn) => self.close(end, conn),
                Want::Rest(deadline) => {
                    match end {
                        End::Client(client) => self.clients[client].deadline = deadline,
                        End::Server => self.server_deadline = deadline,
                    }
                    break;
                }
            }
            moved = true;
        }
        while let Some(conn) = self.next_to_move(end) {
            let connection = self.names.get(&(end, conn)).and_then(|number| self.connections.get_mut(number));
            if let Some(connection) = connection {
                connection.writes[end.side() as usize] = true;
            }
        }
        moved
    }

    fn next_to_move(&mut self, end: End) -> Option<ConnId> {
        match end {
            End::Client(client) => Movable::next_to_move(self.clients[client].program.machine()),
            End::Server => Movable::next_to_move(self.server.machine()),
        }
    }

    fn open(&mut self, end: End, conn: ConnId) {
        let End::Client(client) = end else { panic!("a server opens nothing") };
        self.opened += 1;
        let number = self.opened;
        let refused = self.weather.faults.refused;
        let refused = refused > 0 && self.random.one_in(refused);
        let at = self.now + self.random.duration(&self.weather.delay);
        let connection = Connection {
            client,
            names: [Some(conn), None],
            opening: Some((at, refused)),
            stream: Stream::new(&self.weather, &mut self.random),
            writes: [false; 2],
        };
        self.connections.insert(number, connection);
        self.names.insert((end, conn), number);
        self.trace.connection('+', number, &self.clients[client].name, self.now);
    }

    /// A machine is done with a connection.
    fn close(&mut self, end: End, conn: ConnId) {
        let Some(number) = self.names.get(&(end, conn)).copied() else { return };
        let name = self.name_of(end).to_owned();
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.stream.close(end.side(), Closing::Both, self.now);
            self.trace.ended(end.side(), Some(number), self.now);
            self.trace.connection('x', number, &name, self.now);
        }
        self.forget(number, end.side());
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

    /// A connection has been on its way to the server for long enough.
    fn arrive(&mut self, number: u32) -> bool {
        let refuses = self.refuses || self.server.closed().is_some();
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        let Some((_, refused)) = connection.opening.take_if(|(at, _)| *at <= self.now) else { return false };
        if refused || refuses {
            self.trace.connection('x', number, "refused", self.now);
            let why = ConnError::new(ConnErrorKind::NotOpened, "the connection was refused");
            self.fail(number, Side::Client, why);
        } else if let AnyServer::Http(machine) = self.server.machine() {
            let conn = machine.accept(self.now);
            connection.names[Side::Server as usize] = Some(conn);
            self.names.insert((End::Server, conn), number);
        }
        true
    }

    /// Moves what a side has to write, in as many writes as the weather wants.
    fn write(&mut self, number: u32, side: Side) -> bool {
        let mut moved = false;
        loop {
            let Some(connection) = self.connections.get_mut(&number) else { return moved };
            let Some(conn) = connection.names[side as usize] else { return moved };
            if connection.opening.is_some() || !connection.writes[side as usize] {
                return moved;
            }
            let machine: &mut dyn Movable = match connection.end(side) {
                End::Client(client) => self.clients[client].stirred().machine(),
                End::Server => self.server.machine(),
            };
            let bytes = machine.write_buf(conn);
            let count = connection.stream.write(side, bytes, self.now);
            if count == 0 {
                if bytes.is_empty() {
                    connection.writes[side as usize] = false;
                    self.trace.paused(side, Some(number), self.now);
                }
                return moved;
            }
            self.trace.wrote(side, Some(number), &bytes[..count], self.now);
            if let Some(tap) = &mut self.tap {
                tap(number, side, &bytes[..count]);
            }
            machine.write_done(conn, count, self.now);
            moved = true;
            // Whoever has let go of a connection answers what still comes with a reset.
            if connection.names[side.other() as usize].is_none() && connection.stream.knows_end(side) {
                connection.stream.cut(self.now);
            }
        }
    }

    /// Gives a side one chunk that has arrived, or the end.
    fn deliver(&mut self, number: u32, side: Side) -> bool {
        if self.tell_of_break(number, side) {
            return true;
        }
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        let Some(conn) = connection.names[side as usize] else { return false };
        if connection.stream.arrived(side, self.now).is_none() && !connection.stream.ends_for(side, self.now) {
            return false;
        }
        let machine: &mut dyn Movable = match connection.end(side) {
            End::Client(client) => self.clients[client].stirred().machine(),
            End::Server => self.server.machine(),
        };
        if let Some(bytes) = connection.stream.arrived(side, self.now) {
            let count = machine.give(conn, bytes, self.now);
            if count > 0 {
                self.trace.read(side, Some(number), &bytes[..count], self.now);
                connection.stream.take(side, count);
            }
            return count > 0;
        }
        machine.read_eof(conn, self.now);
        true
    }

    fn tell_of_break(&mut self, number: u32, side: Side) -> bool {
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        if !connection.stream.breaks_for(side, self.now) {
            return false;
        }
        if side == Side::Client {
            self.trace.connection('x', number, "reset", self.now);
        }
        self.fail(number, side, ConnError::new(ConnErrorKind::Broken, "the connection was reset"));
        true
    }

    fn fail(&mut self, number: u32, side: Side, why: ConnError) {
        let Some(connection) = self.connections.get(&number) else { return };
        if let Some(conn) = connection.names[side as usize] {
            let machine: &mut dyn Movable = match connection.end(side) {
                End::Client(client) => self.clients[client].stirred().machine(),
                End::Server => self.server.machine(),
            };
            machine.conn_failed(conn, why, self.now);
        }
        self.forget(number, side);
    }

    fn name_of(&self, end: End) -> &str {
        match end {
            End::Client(client) => &self.clients[client].name,
            End::Server => "server",
        }
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
    fn now(&self) -> Instant {
        self.now
    }

    fn transcript(&self) -> &str {
        self.trace.transcript()
    }

    /// Connections are opened, all take a turn, bytes are written, and what has arrived is given.
    fn exchange(&mut self) -> bool {
        let mut moved = false;
        let all: Vec<u32> = self.connections.keys().copied().collect();
        for number in all {
            moved |= self.arrive(number);
        }
        for client in 0..self.clients.len() {
            if std::mem::take(&mut self.clients[client].stirred) {
                moved |= self.turn(End::Client(client));
            }
        }
        moved |= self.turn(End::Server);
        let all: Vec<u32> = self.connections.keys().copied().collect();
        for number in all {
            for side in [Side::Client, Side::Server] {
                moved |= self.write(number, side);
            }
            for side in [Side::Client, Side::Server] {
                moved |= self.deliver(number, side);
            }
        }
        self.steps_at_once += 1;
        assert!(self.steps_at_once < MOST_STEPS_AT_ONCE, "going in circles at {:?}:\n{}", self.now, self.transcript());
        moved
    }

    fn fire(&mut self) -> bool {
        let (mut fired, now) = (false, self.now);
        for client in &mut self.clients {
            if client.deadline.take_if(|deadline| *deadline <= now).is_some() {
                self.trace.woke(Side::Client, now);
                client.stirred().timeout();
                fired = true;
            }
        }
        if self.server_deadline.take_if(|deadline| *deadline <= now).is_some() {
            self.trace.woke(Side::Server, now);
            self.server.timeout();
            fired = true;
        }
        fired
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.server_deadline, self.clients.iter().filter_map(|client| client.deadline).min())
    }

    fn next_arrival(&self) -> Option<Instant> {
        let next = |connection: &Connection| match connection.opening {
            Some((at, _)) => Some(at),
            None => connection.stream.next_arrival(self.now),
        };
        self.connections.values().filter_map(next).min()
    }

    fn set_time(&mut self, now: Instant) {
        if now > self.now {
            self.steps_at_once = 0;
        }
        self.now = self.now.max(now);
        self.server.set_time(self.now);
        for client in &mut self.clients {
            client.program.set_time(self.now);
        }
    }
}
