//! One network connection, moved by whoever can wait for a socket. All its states, and all steps between them, are in
//! this file, but for those on the way to a server, which are in `approach`, for clients alone:
//!
//! ```text
//!   dial ──▶ Approaching (perhaps by a proxy) ──▶ Open ──▶ Closing (what the peer still sends is dropped) ──▶ Over
//!   accepted ─────────────────────────────────────▲ │                                                       ▲
//!                            (a TLS handshake first) └── any failure, which the machine is told ─────────────┘
//! ```
//!
//! What a driver does:
//!
//! 1. Watch [`socket`](SocketConnection::socket), for both directions; whenever a call returns, see whether it is another
//!    and watch anew.
//! 2. Ask [`interest`](SocketConnection::interest). For each direction that it names, call
//!    [`read`](SocketConnection::read) or [`write`](SocketConnection::write) when the socket is ready for it, or at once;
//!    `WouldBlock` means to wait for that direction. If it says `now`, call `read` without waiting.
//! 3. At its [`deadline`](SocketConnection::deadline), and when `wake` was called, call [`advance`](SocketConnection::advance).
//!    Do so right after `dial` as well. All calls for one connection take the same clock.
//! 4. When the machine wants the connection closed, call [`close`](SocketConnection::close), and go on until it
//!    [`is_over`](SocketConnection::is_over).

use std::io;
use std::net::IpAddr;
#[cfg(feature = "client")]
use std::sync::Arc;
use std::time::Duration;

use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Machine, earliest};

#[cfg(feature = "client")]
use super::Wake;
#[cfg(feature = "client")]
use super::approach;
#[cfg(feature = "client")]
use super::dial::{Address, DialOptions};
#[cfg(feature = "server")]
use super::socket::Socket;
use super::socket::is_gone;
#[cfg(feature = "server")]
use super::tls::ServerTls;
use super::transport_stream::{Received, TransportStream};
use crate::Clock;
use crate::io::Pollable;

/// How long a peer may go on sending after this side has closed. Without it, the last answer to a client that is still
/// busy with a long request would be lost in a reset.
const LINGER: Duration = Duration::from_secs(2);

/// How often a peer is read that takes nothing any more: a few megabytes, more than systems hold for a connection. A peer
/// on a Unix socket can stop to listen and go on talking for ever.
const LAST_READS: usize = 64;

/// A network connection. It never blocks, and it tells the machine what becomes of it.
pub(crate) struct SocketConnection {
    state: ConnectionState,
    /// For connections of our own.
    dialled: Option<Box<Dialled>>,
    /// Where the client is whose connection was accepted, if that is an address.
    client: Option<IpAddr>,
    /// Whether the peer has said its last word.
    read_over: bool,
    /// Whether the peer takes nothing any more; what there is to write is dropped.
    write_over: bool,
}

enum ConnectionState {
    #[cfg_attr(not(feature = "client"), allow(dead_code, reason = "servers dial nobody"))]
    Approaching(Box<dyn Approach>),
    Open(TransportStream),
    Closing {
        stream: TransportStream,
        until: Instant,
    },
    Over,
}

/// What a connection of our own is for.
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "servers dial nobody"))]
pub(super) struct Dialled {
    /// The server, for messages.
    pub(super) address: String,
    /// When it has to be open, and how long that may take.
    pub(super) deadline: Instant,
    pub(super) timeout: Duration,
}

/// The way of a connection of our own to its server.
pub(super) trait Approach: Send {
    /// Whether it is being looked up or connected to.
    fn is_dialing(&self) -> bool;

    fn pollable(&self) -> Option<&Pollable>;

    fn interest(&self) -> Readiness;

    /// When to look again, whatever the socket says.
    fn deadline(&self) -> Option<Instant>;

    /// Reads once; `WouldBlock` when there is nothing: before there is a connection, whoever asks has to wait.
    fn read(&mut self) -> io::Result<Step>;

    /// Goes on as far as the socket lets it; `WouldBlock` when there is something to wait for.
    fn write(&mut self, now: Instant) -> io::Result<Step>;

    /// How far it has got, for messages.
    fn progress(&self) -> String;
}

