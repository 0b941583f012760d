//! A socket that never blocks.

use std::io::{self, IoSlice, Write};

use crate::io::Pollable;

/// A connected socket. Drivers wait for its stream; nobody else reads or writes it.
pub(super) struct Socket {
    stream: Pollable,
    /// Bytes that were read and turned out to belong to the next stage.
    early: Vec<u8>,
}

impl Socket {
    pub(super) fn new(stream: Pollable) -> Self {
        Self { stream, early: Vec::new() }
    }

    pub(super) fn pollable(&self) -> &Pollable {
        &self.stream
    }

    /// Reads once. `WouldBlock` means that the system has nothing, so that it is safe to wait.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.early.is_empty() {
            let count = self.early.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.early[..count]);
            self.early.drain(..count);
            return Ok(count);
        }
        self.stream.receive(buffer)
    }

    /// Writes once.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.send(bytes)
    }

    /// Bytes that were read too early are the next to be read.
    #[cfg(feature = "client")]
    pub(super) fn put_back(&mut self, bytes: &[u8]) {
        self.early.splice(..0, bytes.iter().copied());
    }

    /// Whether there is something to read that no readiness will tell of.
    pub(super) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Tells the peer that nothing more will come.
    pub(super) fn finish_writing(&self) {
        self.stream.finish_writing();
    }

    /// Reads and drops some of what is there. True if nothing will come any more; `WouldBlock` if nothing is there now.
    ///
    /// A socket that is closed with unread bytes is reset by the system, and the reset may overtake what was written
    /// last.
    pub(super) fn discard(&mut self) -> io::Result<bool> {
        self.early.clear();
        let mut scrap = [0; 16 * 1024];
        // A peer that sends without end must not keep the driver here.
        for _ in 0..64 {
            match self.receive(&mut scrap) {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => return Ok(true),
            }
        }
        Ok(false)
    }
}

/// For TLS, which has many records to write.
impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.send_all(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the peer is gone, rather than something being wrong here.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | ConnectionAborted | NotConnected)
}
