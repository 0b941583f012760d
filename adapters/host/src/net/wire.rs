//! One network connection, moved by whoever can wait for a socket. All its stages, and all steps between them, are in
//! this file:
//!
//! ```text
//!   dial ──▶ Dialing ──▶ Tunnelling (a proxy) ──▶ Open ──▶ Closing (what the peer still sends is dropped) ──▶ Over
//!   accepted ─────────────────────────────────────▲ │                                                       ▲
//!                            (a TLS handshake first) └── any failure, which the machine is told ─────────────┘
//! ```
//!
//! What a driver does:
//!
//! 1. Watch [`Wire::socket`], for both directions; whenever a call returns, see whether it is another and watch anew.
//! 2. Ask [`Wire::interest`]. For each direction that it names, call [`read`](Wire::read) or [`write`](Wire::write)
//!    when the socket is ready for it, or at once; `WouldBlock` means to wait for that direction. If it says `now`,
//!    call `read` without waiting.
//! 3. At [`Wire::deadline`], and when `wake` was called, call [`advance`](Wire::advance).
//!    Do so right after `dial` as well. All calls for one wire take the same clock.
//! 4. When the machine wants the connection closed, call [`Wire::close`], and go on until [`Wire::is_over`].

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Machine, earliest};

use super::dial::{Address, DialOptions, Wake};
use super::dialing::{Dialed, Dialing, Preparation};
use super::proxy::Proxy;
use super::socket::{Socket, is_gone};
use super::stream::{Received, Stream};
use super::tls::ServerTls;
use super::tunnel::{Dug, Tunnel};
use crate::Clock;
use crate::io::Pollable;

/// How long a peer may go on sending after this side has closed. Without it, the last answer to a client that is still
/// busy with a long request would be lost in a reset.
const LINGER: Duration = Duration::from_secs(2);

/// How often a peer is read that takes nothing any more: a few megabytes, more than systems hold for a connection. A peer
/// on a Unix socket can stop to listen and go on talking for ever.
const LAST_READS: usize = 64;

/// A network connection. It never blocks, and it tells the machine what becomes of it.
pub(crate) struct Wire {
    stage: Stage,
    /// For connections of our own.
    dialled: Option<Box<Dialled>>,
    /// Where the client is whose connection was accepted, if that is an address.
    client: Option<IpAddr>,
    /// Whether the peer has said its last word.
    read_over: bool,
    /// Whether the peer takes nothing any more; what there is to write is dropped.
    write_over: bool,
}

enum Stage {
    Dialing(Box<Dialing>),
    Tunnelling(Socket, Box<Tunnel>),
    Open(Stream),
    Closing { stream: Stream, until: Instant },
    Over,
}

/// What a connection of our own is for.
struct Dialled {
    address: Address,
    options: Arc<DialOptions>,
    proxy: Option<Proxy>,
    /// When it has to be open.
    deadline: Instant,
}

/// Which readiness of the socket to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// Call [`Wire::read`] when the socket can be read.
    pub(crate) read: bool,
    /// Call [`Wire::write`] when the socket can be written.
    pub(crate) write: bool,
    /// Call [`Wire::read`] without waiting: there is something that the socket does not know of any more.
    pub(crate) now: bool,
}

impl Readiness {
    /// Whether somebody who waits for this needs not be told to wait for that.
    pub(crate) fn covers(self, wanted: Self) -> bool {
        (self.read || !wanted.read) && (self.write || !wanted.write) && (self.now || !wanted.now)
    }
}