/// How far a connection has got.
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "servers dial nobody"))]
pub(super) enum Step {
    OnTheWay,
    /// The server is at the other end.
    Reached(TransportStream),
    /// It will not be.
    Failed(String),
}

/// Which readiness of the socket to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// Call [`SocketConnection::read`] when the socket can be read.
    pub(crate) read: bool,
    /// Call [`SocketConnection::write`] when the socket can be written.
    pub(crate) write: bool,
    /// Call [`SocketConnection::read`] without waiting: there is something that the socket does not know of any more.
    pub(crate) now: bool,
}

impl Readiness {
    /// Whether somebody who waits for this needs not be told to wait for that.
    pub(crate) fn covers(self, wanted: Self) -> bool {
        (self.read || !wanted.read) && (self.write || !wanted.write) && (self.now || !wanted.now)
    }
}

impl SocketConnection {
    /// Begins to connect. Call [`advance`](Self::advance) at once: nothing is done before. `wake` is called, from any
    /// thread, when [`advance`](Self::advance) is to be.
    #[cfg(feature = "client")]
    pub(crate) fn dial(address: Address, options: &Arc<DialOptions>, clock: Clock, wake: Wake) -> Self {
        let (approach, dialled) = approach::begin(address, options, clock.now(), wake);
        Self {
            state: ConnectionState::Approaching(approach),
            dialled: Some(Box::new(dialled)),
            client: None,
            read_over: false,
            write_over: false,
        }
    }

    /// A connection that was accepted, from a client at this address if it has one.
    ///
    /// # Errors
    ///
    /// When it cannot be secured.
    #[cfg(feature = "server")]
    pub(crate) fn accepted(stream: Pollable, client: Option<IpAddr>, tls: Option<&ServerTls>) -> io::Result<Self> {
        let stream = TransportStream::accepted(Socket::new(stream), tls).map_err(io::Error::other)?;
        Ok(Self { state: ConnectionState::Open(stream), dialled: None, client, read_over: false, write_over: false })
    }

