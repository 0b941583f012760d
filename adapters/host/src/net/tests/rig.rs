//! The smallest driver: machines with their connections, and poll(2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as StdInstant};

use windlass::client::{CallOptions, ClientConfig, ClientEvent, Negotiation};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallToolResult, Era, Implementation, Tool};
use windlass::server::{Invoked, Registry, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};

use crate::Clock;
use crate::io::{Pollable, Poller, Ready};
use crate::net::dial::Address;
use crate::net::{DialOptions, HttpListener, Readiness, SocketConnection, Wake};

/// A test that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

thread_local! {
    /// What a test waits by.
    static POLLER: Poller = Poller::new().unwrap();
}

/// A machine whose events become lines.
pub(super) trait Speaks: Machine {
    /// Polls until there is nothing; says which stream it wants, whether it wants one closed, and when to call again.
    fn settle(&mut self, log: &mut Vec<String>) -> (Option<ConnId>, bool, Option<Instant>);
}

pub(super) type Client = StdioClient<()>;
pub(super) type Server = StdioServer<(), ()>;

/// A client that asks nothing before it is asked to.
pub(super) fn client() -> Client {
    let mut config = ClientConfig::new(Implementation::new("test", "1"));
    config.negotiation = Negotiation::Cached(Era::Modern);
    config.idle_timeout = PATIENCE;
    config.handshake_timeout = PATIENCE;
    StdioClient::new(config, Instant::ZERO)
}

/// A server that says what it is told.
pub(super) fn server() -> Server {
    let mut registry = Registry::new();
    registry.add_tool(Tool::without_arguments("echo"), ());
    let config = ServerConfig::new(Implementation::new("test", "1"));
    StdioServer::new(config, registry, &Seed::from_number(1), Instant::ZERO)
}

impl Speaks for Client {
    fn settle(&mut self, log: &mut Vec<String>) -> (Option<ConnId>, bool, Option<Instant>) {
        let (mut open, mut close) = (None, false);
        loop {
            match self.poll() {
                Output::Open { conn, .. } => open = Some(conn),
                Output::Close(_) => close = true,
                Output::Event(ClientEvent::Ready(_)) => log.push("ready".into()),
                Output::Event(ClientEvent::Completed { outcome, .. }) => match outcome {
                    Ok(text) => log.push(format!("completed {}", text.as_str())),
                    Err(error) => log.push(format!("failed {error}")),
                },
                Output::Event(ClientEvent::Malformed(_)) => log.push("malformed".into()),
                Output::Event(ClientEvent::Closed(reason)) => log.push(format!("closed {reason}")),
                Output::Event(_) => {}
                Output::Idle { deadline } => return (open, close, deadline),
            }
        }
    }
}

impl Speaks for Server {
    fn settle(&mut self, log: &mut Vec<String>) -> (Option<ConnId>, bool, Option<Instant>) {
        let (mut open, mut close) = (None, false);
        loop {
            match self.poll() {
                Output::Open { conn, .. } => open = Some(conn),
                Output::Close(_) => close = true,
                Output::Event(ServerEvent::Invoke { reply, invocation, .. }) => {
                    let Invoked::Tool { arguments, .. } = &invocation.request else { panic!("only a tool is offered") };
                    log.push("invoked".into());
                    let result = CallToolResult::text(arguments.as_str());
                    self.respond(reply, Ok(result.into()), Instant::ZERO);
                }
                Output::Event(ServerEvent::Closed(reason)) => log.push(format!("closed {reason}")),
                Output::Event(event) => log.push(format!("{event:?}")),
                Output::Idle { deadline } => return (open, close, deadline),
            }
        }
    }
}

/// A machine with its connection.
pub(super) struct Side<M> {
    pub(super) machine: M,
    pub(super) connection: SocketConnection,
    pub(super) log: Vec<String>,
    conn: ConnId,
    clock: Clock,
    deadline: Option<Instant>,
    /// Whether a name was looked up.
    news: Arc<AtomicBool>,
}

impl Side<Client> {
    /// A client that dials.
    pub(super) fn dial(host: &str, port: u16, tls: bool, options: DialOptions) -> Self {
        let news = Arc::new(AtomicBool::new(false));
        let (told, bell) = (news.clone(), POLLER.with(|poller| poller.bell().clone()));
        let wake: Wake = Arc::new(move || {
            told.store(true, Ordering::SeqCst);
            bell.ring();
        });
        let clock = Clock::new();
        let address = Address { host: host.into(), port, tls, public_only: false };
        let connection = SocketConnection::dial(address, &Arc::new(options), clock, wake);
        Self::new(client(), connection, clock, news)
    }

    /// Asks the server to repeat a text of this many bytes.
    pub(super) fn ask(&mut self, bytes: usize) {
        let params = serde_json::json!({"name": "echo", "arguments": {"text": "x".repeat(bytes)}});
        let now = self.clock.now();
        self.machine.call_raw("tools/call", &params, &CallOptions::new(), (), now).unwrap();
    }
}

impl<M: Speaks> Side<M> {
    pub(super) fn accepted(machine: M, connection: SocketConnection) -> Self {
        Self::new(machine, connection, Clock::new(), Arc::default())
    }

    fn new(mut machine: M, connection: SocketConnection, clock: Clock, news: Arc<AtomicBool>) -> Self {
        let mut log = Vec::new();
        let (Some(conn), ..) = machine.settle(&mut log) else { panic!("the first thing is a stream") };
        Self { machine, connection, log, conn, clock, deadline: None, news }
    }

