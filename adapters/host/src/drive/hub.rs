//! A machine with its stream: everything that driving it takes, except for waiting.
//!
//! Reading and writing never block here. What differs between runtimes is how they wait until a stream is ready, the
//! deadline has come or somebody calls; that is all an adapter adds.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

#[cfg(all(feature = "client", feature = "http"))]
use windlass::Target;
#[cfg(feature = "http")]
use windlass::earliest;
#[cfg(all(feature = "client", feature = "http"))]
use windlass::link::http::{HttpClient, HttpExchanges};
use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Machine, Output};

use crate::drive::endpoint::{Connector, Endpoint, stderr_of};
use crate::io::Pollable;
#[cfg(all(feature = "client", feature = "http"))]
use crate::net::{Carriage, HttpTarget};
#[cfg(feature = "http")]
use crate::net::{SocketConnections, Wake};
use crate::wait::Shutdown;
use crate::{Clock, Grace, StderrTail};

/// What a program makes of a machine's events. Events borrow from the machine, so what takes time or calls back is
/// kept as an action, to be performed when the machine is free again.
pub trait Program<M: Machine> {
    /// Something to do once the machine is free.
    type Action;

    /// Takes in an event.
    fn take(&self, event: M::Event<'_>, actions: &mut Vec<Self::Action>);
}

/// A program that hands every event on at once.
pub struct OnEvent<F>(RefCell<F>);

impl<F> OnEvent<F> {
    /// Hands every event to `on_event`.
    pub fn new(on_event: F) -> Self {
        Self(RefCell::new(on_event))
    }
}

impl<M: Machine, F: FnMut(M::Event<'_>)> Program<M> for OnEvent<F> {
    type Action = ();

    fn take(&self, event: M::Event<'_>, _: &mut Vec<()>) {
        (self.0.borrow_mut())(event);
    }
}

/// A machine, its stream and its clock.
pub struct Hub<M> {
    /// The machine.
    pub machine: M,
    clock: Clock,
    connector: Connector,
    stream: Option<(ConnId, Endpoint)>,
    stderr: Option<StderrTail>,
    grace: Grace,
    shutdown: Arc<Shutdown>,
    /// The connections of a machine that has many.
    #[cfg(feature = "http")]
    pub(crate) connections: Option<SocketConnections>,
    /// Who makes its requests, if it is not we.
    #[cfg(all(feature = "client", feature = "http"))]
    carriage: Option<Carriage<M>>,
    request: Option<StreamRequest>,
    finished: bool,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// When to call [`Hub::handle_timeout`].
    pub deadline: Option<Instant>,
    /// Whether the machine takes in what comes. A stream whose end has been seen, or that is being closed, would look
    /// ready for ever and is not to be waited for.
    pub read: bool,
    /// Whether there is something to write that could not be written yet.
    pub write: bool,
    /// Whether whoever listens for connections on the machine's behalf is to go on with it.
    pub listen: bool,
    /// Whether the connection is over: there is nothing to wait for.
    pub finished: bool,
}

/// What came of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How many bytes came, or whether any did on one of many connections; the end of the stream or its failure count
    /// as one.
    pub count: usize,
    /// Whether there is nothing more to read now.
    pub exhausted: bool,
}

/// The stream to wait for. Another connection has another id.
#[derive(Clone, Debug)]
pub struct StreamPair {
    /// Which it is.
    pub conn: ConnId,
    /// What is read from.
    pub input: Pollable,
    /// What is written to.
    pub output: Pollable,
}

/// How many bytes are read before the machine is asked what it makes of them.
const READ_BUDGET: usize = 256 * 1024;

/// How many deadlines a machine may have left that is being closed and hears from nobody. It has two or three.
const LAST_DEADLINES: usize = 64;

/// What a machine wants of its stream. An event would borrow from the machine; these do not.
enum StreamRequest {
    Open(ConnId),
    /// It speaks HTTP, and its driver does not.
    #[cfg(all(feature = "client", feature = "http"))]
    Refuse(ConnId),
    Close(ConnId),
    /// A request of HTTP, made by whoever makes them.
    #[cfg(all(feature = "client", feature = "http"))]
    Ask(ConnId),
    Nothing {
        until: Option<Instant>,
    },
}

impl<M: Machine> Hub<M> {
    /// A hub that opens its stream through `connector` when the machine asks for it.
    pub fn new(machine: M, clock: Clock, connector: Connector, grace: Grace) -> Self {
        Self {
            machine,
            clock,
            connector,
            stream: None,
            stderr: None,
            grace,
            shutdown: Arc::new(Shutdown::default()),
            #[cfg(feature = "http")]
            connections: None,
            #[cfg(all(feature = "client", feature = "http"))]
            carriage: None,
            request: None,
            finished: false,
        }
    }

