//! The smallest driver: machines with their wires, and poll(2).

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use rustix::event::{PollFd, PollFlags, Timespec};
use windlass::client::{CallOptions, ClientConfig, ClientEvent, Negotiation};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallToolResult, Era, Implementation, Tool};
use windlass::server::{Invoked, Registry, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};

use crate::Clock;
use crate::net::{Address, DialOptions, HttpListener, Readiness, Wake, Wire};

/// A test that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

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
            let (reply, invocation) = match self.poll() {
                Output::Open { conn, .. } => {
                    open = Some(conn);
                    continue;
                }
                Output::Close(_) => {
                    close = true;
                    continue;
                }
                Output::Event(ServerEvent::Invoke { reply, invocation, .. }) => (reply, invocation),
                Output::Event(ServerEvent::Closed(reason)) => {
                    log.push(format!("closed {reason}"));
                    continue;
                }
                Output::Event(event) => {
                    log.push(format!("{event:?}"));
                    continue;
                }
                Output::Idle { deadline } => return (open, close, deadline),
            };
            let Invoked::Tool { arguments, .. } = &invocation.request else { panic!("only a tool is offered") };
            log.push("invoked".into());
            let result = CallToolResult::text(arguments.as_str());
            self.respond(reply, Ok(result.into()), Instant::ZERO);
        }
    }
}

/// A machine with its wire.
pub(super) struct Side<M> {
    pub(super) machine: M,
    pub(super) wire: Wire,
    pub(super) log: Vec<String>,
    conn: ConnId,
    clock: Clock,
    deadline: Option<Instant>,
    /// Woken when a name was looked up.
    woken: UnixStream,
}

impl Side<Client> {
    /// A client that dials.
    pub(super) fn dial(host: &str, port: u16, tls: bool, options: DialOptions) -> Self {
        let (woken, waker) = UnixStream::pair().unwrap();
        woken.set_nonblocking(true).unwrap();
        let wake: Wake = Arc::new(move || drop((&waker).write(b"!")));
        let clock = Clock::new();
        let address = Address { host: host.into(), port, tls };
        let wire = Wire::dial(address, &Arc::new(options), clock, wake);
        Self::new(client(), wire, clock, woken)
    }

    /// Asks the server to repeat a text of this many bytes.
    pub(super) fn ask(&mut self, bytes: usize) {
        let params = serde_json::json!({"name": "echo", "arguments": {"text": "x".repeat(bytes)}});
        let now = self.clock.now();
        self.machine.call_raw("tools/call", &params, &CallOptions::new(), (), now).unwrap();
    }
}

impl<M: Speaks> Side<M> {
    pub(super) fn accepted(machine: M, wire: Wire) -> Self {
        Self::new(machine, wire, Clock::new(), UnixStream::pair().unwrap().0)
    }

    fn new(mut machine: M, wire: Wire, clock: Clock, woken: UnixStream) -> Self {
        let mut log = Vec::new();
        let (Some(conn), ..) = machine.settle(&mut log) else { panic!("the first thing is a stream") };
        Self { machine, wire, log, conn, clock, deadline: None, woken }
    }

    pub(super) fn saw(&self, beginning: &str) -> bool {
        self.log.iter().any(|line| line.starts_with(beginning))
    }
}

/// What the driver sees of a side.
pub(super) trait Part {
    fn turn(&mut self) -> (Option<Arc<OwnedFd>>, Readiness, Option<Duration>);
    fn ready(&mut self, read: bool, write: bool);
    fn woken(&self) -> &UnixStream;
    fn log(&self) -> &[String];
    fn is_over(&self) -> bool;
}