    pub(super) fn saw(&self, beginning: &str) -> bool {
        self.log.iter().any(|line| line.starts_with(beginning))
    }
}

/// What the driver sees of a side.
pub(super) trait Part {
    fn turn(&mut self) -> (Option<Pollable>, Readiness, Option<Duration>);
    fn ready(&mut self, read: bool, write: bool);
    fn log(&self) -> &[String];
    fn is_over(&self) -> bool;
}

impl<M: Speaks> Part for Side<M> {
    fn turn(&mut self) -> (Option<Pollable>, Readiness, Option<Duration>) {
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= self.clock.now());
        if due(self.deadline) {
            self.machine.handle_timeout(self.clock.now());
        }
        let news = self.news.swap(false, Ordering::SeqCst);
        if news || due(self.connection.deadline()) {
            self.connection.advance(&mut self.machine, self.conn, self.clock);
        }
        let (_, close, deadline) = self.machine.settle(&mut self.log);
        if close {
            self.connection.close(self.clock);
        }
        self.deadline = deadline;
        let reads = !self.machine.read_buf(self.conn).is_empty();
        let writes = !self.machine.write_buf(self.conn).is_empty();
        let deadline = windlass::earliest(deadline, self.connection.deadline());
        let wait = deadline.map(|deadline| self.clock.until(deadline));
        (self.connection.socket().cloned(), self.connection.interest(reads, writes), wait)
    }

    fn ready(&mut self, read: bool, write: bool) {
        if write {
            let _ = self.connection.write(&mut self.machine, self.conn, self.clock);
        }
        if read {
            let _ = self.connection.read(&mut self.machine, self.conn, self.clock);
        }
    }

    fn log(&self) -> &[String] {
        &self.log
    }

    fn is_over(&self) -> bool {
        self.connection.is_over()
    }
}

/// Drives all parts until the first has seen something that begins like this.
pub(super) fn drive_until(parts: &mut [&mut dyn Part], beginning: &str) -> String {
    drive(parts, &|parts| parts[0].log().iter().find(|line| line.starts_with(beginning)).cloned())
}

/// Drives all parts until their connections are over.
pub(super) fn drive_to_end(parts: &mut [&mut dyn Part]) {
    drive(parts, &|parts| parts.iter().all(|part| part.is_over()).then_some(()));
}

fn drive<T>(parts: &mut [&mut dyn Part], done: &dyn Fn(&[&mut dyn Part]) -> Option<T>) -> T {
    let start = StdInstant::now();
    loop {
        let interests: Vec<_> = parts.iter_mut().map(|part| part.turn()).collect();
        if let Some(found) = done(parts) {
            return found;
        }
        let mut wait = Duration::from_secs(1);
        let mut polled = Vec::new();
        for (at, (socket, readiness, until)) in interests.iter().enumerate() {
            wait = wait.min(until.unwrap_or(wait));
            if readiness.now {
                wait = Duration::ZERO;
            }
            let wanted = Ready { read: readiness.read, write: readiness.write };
            polled.extend(socket.as_ref().filter(|_| wanted.is_any()).map(|socket| (at, socket, wanted)));
        }
        let mut found = vec![Ready::default(); parts.len()];
        let wanted = polled.iter().map(|(_, socket, wanted)| (*socket, *wanted));
        POLLER.with(|poller| poller.wait(wanted, Some(wait), |at, ready| found[polled[at].0] = ready)).unwrap();
        for (((_, readiness, _), ready), part) in interests.iter().zip(&found).zip(parts.iter_mut()) {
            part.ready(readiness.now || (readiness.read && ready.read), readiness.write && ready.write);
        }
        let logs: Vec<_> = parts.iter().map(|part| part.log().to_vec()).collect();
        assert!(start.elapsed() < PATIENCE, "nothing more happens; so far: {logs:?}");
    }
}

/// Moves the client until the listener sees it.
pub(super) fn connect(client: &mut Side<Client>, listener: &HttpListener) -> SocketConnection {
    let start = StdInstant::now();
    loop {
        match listener.accept() {
            Ok(connection) => return connection,
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        let (_, readiness, _) = client.turn();
        client.ready(readiness.read || readiness.now, readiness.write);
        assert!(start.elapsed() < PATIENCE, "nobody came; so far: {:?}", client.log);
        std::thread::yield_now();
    }
}

/// The client finds a server at the listener; one call of this many bytes, as below.
pub(super) fn meet(client: &mut Side<Client>, listener: &HttpListener, bytes: usize) {
    let mut server = Side::accepted(server(), connect(client, listener));
    round_trip(client, &mut server, bytes);
}

/// One call, there and back; then a close that leaves nothing open.
pub(super) fn round_trip(client: &mut Side<Client>, server: &mut Side<Server>, bytes: usize) {
    drive_until(&mut [client, server], "ready");
    client.ask(bytes);
    let answer = drive_until(&mut [client, server], "completed");
    assert!(answer.len() > bytes && answer.contains("xxx"), "{} bytes", answer.len());
    client.machine.close(Instant::ZERO);
    drive_to_end(&mut [client, server]);
    assert!(client.saw("closed the connection was closed by this side"), "{:?}", client.log);
    assert!(server.saw("closed the peer closed the connection"), "{:?}", server.log);
    assert!(client.machine.is_idle() && server.machine.is_idle());
}
