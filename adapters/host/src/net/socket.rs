//! A socket that never blocks.

use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};

/// A connected stream socket. Drivers wait for its descriptor; nobody else reads or writes it.
pub(super) struct Socket {
    descriptor: Arc<OwnedFd>,
    /// Bytes that were read and turned out to belong to the next stage.
    early: Vec<u8>,
}

impl Socket {
    /// A socket that has been made non-blocking.
    pub(super) fn new(descriptor: Arc<OwnedFd>) -> Self {
        Self { descriptor, early: Vec::new() }
    }

    pub(super) fn descriptor(&self) -> &Arc<OwnedFd> {
        &self.descriptor
    }

    /// Reads once. `WouldBlock` means that the system has nothing, so that it is safe to wait.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.early.is_empty() {
            let count = self.early.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.early[..count]);
            self.early.drain(..count);
            return Ok(count);
        }
        retry(|| rustix::net::recv(&self.descriptor, &mut *buffer, RecvFlags::empty()).map(|(count, _)| count))
    }

    /// Writes once.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        retry(|| rustix::net::send(&self.descriptor, bytes, no_signal()))
    }

    /// Bytes that were read too early are the next to be read.
    pub(super) fn put_back(&mut self, bytes: &[u8]) {
        self.early.splice(..0, bytes.iter().copied());
    }

    /// Whether there is something to read that no readiness will tell of.
    pub(super) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Tells the peer that nothing more will come.
    pub(super) fn finish_writing(&self) {
        // A peer that is gone has no use for it.
        let _ = rustix::net::shutdown(&self.descriptor, Shutdown::Write);
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
        // More than the system takes at once would be an error.
        let slices = &slices[..slices.len().min(64)];
        retry(|| {
            let mut no_ancillary = SendAncillaryBuffer::default();
            rustix::net::sendmsg(&self.descriptor, slices, &mut no_ancillary, no_signal())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A peer that is gone is an error here, not a signal to the whole process.
fn no_signal() -> SendFlags {
    #[cfg(not(target_vendor = "apple"))]
    return SendFlags::NOSIGNAL;
    // There the socket itself is told, when it is made.
    #[cfg(target_vendor = "apple")]
    SendFlags::empty()
}

/// Makes a socket ready for use here: it does not block, and does not signal.
pub(super) fn prepare(descriptor: &OwnedFd) -> io::Result<()> {
    rustix::io::ioctl_fionbio(descriptor, true)?;
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(descriptor, true)?;
    Ok(())
}

/// Whether the peer is gone, rather than something being wrong here.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | ConnectionAborted | NotConnected)
}

/// A signal in the middle of a call is no reason to give it up.
pub(super) fn retry<T>(mut operation: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(rustix::io::Errno::INTR) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
}