    /// A hub of a client over HTTP, whoever makes its requests. `wake` makes the driver look again.
    #[cfg(all(feature = "client", feature = "http"))]
    pub(crate) fn over_http<T>(
        machine: HttpClient<T>,
        target: HttpTarget,
        clock: Clock,
        grace: Grace,
        wake: &Wake,
    ) -> Self
    where
        M: HttpExchanges + From<HttpClient<T>>,
    {
        let carriage = target.carrier.map(|carrier| Carriage::new((carrier.0)(clock, wake.clone())));
        let machine = if carriage.is_some() { machine.delegating() } else { machine };
        let mut hub = Self::new(machine.into(), clock, Connector::Connected(None), grace);
        hub.carriage = carriage;
        hub.connections = Some(SocketConnections::dialled_by(target.dial, clock, wake.clone()));
        hub
    }

    /// A hub of a server over HTTP.
    #[cfg(all(feature = "server", feature = "http"))]
    pub(crate) fn serving_http(machine: M, clock: Clock, wake: Wake) -> Self {
        let mut hub = Self::new(machine, clock, Connector::Connected(None), Grace::default());
        hub.connections = Some(SocketConnections::new(clock, wake));
        hub
    }

    /// Lets the machine do all it can: events go to `program`, bytes that can be written at once are written.
    pub fn turn<P: Program<M>>(&mut self, program: &P, actions: &mut Vec<P::Action>) -> Interest {
        loop {
            if let Some(interest) = self.look(program, actions) {
                return interest;
            }
            match self.request.take() {
                Some(StreamRequest::Open(conn)) => self.open(conn),
                #[cfg(all(feature = "client", feature = "http"))]
                Some(StreamRequest::Refuse(conn)) => {
                    let why = "this machine speaks HTTP, and was given a single stream to speak on; \
                               in a mio loop of your own, make its source with `Source::http_client`";
                    self.conn_failed(conn, ConnError::new(ConnErrorKind::NotOpened, why));
                }
                Some(StreamRequest::Close(conn)) => self.close(conn),
                _ => {}
            }
        }
    }

    /// The same, but streams are neither opened nor closed; `None` when that is what the machine wants next.
    ///
    /// It is for those who do not wait for the stream themselves: whoever does has to let go of it when it is closed,
    /// and nobody is to hear of that before.
    pub(crate) fn look<P: Program<M>>(&mut self, program: &P, actions: &mut Vec<P::Action>) -> Option<Interest> {
        loop {
            let deadline = self.poll(program, actions)?;
            if self.flush() {
                continue;
            }
            #[cfg(feature = "http")]
            if let Some(connections) = &self.connections {
                let deadline = earliest(deadline, connections.deadline());
                // What is being closed is looked after to its end.
                let finished = self.machine.is_over() && connections.is_empty();
                let listen = self.machine.takes_connections();
                return Some(Interest { deadline, read: false, write: false, listen, finished });
            }
            let conn = self.conn();
            let read = conn.is_some_and(|conn| self.machine.reads(conn));
            let write = conn.is_some_and(|conn| !self.machine.write_buf(conn).is_empty());
            return Some(Interest { deadline, read, write, listen: false, finished: self.finished });
        }
    }

    /// Tells of events until the machine is idle, or wants something of its stream.
    fn poll<P: Program<M>>(&mut self, program: &P, actions: &mut Vec<P::Action>) -> Option<Option<Instant>> {
        while self.request.is_none() {
            let request = match self.machine.poll() {
                Output::Event(event) => {
                    program.take(event, actions);
                    continue;
                }
                #[cfg(all(feature = "client", feature = "http"))]
                Output::Open { conn, target: Target::Http(target) } => match &mut self.connections {
                    Some(connections) => {
                        connections.open(conn, target);
                        continue;
                    }
                    None => StreamRequest::Refuse(conn),
                },
                #[cfg(all(feature = "client", feature = "http"))]
                Output::Open { conn, target: Target::Exchange } => StreamRequest::Ask(conn),
                Output::Open { conn, .. } => StreamRequest::Open(conn),
                Output::Close(conn) => StreamRequest::Close(conn),
                Output::Idle { deadline } => StreamRequest::Nothing { until: deadline },
            };
            match self.fulfil(request) {
                Ok(()) => {}
                Err(StreamRequest::Nothing { until }) => return Some(until),
                Err(request) => self.request = Some(request),
            }
        }
        None
    }