    /// Where the client is whose connection was accepted.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.client
    }

    /// What to wait for. There is nothing while a name is being looked up, nor when all is over.
    pub(crate) fn socket(&self) -> Option<&Pollable> {
        match &self.state {
            ConnectionState::Approaching(approach) => approach.pollable(),
            ConnectionState::Open(stream) | ConnectionState::Closing { stream, .. } => Some(stream.socket.pollable()),
            ConnectionState::Over => None,
        }
    }

    /// Which readiness matters now, given whether the machine takes bytes and whether it has some.
    pub(crate) fn interest(&self, reads: bool, writes: bool) -> Readiness {
        match &self.state {
            ConnectionState::Approaching(approach) => approach.interest(),
            ConnectionState::Open(stream) => stream.interest(reads && !self.read_over, writes),
            ConnectionState::Closing { .. } => Readiness { read: true, ..Readiness::default() },
            ConnectionState::Over => Readiness::default(),
        }
    }

    /// When to call [`advance`](Self::advance), at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            ConnectionState::Approaching(approach) => earliest(self.open_until(), approach.deadline()),
            ConnectionState::Closing { until, .. } => Some(*until),
            ConnectionState::Over => None,
            ConnectionState::Open(stream) if !stream.is_handshaking() => None,
            ConnectionState::Open(_) => self.open_until(),
        }
    }

    /// Whether bytes of the machine's can go and come.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.state, ConnectionState::Open(stream) if !stream.is_handshaking())
    }

    /// Whether it is being looked up or connected to.
    pub(crate) fn is_dialing(&self) -> bool {
        matches!(&self.state, ConnectionState::Approaching(approach) if approach.is_dialing())
    }

    /// Whether there is nothing left to do.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, ConnectionState::Over)
    }

    fn open_until(&self) -> Option<Instant> {
        self.dialled.as_ref().map(|dialled| dialled.deadline)
    }

    /// Looks after what no readiness tells of: names that were found, times that have come. Calling it more often is
    /// harmless.
    pub(crate) fn advance<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) {
        let now = clock.now();
        match &self.state {
            ConnectionState::Closing { until, .. } if *until <= now => self.state = ConnectionState::Over,
            ConnectionState::Closing { .. } | ConnectionState::Over => {}
            _ if self.is_open() => {}
            _ if self.open_until().is_some_and(|deadline| deadline <= now) => {
                let why = self.lateness();
                self.not_opened(machine, conn, why, now);
            }
            _ if self.is_dialing() => {
                // What could not be written now is asked for by the interest.
                let _ = self.write(machine, conn, clock);
            }
            ConnectionState::Approaching(_) | ConnectionState::Open(_) => {}
        }
    }

    /// Reads once, and goes on with whatever the peer has to say first. What the machine has to know, it is told: the
    /// end of the stream, a failure. Returns whether the socket is known to have nothing more.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when the socket has nothing. That is the only error.
    pub(crate) fn read<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<bool> {
        if let ConnectionState::Approaching(approach) = &mut self.state {
            match approach.read()? {
                Step::OnTheWay => {}
                Step::Reached(stream) => {
                    self.state = ConnectionState::Open(stream);
                    // What waited for the proxy goes now.
                    let _ = self.write_open(machine, conn, clock);
                }
                Step::Failed(why) => self.not_opened(machine, conn, why, clock.now()),
            }
            return Ok(false);
        }
        match &mut self.state {
            ConnectionState::Open(_) => self.read_open(machine, conn, clock),
            ConnectionState::Closing { stream, .. } => {
                if stream.socket.discard()? {
                    self.state = ConnectionState::Over;
                }
                Ok(false)
            }
            ConnectionState::Approaching(_) | ConnectionState::Over => Ok(false),
        }
    }

    /// Writes all that goes, and goes on with whatever has to be written first. What the machine has to know, it is
    /// told.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when that is not all. That is the only error.
    pub(crate) fn write<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<()> {
        if let ConnectionState::Approaching(approach) = &mut self.state {
            let now = clock.now();
            match approach.write(now)? {
                Step::OnTheWay => return Ok(()),
                Step::Reached(stream) => self.state = ConnectionState::Open(stream),
                Step::Failed(why) => self.not_opened(machine, conn, why, now),
            }
        }
        match &mut self.state {
            ConnectionState::Open(_) => self.write_open(machine, conn, clock),
            ConnectionState::Approaching(_) | ConnectionState::Closing { .. } | ConnectionState::Over => Ok(()),
        }
    }

    /// Closes the connection: everything of the machine's has been written. The peer is told that nothing more comes.
    /// What it still sends is read and dropped for a while, so that the last words to it are not lost; a driver that
    /// does not want to wait for that may drop the connection.
    pub(crate) fn close(&mut self, clock: Clock) {
        let ConnectionState::Open(mut stream) = std::mem::replace(&mut self.state, ConnectionState::Over) else {
            return;
        };
        if stream.say_goodbye() || self.read_over || self.dialled.is_some() {
            return;
        }
        self.state = ConnectionState::Closing { stream, until: clock.now() + LINGER };
    }

    /// Whether it is closed, and only what the peer still sends is read and dropped.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.state, ConnectionState::Closing { .. })
    }

    /// Does not wait any longer for what the peer still sends.
    pub(crate) fn close_at_once(&mut self) {
        if self.is_closing() {
            self.state = ConnectionState::Over;
        }
    }

    fn read_open<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<bool> {
        let ConnectionState::Open(stream) = &mut self.state else { return Ok(false) };
        let handshaking = stream.is_handshaking();
        if let Err(why) = stream.handshake()? {
            self.not_opened(machine, conn, self.about_whom(&why), clock.now());
            return Ok(false);
        }
        if handshaking {
            // What waited for the handshake goes now. Drivers do not look again at what they could not write before,
            // and `WouldBlock` from a first read would have them wait for a peer that waits for us.
            if !stream.is_handshaking() {
                let _ = self.write_open(machine, conn, clock);
            }
            return Ok(false);
        }
        if self.read_over {
            return Ok(false);
        }
        let buffer = machine.read_buf(conn);
        if buffer.is_empty() {
            // Not `WouldBlock`: the socket may well have something, and a driver would wait for news of it in vain.
            return Ok(false);
        }
        let room = buffer.len();
        let received = stream.receive(buffer);
        let short = matches!(received, Ok(Received::Bytes(count)) if count < room);
        let exhausted = short && stream.short_read_empties();
        let now = clock.now();
        match received {
            Ok(Received::Bytes(count)) => machine.read_done(conn, count, now),
            Ok(Received::End) => self.ended(machine, conn, now),
            Ok(Received::Fault(why)) => self.broken(machine, conn, &why, now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // Everything that came before has been read.
            Err(error) if is_gone(&error) => {
                self.write_over = true;
                self.ended(machine, conn, now);
            }
            Err(error) => self.broken(machine, conn, &error.to_string(), now),
        }
        Ok(exhausted)
    }

    fn write_open<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<()> {
        if self.read_over && self.write_over && !machine.write_buf(conn).is_empty() {
            self.forsaken(machine, conn, clock.now());
        }
        loop {
            let ConnectionState::Open(stream) = &mut self.state else { return Ok(()) };
            let sent = if self.write_over { Ok(machine.write_buf(conn).len()) } else { stream.send(machine, conn) };
            match sent {
                Ok(0) => return Ok(()),
                Ok(count) => machine.write_done(conn, count, clock.now()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(error) if is_gone(&error) && !stream.is_handshaking() => self.peer_gone(machine, conn, clock),
                Err(error) if self.is_open() => self.broken(machine, conn, &error.to_string(), clock.now()),
                Err(error) => self.not_opened(machine, conn, self.about_whom(&error.to_string()), clock.now()),
            }
        }
    }

    /// The peer takes nothing any more. What it said last is still to be read, and says more than a broken pipe does.
    fn peer_gone<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) {
        self.write_over = true;
        if self.read_over {
            // The machine knows that already, and has gone on for a peer that might have listened.
            return self.forsaken(machine, conn, clock.now());
        }
        let mut reads = 0;
        while !self.read_over && self.is_open() {
            reads += 1;
            if !machine.reads(conn) || reads > LAST_READS {
                // It does not want to hear it, and must not wait for a peer that is gone, nor for one that goes on.
                self.forsaken(machine, conn, clock.now());
            } else if self.read_open(machine, conn, clock).is_err() {
                // It may have said all it wants to say and yet not have ended its side: for us it is gone.
                self.ended(machine, conn, clock.now());
            }
        }
    }

    fn ended<M: Machine>(&mut self, machine: &mut M, conn: ConnId, now: Instant) {
        if matches!(&self.state, ConnectionState::Open(stream) if !stream.may_end()) {
            // A body that goes on until the end would pass for a whole one.
            let why = "TLS: the connection ended without a goodbye (close_notify), so what came last may not be all";
            return self.broken(machine, conn, why, now);
        }
        self.read_over = true;
        machine.read_eof(conn, now);
    }

    /// There is something to write, and nobody to take it.
    fn forsaken<M: Machine>(&mut self, machine: &mut M, conn: ConnId, now: Instant) {
        self.broken(machine, conn, "the other side is gone", now);
    }

    fn broken<M: Machine>(&mut self, machine: &mut M, conn: ConnId, why: &str, now: Instant) {
        let why = self.about_whom(why);
        self.state = ConnectionState::Over;
        machine.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, why), now);
    }

    fn not_opened<M: Machine>(&mut self, machine: &mut M, conn: ConnId, why: String, now: Instant) {
        self.state = ConnectionState::Over;
        machine.conn_failed(conn, ConnError::new(ConnErrorKind::NotOpened, why), now);
    }

    /// Names the server in a message, where there is one to name.
    fn about_whom(&self, why: &str) -> String {
        self.dialled.as_ref().map_or_else(|| why.to_owned(), |dialled| format!("{}: {why}", dialled.address))
    }

    /// Why it took too long.
    fn lateness(&self) -> String {
        let Some(Dialled { address, timeout, .. }) = self.dialled.as_deref() else { return String::new() };
        let progress = match &self.state {
            ConnectionState::Approaching(approach) => approach.progress(),
            _ => "the TLS handshake was not finished".into(),
        };
        format!("{address}: {progress} within {timeout:?}")
    }
}

impl Drop for SocketConnection {
    fn drop(&mut self) {
        // A connection that is dropped without being closed still takes leave.
        if let ConnectionState::Open(stream) = &mut self.state {
            stream.say_goodbye();
        }
    }
}
