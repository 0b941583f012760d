//! A TLS session between a socket and a machine. It holds one read's worth of the peer's bytes at most, and 64 KiB of
//! ours.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::Connection;
#[cfg(feature = "client")]
use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};
#[cfg(feature = "server")]
use rustls::{ServerConfig, ServerConnection};

use super::socket::{Socket, is_gone};
use super::tls::describe;
use super::transport_stream::Received;

/// Bytes of one read. The longest record fits.
const READ_BYTES: usize = 18 * 1024;

/// One side of a TLS session.
pub(super) struct TlsSession {
    tls: Connection,
    /// What was read from the socket and is not decrypted yet. It is given back as soon as it is empty: most sessions
    /// are idle.
    ciphertext: Vec<u8>,
    decrypted: usize,
    /// Whether there may be plaintext that the machine has not taken.
    plaintext_waits: bool,
    /// Whether the peer says nothing more, for whatever reason. It is told behind the last plaintext.
    ended: bool,
    /// Whether the peer has said so itself (`close_notify`). Anybody in between can end the connection without it.
    said_goodbye: bool,
    /// What the peer did wrong. It is told behind the last plaintext.
    fault: Option<String>,
    /// Bytes of the machine's that are encrypted and not written in full. The machine is told when they are, so that it
    /// does not close a connection that still has something to say.
    encrypted: usize,
}

impl TlsSession {
    /// Towards a server that has to prove that it is `host`.
    #[cfg(feature = "client")]
    pub(super) fn client(config: Arc<ClientConfig>, host: &str) -> Result<Self, String> {
        let name = host.strip_suffix('.').unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(|_| "TLS: this cannot be the name of a server".to_owned())?;
        let tls = ClientConnection::new(config, name).map_err(|error| describe(&error))?;
        Ok(Self::new(tls.into()))
    }

    /// Towards a client.
    #[cfg(feature = "server")]
    pub(super) fn server(config: Arc<ServerConfig>) -> Result<Self, String> {
        Ok(Self::new(ServerConnection::new(config).map_err(|error| describe(&error))?.into()))
    }

    fn new(tls: Connection) -> Self {
        Self {
            tls,
            ciphertext: Vec::new(),
            decrypted: 0,
            plaintext_waits: false,
            ended: false,
            said_goodbye: false,
            fault: None,
            encrypted: 0,
        }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Whether the handshake waits for the peer, rather than for something of ours to be written.
    pub(super) fn wants_handshake(&self) -> bool {
        self.tls.is_handshaking() && !self.tls.wants_write()
    }

    /// Whether the peer has said itself that this is all.
    pub(super) fn peer_said_goodbye(&self) -> bool {
        self.said_goodbye
    }

    /// Whether there are records to write.
    pub(super) fn wants_write(&self) -> bool {
        self.tls.wants_write()
    }

    /// Whether [`take`](Self::take) has something, or can get it without the socket.
    pub(super) fn has_something(&self) -> bool {
        self.plaintext_waits || self.ended || self.fault.is_some() || !self.ciphertext.is_empty()
    }

    /// Goes on with the handshake as far as the socket lets it. `WouldBlock` if the peer has to say something first.
    pub(super) fn handshake(&mut self, socket: &mut Socket) -> io::Result<Result<(), String>> {
        while self.tls.is_handshaking() {
            if let Some(fault) = self.fault.take() {
                return Ok(Err(fault));
            }
            // What cannot be written at once is written when the socket is ready for it.
            match self.flush(socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Ok(())),
                Err(error) => return Ok(Err(format!("TLS: {error}"))),
                Ok(()) => {}
            }
            if !self.tls.is_handshaking() {
                break;
            }
            if self.ended {
                return Ok(Err("TLS: the other side closed the connection during the handshake".into()));
            }
            match self.pull(socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(error) => return Ok(Err(format!("TLS: {error}"))),
                Ok(()) => {}
            }
        }
        Ok(Ok(()))
    }

    /// Reads once into `buffer`, which is not empty. `WouldBlock` if there is nothing.
    pub(super) fn take(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            match self.tls.reader().read(buffer) {
                Ok(0) => self.ended = true,
                Ok(count) => return Ok(Received::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            self.plaintext_waits = false;
            if let Some(fault) = self.fault.take() {
                return Ok(Received::Fault(fault));
            }
            if self.ended {
                return Ok(Received::End);
            }
            self.pull(socket)?;
        }
    }

    /// Gets more ciphertext, unless there is some, and decrypts it until there is plaintext.
    fn pull(&mut self, socket: &mut Socket) -> io::Result<()> {
        if self.ciphertext.is_empty() {
            let mut buffer = vec![0; READ_BYTES];
            match socket.receive(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    buffer.truncate(count);
                    self.ciphertext = buffer;
                    self.decrypted = 0;
                }
                Err(error) => return Err(error),
            }
        }
        while (self.tls.is_handshaking() || !self.plaintext_waits) && !self.ended && self.fault.is_none() {
            let mut rest = &self.ciphertext[self.decrypted..];
            if rest.is_empty() {
                break;
            }
            let offered = rest.len();
            // The session itself refuses to take bytes only while it has plaintext, which it has not.
            self.tls.read_tls(&mut rest)?;
            self.decrypted += offered - rest.len();
            match self.tls.process_new_packets() {
                Ok(state) => {
                    self.plaintext_waits = state.plaintext_bytes_to_read() > 0;
                    self.said_goodbye = state.peer_has_closed();
                    self.ended = self.said_goodbye;
                }
                Err(error) => {
                    self.fault = Some(describe(&error));
                    // Records before the bad one are good.
                    self.plaintext_waits = true;
                    // The peer is told why, if it is still there.
                    let _ = self.flush(socket);
                }
            }
        }
        if self.decrypted == self.ciphertext.len() || self.ended || self.fault.is_some() {
            self.ciphertext = Vec::new();
            self.decrypted = 0;
        }
        Ok(())
    }

    /// Writes the records that wait. `WouldBlock` if that is not all.
    pub(super) fn flush(&mut self, mut socket: &Socket) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut socket)?;
        }
        Ok(())
    }

    /// Writes records, and says how many of the machine's bytes went with them. `WouldBlock` if that is not all.
    pub(super) fn written(&mut self, socket: &Socket) -> io::Result<usize> {
        self.flush(socket)?;
        Ok(std::mem::take(&mut self.encrypted))
    }

    /// Encrypts as many bytes of the machine's as fit. They count as written once [`written`](Self::written) says so.
    pub(super) fn encrypt(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.encrypted += self.tls.writer().write(bytes)?;
        Ok(())
    }

    /// Takes leave of the peer, if there is somebody to take leave of and room to do so.
    pub(super) fn say_goodbye(&mut self, socket: &Socket) {
        if self.tls.is_handshaking() {
            return;
        }
        self.tls.send_close_notify();
        if let Err(error) = self.flush(socket) {
            debug_assert!(is_gone(&error) || error.kind() == io::ErrorKind::WouldBlock, "{error}");
        }
    }
}