    /// Does what needs no stream of ours to be opened or closed. Gives back what does, and when there is nothing to do.
    fn fulfil(&mut self, request: StreamRequest) -> Result<(), StreamRequest> {
        #[cfg(all(feature = "client", feature = "http"))]
        if let Some(carriage) = &mut self.carriage {
            match request {
                StreamRequest::Ask(conn) => carriage.start(&self.machine, conn),
                StreamRequest::Close(conn) => carriage.abort(conn),
                StreamRequest::Nothing { until } => {
                    let again = carriage.advance(&mut self.machine, self.clock.now());
                    return again.map_err(|again| StreamRequest::Nothing { until: earliest(until, again) });
                }
                request => return Err(request),
            }
            return Ok(());
        }
        #[cfg(feature = "http")]
        if let (Some(connections), StreamRequest::Close(conn)) = (&mut self.connections, &request) {
            connections.close(*conn);
            return Ok(());
        }
        Err(request)
    }

    /// Nobody will drive the machine any more, which has been told so. Whatever it still wants is refused and whatever it
    /// waits for does not come, so that its last events are told now.
    pub(crate) fn abandon<P: Program<M>>(&mut self, why: &ConnError, program: &P, actions: &mut Vec<P::Action>) {
        let mut now = self.clock.now();
        let stream = self.conn();
        #[cfg(feature = "http")]
        let connections = self.connections.as_mut().map(|connections| connections.drop_all()).unwrap_or_default();
        #[cfg(not(feature = "http"))]
        let connections: [ConnId; 0] = [];
        for conn in stream.into_iter().chain(connections) {
            self.machine.conn_failed(conn, why.clone(), now);
        }
        for _ in 0..LAST_DEADLINES {
            let deadline = loop {
                let unwanted = match self.machine.poll() {
                    Output::Event(event) => {
                        program.take(event, actions);
                        continue;
                    }
                    Output::Open { conn, .. } => conn,
                    Output::Close(_) => continue,
                    Output::Idle { deadline } => break deadline,
                };
                self.machine.conn_failed(unwanted, why.clone(), now);
            };
            let Some(deadline) = deadline.filter(|_| !self.machine.is_over()) else { break };
            now = now.max(deadline);
            self.machine.handle_timeout(now);
        }
        self.request = None;
        self.end_stream();
        self.finished = true;
    }

    fn open(&mut self, conn: ConnId) {
        // A second stream replaces the first.
        self.end_stream();
        match self.connector.open() {
            Ok(mut endpoint) => {
                self.stderr = stderr_of(&endpoint);
                endpoint.held = endpoint.child.is_some().then(|| self.shutdown.hold());
                self.stream = Some((conn, endpoint));
            }
            Err(error) => self.machine.conn_failed(conn, error, self.clock.now()),
        }
    }

    fn close(&mut self, conn: ConnId) {
        if self.stream.as_ref().is_some_and(|(open, _)| *open == conn) {
            self.end_stream();
        }
        self.finished = true;
    }

    /// Closes the stream and ends the child at the other end, in the background.
    fn end_stream(&mut self) {
        if let Some((_, endpoint)) = self.stream.take() {
            endpoint.end(&self.shutdown, self.grace);
        }
    }

    /// Leaves the child at the other end no time to exit by itself, once [`Shutdown::hurry`] is called.
    #[cfg(feature = "client")]
    pub(crate) fn kill(&mut self) {
        if let Some((_, endpoint)) = &mut self.stream {
            endpoint.end_child(&self.shutdown, self.grace);
        }
    }

    /// Writes what the stream takes. Returns whether the machine may have something new to say.
    pub(crate) fn flush(&mut self) -> bool {
        #[cfg(feature = "http")]
        if let Some(connections) = &mut self.connections {
            return connections.advance(&mut self.machine);
        }
        let Some((conn, endpoint)) = &mut self.stream else { return false };
        let conn = *conn;
        let mut progress = false;
        loop {
            let bytes = self.machine.write_buf(conn);
            if bytes.is_empty() {
                return progress;
            }
            let now = self.clock.now();
            match endpoint.write(bytes) {
                Ok(count) => self.machine.write_done(conn, count, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if endpoint.widen() {
                        continue;
                    }
                    return progress;
                }
                Err(error) => {
                    self.broke(conn, &error, now);
                    return true;
                }
            }
            progress = true;
        }
    }

