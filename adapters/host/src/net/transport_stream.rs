//! An open connection, with or without TLS: the only place that knows which.

use std::io;

use windlass::{ConnId, Machine};

use super::connection::Readiness;
#[cfg(feature = "client")]
use super::dial::{Address, DialOptions};
use super::socket::Socket;
#[cfg(feature = "server")]
use super::tls::ServerTls;
#[cfg(feature = "tls")]
use super::tls_session::TlsSession;

/// An open connection.
pub(super) struct TransportStream {
    pub(super) socket: Socket,
    #[cfg(feature = "tls")]
    session: Option<Box<TlsSession>>,
}

/// What there is to read.
pub(super) enum Received {
    Bytes(usize),
    /// The peer has closed the connection, or the TLS session on it.
    End,
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    Fault(String),
}

impl TransportStream {
    /// What goes between the machine and a socket that leads to the server.
    #[cfg(all(feature = "client", feature = "tls"))]
    pub(super) fn dialled(socket: Socket, address: &Address, options: &DialOptions) -> Result<Self, String> {
        let session = match address.tls {
            false => None,
            true => {
                let config = options.tls.client_config().map_err(|error| error.to_string())?;
                Some(Box::new(TlsSession::client(config, address.bare_host())?))
            }
        };
        Ok(Self { socket, session })
    }

    #[cfg(all(feature = "client", not(feature = "tls")))]
    pub(super) fn dialled(socket: Socket, address: &Address, _: &DialOptions) -> Result<Self, String> {
        match address.tls {
            false => Ok(Self { socket }),
            true => Err("https is not built in: turn on the feature `tls` of the adapter: windlass-tokio, windlass-blocking or whichever it is".into()),
        }
    }

    /// What goes between the machine and a socket that a client has reached.
    #[cfg(all(feature = "server", feature = "tls"))]
    pub(super) fn accepted(socket: Socket, tls: Option<&ServerTls>) -> Result<Self, String> {
        let session = match tls {
            None => None,
            Some(tls) => Some(Box::new(TlsSession::server(tls.config().clone())?)),
        };
        Ok(Self { socket, session })
    }

    #[cfg(all(feature = "server", not(feature = "tls")))]
    pub(super) fn accepted(socket: Socket, tls: Option<&ServerTls>) -> Result<Self, String> {
        match tls {
            None => Ok(Self { socket }),
            Some(tls) => match *tls {},
        }
    }

    pub(super) fn interest(&self, reads: bool, writes: bool) -> Readiness {
        let early = self.socket.has_early();
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            if session.is_handshaking() {
                let read = session.wants_handshake();
                let now = read && (early || session.has_something());
                return Readiness { read, write: session.wants_write(), now };
            }
            let now = reads && (early || session.has_something());
            return Readiness { read: reads, write: writes || session.wants_write(), now };
        }
        Readiness { read: reads, write: writes, now: reads && early }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.session.as_ref().is_some_and(|session| session.is_handshaking());
        #[cfg(not(feature = "tls"))]
        false
    }

    pub(super) fn handshake(&mut self) -> io::Result<Result<(), String>> {
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            return session.handshake(&mut self.socket);
        }
        Ok(Ok(()))
    }

    /// Whether a read that leaves room means that the socket has no more. A TLS session may hold some itself.
    pub(super) fn short_read_empties(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.session.is_none() && !self.socket.has_early();
        #[cfg(not(feature = "tls"))]
        !self.socket.has_early()
    }

    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            return session.take(&mut self.socket, buffer);
        }
        Ok(match self.socket.receive(buffer)? {
            0 => Received::End,
            count => Received::Bytes(count),
        })
    }

    /// Whether an end of the connection, now, is one that the peer means. Within TLS it says so; who does not may have
    /// been cut off by somebody in between.
    pub(super) fn may_end(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.session.as_ref().is_none_or(|session| session.peer_said_goodbye());
        #[cfg(not(feature = "tls"))]
        true
    }

    /// Writes once. None of the machine's bytes went if there were none, or if the handshake comes first.
    pub(super) fn send<M: Machine>(&mut self, machine: &M, conn: ConnId) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            let written = session.written(&self.socket)?;
            let bytes = machine.write_buf(conn);
            if written > 0 || session.is_handshaking() || bytes.is_empty() {
                return Ok(written);
            }
            session.encrypt(bytes)?;
            return session.written(&self.socket);
        }
        match machine.write_buf(conn) {
            [] => Ok(0),
            bytes => self.socket.send(bytes),
        }
    }

    /// Tells the peer that nothing more comes. True if it has ended its side as well.
    pub(super) fn say_goodbye(&mut self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            session.say_goodbye(&self.socket);
        }
        self.socket.finish_writing();
        self.socket.discard().unwrap_or(false)
    }
}