impl<M: Speaks> Part for Side<M> {
    fn turn(&mut self) -> (Option<Arc<OwnedFd>>, Readiness, Option<Duration>) {
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= self.clock.now());
        if due(self.deadline) {
            self.machine.handle_timeout(self.clock.now());
        }
        let news = (&self.woken).read(&mut [0; 8]).is_ok();
        if news || due(self.wire.deadline()) {
            self.wire.advance(&mut self.machine, self.conn, self.clock);
        }
        let (_, close, deadline) = self.machine.settle(&mut self.log);
        if close {
            self.wire.close(self.clock);
        }
        self.deadline = deadline;
        let reads = !self.machine.read_buf(self.conn).is_empty();
        let writes = !self.machine.write_buf(self.conn).is_empty();
        let deadline = windlass::earliest(deadline, self.wire.deadline());
        let wait = deadline.map(|deadline| self.clock.until(deadline));
        (self.wire.socket().cloned(), self.wire.interest(reads, writes), wait)
    }

    fn ready(&mut self, read: bool, write: bool) {
        if write {
            let _ = self.wire.write(&mut self.machine, self.conn, self.clock);
        }
        if read {
            let _ = self.wire.read(&mut self.machine, self.conn, self.clock);
        }
    }

    fn woken(&self) -> &UnixStream {
        &self.woken
    }

    fn log(&self) -> &[String] {
        &self.log
    }

    fn is_over(&self) -> bool {
        self.wire.is_over()
    }
}

/// Drives all parts until the first has seen something that begins like this.
pub(super) fn drive_until(parts: &mut [&mut dyn Part], beginning: &str) -> String {
    drive(parts, &|parts| parts[0].log().iter().find(|line| line.starts_with(beginning)).cloned())
}

/// Drives all parts until their wires are over.
pub(super) fn drive_to_end(parts: &mut [&mut dyn Part]) {
    drive(parts, &|parts| parts.iter().all(|part| part.is_over()).then_some(()));
}

fn drive<T>(parts: &mut [&mut dyn Part], done: &dyn Fn(&[&mut dyn Part]) -> Option<T>) -> T {
    let start = StdInstant::now();
    loop {
        let wishes: Vec<_> = parts.iter_mut().map(|part| part.turn()).collect();
        if let Some(found) = done(parts) {
            return found;
        }
        let mut wait = Duration::from_secs(1);
        let mut polled = Vec::new();
        for (part, (socket, readiness, until)) in parts.iter().zip(&wishes) {
            wait = wait.min(until.unwrap_or(wait));
            if readiness.now {
                wait = Duration::ZERO;
            }
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, readiness.read);
            flags.set(PollFlags::OUT, readiness.write);
            // A socket nobody is interested in still tells of a hang-up, and would be ready for ever.
            match socket {
                Some(socket) if !flags.is_empty() => polled.push(PollFd::from_borrowed_fd(socket.as_fd(), flags)),
                _ => polled.push(PollFd::from_borrowed_fd(part.woken().as_fd(), PollFlags::empty())),
            }
        }
        let sockets = polled.len();
        polled.extend(parts.iter().map(|part| PollFd::from_borrowed_fd(part.woken().as_fd(), PollFlags::IN)));
        let limit = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        rustix::event::poll(&mut polled, Some(&limit)).unwrap();
        let ready: Vec<_> = polled[..sockets].iter().map(PollFd::revents).collect();
        drop(polled);
        for (((_, readiness, _), ready), part) in wishes.iter().zip(ready).zip(parts.iter_mut()) {
            let failed = ready.intersects(PollFlags::ERR | PollFlags::HUP);
            let read = readiness.now || (readiness.read && (failed || ready.contains(PollFlags::IN)));
            let write = readiness.write && (failed || ready.contains(PollFlags::OUT));
            part.ready(read, write);
        }
        let logs: Vec<_> = parts.iter().map(|part| part.log().to_vec()).collect();
        assert!(start.elapsed() < PATIENCE, "nothing more happens; so far: {logs:?}");
    }
}

/// Moves the client until the listener sees it.
pub(super) fn connect(client: &mut Side<Client>, listener: &HttpListener) -> Wire {
    let start = StdInstant::now();
    loop {
        match listener.accept() {
            Ok(wire) => return wire,
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        let (_, readiness, _) = client.turn();
        client.ready(readiness.read || readiness.now, readiness.write);
        assert!(start.elapsed() < PATIENCE, "nobody came; so far: {:?}", client.log);
        std::thread::yield_now();
    }
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