    /// The same; `WouldBlock` when that is not all.
    pub(crate) fn flush_or_block(&mut self) -> io::Result<()> {
        self.flush();
        match &self.stream {
            Some((conn, _)) if !self.machine.write_buf(*conn).is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    }

    /// A stream that fails is over. A peer that is gone is seen by reading too, which has what it said last, so a
    /// broken pipe on writing is left to that.
    fn broke(&mut self, conn: ConnId, error: &io::Error, now: Instant) {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                let unwritten = self.machine.write_buf(conn).len();
                self.machine.write_done(conn, unwritten, now);
                while self.read_to_end(conn) {}
            }
            _ => {
                let error = ConnError::new(ConnErrorKind::Broken, error.to_string());
                self.machine.conn_failed(conn, error, now);
            }
        }
    }

    /// Reads what a peer that is gone has left behind; false at the end.
    fn read_to_end(&mut self, conn: ConnId) -> bool {
        let Some((_, endpoint)) = &self.stream else { return false };
        let now = self.clock.now();
        let buffer = self.machine.read_buf(conn);
        match endpoint.read(buffer) {
            Ok(count) if count > 0 => {
                self.machine.read_done(conn, count, now);
                true
            }
            // A writer may live on in a grandchild; for us the peer is gone all the same.
            _ => {
                self.machine.read_eof(conn, now);
                false
            }
        }
    }

    /// The stream failed in the runtime's hands.
    pub fn conn_failed(&mut self, conn: ConnId, error: ConnError) {
        // Nobody can wait for it, so that it cannot be closed in peace either.
        #[cfg(feature = "http")]
        self.connections.as_mut().into_iter().for_each(|connections| connections.drop_one(conn));
        self.machine.conn_failed(conn, error, self.clock.now());
    }

    /// The deadline has come.
    pub fn handle_timeout(&mut self) {
        self.machine.handle_timeout(self.clock.now());
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Reads all that the stream has, but no more than a budget, so that the machine gets its turn.
    ///
    /// A read that leaves room has emptied a pipe or a stream socket, as epoll(7) promises: asking again would only be
    /// told so. What comes later makes the stream ready anew, and so does its end.
    pub fn read_available(&mut self) -> Reading {
        let mut count = 0;
        while count < READ_BUDGET {
            let Some((conn, endpoint)) = &self.stream else { break };
            let conn = *conn;
            let buffer = self.machine.read_buf(conn);
            let room = buffer.len();
            if room == 0 {
                break;
            }
            let outcome = endpoint.read(buffer);
            let short_read_empties = endpoint.short_read_empties();
            let now = self.clock.now();
            match outcome {
                Ok(0) => {
                    self.machine.read_eof(conn, now);
                    return Reading { count: count + 1, exhausted: false };
                }
                Ok(read) => {
                    self.machine.read_done(conn, read, now);
                    count += read;
                    if read < room && short_read_empties {
                        return Reading { count, exhausted: true };
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Reading { count, exhausted: true },
                Err(error) => {
                    self.broke(conn, &error, now);
                    return Reading { count: count + 1, exhausted: false };
                }
            }
        }
        Reading { count, exhausted: false }
    }

    /// Reads on a connection.
    #[cfg(feature = "http")]
    pub(crate) fn read_connection(&mut self, conn: ConnId) -> Reading {
        let nothing = Reading { count: 1, exhausted: false };
        self.connections.as_mut().map_or(nothing, |connections| connections.read(&mut self.machine, conn))
    }

    /// The stream as it is now, to wait for.
    pub fn stream(&self) -> Option<StreamPair> {
        let (conn, endpoint) = self.stream.as_ref()?;
        Some(StreamPair { conn: *conn, input: endpoint.input.clone(), output: endpoint.output.clone() })
    }

    /// Which stream that is.
    pub fn conn(&self) -> Option<ConnId> {
        self.stream.as_ref().map(|(conn, _)| *conn)
    }

    /// What the child said on its standard error, as far as it is kept.
    pub fn stderr(&self) -> Option<StderrTail> {
        self.stderr.clone()
    }

    /// How long a child is given to exit at each step of its shutdown.
    #[cfg(feature = "client")]
    pub(crate) fn grace(&self) -> Grace {
        self.grace
    }

    /// The end of everything that was opened.
    pub fn shutdown(&self) -> Arc<Shutdown> {
        self.shutdown.clone()
    }
}

impl<M> Drop for Hub<M> {
    fn drop(&mut self) {
        // A program that drops everything without closing still leaves no process behind.
        if let Some((_, endpoint)) = self.stream.take() {
            endpoint.end(&self.shutdown, self.grace);
        }
    }
}