impl Wire {
    /// Begins to connect. Call [`advance`](Self::advance) at once: nothing is done before. `wake` is called, from any
    /// thread, when [`advance`](Self::advance) is to be.
    pub(crate) fn dial(address: Address, options: &Arc<DialOptions>, clock: Clock, wake: Wake) -> Self {
        let deadline = clock.now() + options.connect_timeout;
        let proxy = match options.unix_socket {
            None => options.proxy.for_address(&address),
            Some(_) => None,
        };
        let preparation = preparation(&address, options);
        let dialing = match (&options.unix_socket, proxy) {
            (Some(path), _) => Dialing::unix(path.clone()),
            (None, Some(Err(why))) => Dialing::hopeless(address.to_string(), why.to_string()),
            (None, Some(Ok(proxy))) => Dialing::host(&proxy.host, proxy.port, preparation, wake),
            (None, None) => Dialing::host(address.bare_host(), address.port, preparation, wake),
        };
        let proxy = proxy.and_then(|proxy| proxy.as_ref().ok()).cloned();
        let dialled = Dialled { address, options: options.clone(), proxy, deadline };
        Self {
            stage: Stage::Dialing(Box::new(dialing)),
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
    pub(crate) fn accepted(stream: Pollable, client: Option<IpAddr>, tls: Option<&ServerTls>) -> io::Result<Self> {
        let stream = Stream::accepted(Socket::new(stream), tls).map_err(io::Error::other)?;
        Ok(Self { stage: Stage::Open(stream), dialled: None, client, read_over: false, write_over: false })
    }

    /// Where the client is whose connection was accepted.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.client
    }

    /// What to wait for. There is nothing while a name is being looked up, nor when all is over.
    pub(crate) fn socket(&self) -> Option<&Pollable> {
        match &self.stage {
            Stage::Dialing(dialing) => dialing.pollable(),
            Stage::Tunnelling(socket, _) => Some(socket.pollable()),
            Stage::Open(stream) | Stage::Closing { stream, .. } => Some(stream.socket.pollable()),
            Stage::Over => None,
        }
    }

    /// Which readiness matters now, given whether the machine takes bytes and whether it has some.
    pub(crate) fn interest(&self, reads: bool, writes: bool) -> Readiness {
        match &self.stage {
            Stage::Dialing(_) => Readiness { write: true, ..Readiness::default() },
            Stage::Tunnelling(_, tunnel) => {
                Readiness { read: !tunnel.wants_write(), write: tunnel.wants_write(), now: false }
            }
            Stage::Open(stream) => stream.interest(reads && !self.read_over, writes),
            Stage::Closing { .. } => Readiness { read: true, ..Readiness::default() },
            Stage::Over => Readiness::default(),
        }
    }

    /// When to call [`advance`](Self::advance), at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Dialing(dialing) => earliest(self.open_until(), dialing.deadline()),
            Stage::Closing { until, .. } => Some(*until),
            Stage::Over => None,
            Stage::Open(stream) if !stream.is_handshaking() => None,
            Stage::Tunnelling(..) | Stage::Open(_) => self.open_until(),
        }
    }

    /// Whether bytes of the machine's can go and come.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.stage, Stage::Open(stream) if !stream.is_handshaking())
    }

    /// Whether it is being looked up or connected to.
    pub(crate) fn is_dialing(&self) -> bool {
        matches!(self.stage, Stage::Dialing(_))
    }

    /// Whether there is nothing left to do.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    fn open_until(&self) -> Option<Instant> {
        self.dialled.as_ref().map(|dialled| dialled.deadline)
    }

    /// Looks after what no readiness tells of: names that were found, times that have come. Calling it more often is
    /// harmless.
    pub(crate) fn advance<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) {
        let now = clock.now();
        match &self.stage {
            Stage::Closing { until, .. } if *until <= now => self.stage = Stage::Over,
            Stage::Closing { .. } | Stage::Over => {}
            _ if self.is_open() => {}
            _ if self.open_until().is_some_and(|deadline| deadline <= now) => {
                let why = self.lateness();
                self.not_opened(machine, conn, why, now);
            }
            Stage::Dialing(_) => {
                // What could not be written now is asked for by the interest.
                let _ = self.write(machine, conn, clock);
            }
            Stage::Tunnelling(..) | Stage::Open(_) => {}
        }
    }

    /// Reads once, and goes on with whatever the peer has to say first. What the machine has to know, it is told: the
    /// end of the stream, a failure. Returns whether the socket is known to have nothing more.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when the socket has nothing. That is the only error.
    pub(crate) fn read<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<bool> {
        if let Stage::Tunnelling(socket, tunnel) = &mut self.stage {
            match tunnel.read(socket)? {
                Ok(Dug::Waiting) => {}
                Ok(Dug::Through) => {
                    self.through(machine, conn, clock.now());
                    // What waited for the proxy goes now.
                    let _ = self.write_open(machine, conn, clock);
                }
                Err(why) => self.not_opened(machine, conn, why, clock.now()),
            }
            return Ok(false);
        }
        match &mut self.stage {
            Stage::Open(_) => self.read_open(machine, conn, clock),
            Stage::Closing { stream, .. } => {
                if stream.socket.discard()? {
                    self.stage = Stage::Over;
                }
                Ok(false)
            }
            // There is nothing to read before there is a connection; whoever asks has to wait.
            Stage::Dialing(_) | Stage::Tunnelling(..) => Err(io::ErrorKind::WouldBlock.into()),
            Stage::Over => Ok(false),
        }
    }

    /// Writes all that goes, and goes on with whatever has to be written first. What the machine has to know, it is
    /// told.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when that is not all. That is the only error.
    pub(crate) fn write<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<()> {
        if let Stage::Dialing(dialing) = &mut self.stage {
            let now = clock.now();
            match dialing.advance(now) {
                Dialed::Waiting => return Err(io::ErrorKind::WouldBlock.into()),
                Dialed::Moved => return Ok(()),
                Dialed::Connected(stream) => self.connected(Socket::new(stream), machine, conn, now),
                Dialed::Failed(why) => {
                    let why = self.through_what(why);
                    self.not_opened(machine, conn, why, now);
                }
            }
        }
        match &mut self.stage {
            Stage::Tunnelling(socket, tunnel) => {
                if let Err(why) = tunnel.write(socket)? {
                    self.not_opened(machine, conn, why, clock.now());
                }
                Ok(())
            }
            Stage::Open(_) => self.write_open(machine, conn, clock),
            Stage::Dialing(_) | Stage::Closing { .. } | Stage::Over => Ok(()),
        }
    }

    /// Closes the connection: everything of the machine's has been written. The peer is told that nothing more comes.
    /// What it still sends is read and dropped for a while, so that the last words to it are not lost; a driver that
    /// does not want to wait for that may drop the wire.
    pub(crate) fn close(&mut self, clock: Clock) {
        let Stage::Open(mut stream) = std::mem::replace(&mut self.stage, Stage::Over) else { return };
        if stream.say_goodbye() || self.read_over || self.dialled.is_some() {
            return;
        }
        self.stage = Stage::Closing { stream, until: clock.now() + LINGER };
    }

    /// Whether it is closed, and only what the peer still sends is read and dropped.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. })
    }

    /// Does not wait any longer for what the peer still sends.
    pub(crate) fn close_at_once(&mut self) {
        if self.is_closing() {
            self.stage = Stage::Over;
        }
    }

    /// The socket is connected, to the server or to a proxy.
    fn connected<M: Machine>(&mut self, socket: Socket, machine: &mut M, conn: ConnId, now: Instant) {
        let tunnel = self.dialled.as_ref().and_then(|dialled| {
            let proxy = dialled.proxy.as_ref()?;
            Some(Tunnel::new(proxy, &dialled.address))
        });
        match tunnel {
            None => self.reached(socket, machine, conn, now),
            Some(Ok(tunnel)) => self.stage = Stage::Tunnelling(socket, Box::new(tunnel)),
            Some(Err(why)) => self.not_opened(machine, conn, why, now),
        }
    }

    /// The proxy has let us through.
    fn through<M: Machine>(&mut self, machine: &mut M, conn: ConnId, now: Instant) {
        if let Stage::Tunnelling(socket, _) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.reached(socket, machine, conn, now);
        }
    }

    /// The server is at the other end.
    fn reached<M: Machine>(&mut self, socket: Socket, machine: &mut M, conn: ConnId, now: Instant) {
        let Some(dialled) = &self.dialled else { return };
        match Stream::dialled(socket, &dialled.address, &dialled.options) {
            Ok(stream) => self.stage = Stage::Open(stream),
            Err(why) => {
                let why = format!("{}: {why}", dialled.address);
                self.not_opened(machine, conn, why, now);
            }
        }
    }

    fn read_open<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<bool> {
        let Stage::Open(stream) = &mut self.stage else { return Ok(false) };
        let handshaking = stream.is_handshaking();
        if let Err(why) = stream.handshake()? {
            let why = self.about_whom(why);
            self.not_opened(machine, conn, why, clock.now());
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
            Ok(Received::Fault(why)) => {
                let why = self.about_whom(why);
                self.broken(machine, conn, why, now);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // Everything that came before has been read.
            Err(error) if is_gone(&error) => {
                self.write_over = true;
                self.ended(machine, conn, now);
            }
            Err(error) => {
                let why = self.about_whom(error.to_string());
                self.broken(machine, conn, why, now);
            }
        }
        Ok(exhausted)
    }

    fn write_open<M: Machine>(&mut self, machine: &mut M, conn: ConnId, clock: Clock) -> io::Result<()> {
        if self.read_over && self.write_over && !machine.write_buf(conn).is_empty() {
            self.forsaken(machine, conn, clock.now());
        }
        loop {
            let Stage::Open(stream) = &mut self.stage else { return Ok(()) };
            let sent = if self.write_over { Ok(machine.write_buf(conn).len()) } else { stream.send(machine, conn) };
            match sent {
                Ok(0) => return Ok(()),
                Ok(count) => machine.write_done(conn, count, clock.now()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(error) if is_gone(&error) && !stream.is_handshaking() => self.peer_gone(machine, conn, clock),
                Err(error) => {
                    let open = self.is_open();
                    let why = self.about_whom(error.to_string());
                    match open {
                        true => self.broken(machine, conn, why, clock.now()),
                        false => self.not_opened(machine, conn, why, clock.now()),
                    }
                }
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
        if matches!(&self.stage, Stage::Open(stream) if !stream.may_end()) {
            // A body that goes on until the end would pass for a whole one.
            let why = "TLS: the connection ended without a goodbye (close_notify), so what came last may not be all";
            let why = self.about_whom(why.into());
            return self.broken(machine, conn, why, now);
        }
        self.read_over = true;
        machine.read_eof(conn, now);
    }

    /// There is something to write, and nobody to take it.
    fn forsaken<M: Machine>(&mut self, machine: &mut M, conn: ConnId, now: Instant) {
        let why = self.about_whom("the other side is gone".into());
        self.broken(machine, conn, why, now);
    }

    fn broken<M: Machine>(&mut self, machine: &mut M, conn: ConnId, why: String, now: Instant) {
        self.stage = Stage::Over;
        machine.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, why), now);
    }

    fn not_opened<M: Machine>(&mut self, machine: &mut M, conn: ConnId, why: String, now: Instant) {
        self.stage = Stage::Over;
        machine.conn_failed(conn, ConnError::new(ConnErrorKind::NotOpened, why), now);
    }

    /// Names the server in a message, where there is one to name.
    fn about_whom(&self, why: String) -> String {
        match &self.dialled {
            Some(dialled) => format!("{}: {why}", dialled.address),
            None => why,
        }
    }

    /// Names the server in a message that names the proxy.
    fn through_what(&self, why: String) -> String {
        match &self.dialled {
            Some(dialled) if dialled.proxy.is_some() => format!("{}: through the proxy {why}", dialled.address),
            Some(dialled) if dialled.options.unix_socket.is_some() => {
                format!("{}: through the Unix socket {why}", dialled.address)
            }
            _ => why,
        }
    }

    /// Why it took too long.
    fn lateness(&self) -> String {
        let Some(dialled) = &self.dialled else { return String::new() };
        let progress = match &self.stage {
            Stage::Dialing(dialing) => dialing.progress().to_owned(),
            Stage::Tunnelling(_, tunnel) => tunnel.progress(),
            _ => "the TLS handshake was not finished".to_owned(),
        };
        format!("{}: {progress} within {:?}", dialled.address, dialled.options.connect_timeout)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // A connection that is dropped without being closed still takes leave.
        if let Stage::Open(stream) = &mut self.stage {
            stream.say_goodbye();
        }
    }
}

/// What takes time before an address can be used: reading whom to trust.
#[cfg(feature = "tls")]
fn preparation(address: &Address, options: &Arc<DialOptions>) -> Option<Preparation> {
    if !address.tls || options.tls.is_loaded() {
        return None;
    }
    let tls = options.tls.clone();
    // What goes wrong is told when the connection is to be secured.
    Some(Box::new(move || drop(tls.client_config())))
}

#[cfg(not(feature = "tls"))]
fn preparation(_: &Address, _: &Arc<DialOptions>) -> Option<Preparation> {
    None
}
