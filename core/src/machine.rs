//! The one contract between the engine and whoever moves its bytes.
//!
//! An adapter opens byte streams, moves bytes, sleeps, and calls [`Machine::poll`] until it says `Idle`; it knows
//! nothing of the protocol. In outline:
//!
//! ```text
//! loop {
//!     loop {
//!         match machine.poll() {
//!             Output::Open { conn, target } => open a stream for it,
//!             Output::Close(conn)           => close it,
//!             Output::Event(event)          => hand it to the program,
//!             Output::Idle { deadline }     => break,
//!         }
//!     }
//!     write what write_buf() shows, then write_done(n)
//!     wait until readable, writable (if write_buf() is not empty) or the deadline
//!     read into read_buf(), then read_done(n); or read_eof(), conn_failed(), handle_timeout()
//! }
//! ```
//!
//! Every call but `write_buf` may change what `poll` has to say, so poll again after each.

use alloc::string::String;

use crate::error::ConnError;
use crate::time::Instant;

/// One byte stream: a child's stdin and stdout, a socket, a TLS session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub(crate) u32);

impl ConnId {
    /// Its number, for the tables of a driver.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// What a stream is to be opened to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// The peer that the program configured: its child process, its socket. Asked for again, it means a fresh one.
    Peer,
    /// A server of HTTP. Each stream that is asked for is one more, beside those that are open.
    Http(HttpTarget),
    /// A request of HTTP as a whole, to be made by another library, if a client was told that there is one.
    Exchange,
}

/// Where a server of HTTP is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct HttpTarget {
    /// A name or an address, an IPv6 one without brackets. With TLS it is also the name that the certificate has to
    /// be for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the stream is to be encrypted.
    pub tls: bool,
    /// Whether it may lead to public addresses only, whatever the name resolves to: those for which
    /// `link::http::is_public` holds. A server has named this host, not the program. The address that is judged has to be
    /// the one that is connected to, for a name may lead elsewhere when it is looked up again. A proxy looks names up
    /// itself, and is trusted with that; what needs no lookup is judged all the same.
    pub public_only: bool,
}

/// What a machine wants next.
#[derive(Debug)]
pub enum Output<E> {
    /// Something for the program.
    Event(E),
    /// Open a stream. There is no need to report success: reading and writing begin at once. A machine that asks for
    /// [`Target::Peer`] again wants a fresh stream in place of the first, which is to be closed.
    Open {
        /// The name by which the machine knows the stream from now on.
        conn: ConnId,
        /// Where to.
        target: Target,
    },
    /// Close a stream. What there was to write has been written, or cannot be.
    Close(ConnId),
    /// Nothing more until bytes, a call or the deadline come. There is one deadline, and it is part of the answer, so
    /// that it cannot be forgotten.
    Idle {
        /// When to call [`Machine::handle_timeout`].
        deadline: Option<Instant>,
    },
}

mod sealed {
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;

/// A protocol engine that does no I/O: bytes, time and calls go in; bytes, events and one deadline come out.
///
/// Inputs never fail. A fault of the peer becomes an event; a connection that is beyond repair completes every open
/// call and then says so in its last event. Streams that the machine does not know (any more) are ignored.
pub trait Machine: Sealed {
    /// What the machine reports.
    type Event<'a>
    where
        Self: 'a;

    /// Where to read into. Empty means: do not read now.
    fn read_buf(&mut self, conn: ConnId) -> &mut [u8];

    /// Whether there is somewhere to read into. Unlike asking for the place itself it takes no memory, so that thousands
    /// of idle streams need none.
    fn reads(&mut self, conn: ConnId) -> bool {
        !self.read_buf(conn).is_empty()
    }

    /// `count` bytes were read into [`read_buf`](Self::read_buf).
    fn read_done(&mut self, conn: ConnId, count: usize, now: Instant);

    /// The peer will send nothing more on this stream.
    fn read_eof(&mut self, conn: ConnId, now: Instant);

    /// What to write next. Empty means: nothing.
    fn write_buf(&self, conn: ConnId) -> &[u8];

    /// A stream that a driver of many should look at, because there is something new to write or room to read again.
    /// Each is named once, so that thousands of idle ones cost nothing. A machine with a single stream names none: its
    /// driver looks after every poll.
    fn next_to_move(&mut self) -> Option<ConnId> {
        None
    }

    /// The first `count` bytes of [`write_buf`](Self::write_buf) were written.
    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant);

    /// The stream could not be opened, or broke.
    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant);

    /// The deadline has come. Calling it early or twice is harmless.
    fn handle_timeout(&mut self, now: Instant);

    /// Whether streams that peers open are welcome. A driver that listens for them lets go of its listener as soon as
    /// they are not, so that whoever comes too late is refused rather than hung up on.
    fn takes_connections(&self) -> bool {
        false
    }

    /// Whether the last event has been given: there is nothing left to drive.
    fn is_over(&self) -> bool;

    /// What the machine wants next. Call it until it is [`Output::Idle`].
    fn poll(&mut self) -> Output<Self::Event<'_>>;
}
