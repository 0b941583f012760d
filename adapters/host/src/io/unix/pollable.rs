//! A byte stream that can be polled.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::FileType;

use super::retry;

/// A byte stream that never blocks, or a socket that listens. Clones are the same, and the last one closes it.
#[derive(Clone, Debug)]
pub struct Pollable(Arc<OwnedFd>);

impl Pollable {
    /// Takes over any descriptor that can be waited for: a pipe, a socket, a terminal.
    ///
    /// # Errors
    ///
    /// When it cannot be made non-blocking.
    pub fn new(descriptor: impl Into<OwnedFd>) -> io::Result<Self> {
        let descriptor = descriptor.into();
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        Ok(Self(Arc::new(descriptor)))
    }

    /// Whether the two are the same.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Tells it apart from all others that are open. Whoever watches it has a clone, so that no other gets it meanwhile.
    #[cfg(feature = "http")]
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The same stream under another number: runtimes watch a number only once.
    #[cfg(feature = "http")]
    pub(crate) fn twin(&self) -> io::Result<Self> {
        Ok(Self(Arc::new(self.0.try_clone()?)))
    }

    /// Reads once; `WouldBlock` if there is nothing to read now.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| rustix::io::read(&self.0, &mut *buffer))
    }

    /// Writes once; `WouldBlock` if there is no room now.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        retry(|| rustix::io::write(&self.0, bytes))
    }

    /// Whether a read that leaves room means that there is no more, as epoll(7) promises of pipes and stream sockets. A
    /// terminal does not.
    pub(crate) fn short_read_empties(&self) -> bool {
        let kind = rustix::fs::fstat(&self.0).map(|status| FileType::from_raw_mode(status.st_mode));
        matches!(kind, Ok(FileType::Fifo | FileType::Socket))
    }

    /// Gives a pipe more room. Returns whether that helped: it may not be a pipe, and the system may have its reasons to
    /// refuse; the stream works all the same.
    pub(crate) fn widen(&self) -> bool {
        // A few large messages, and the most that Linux gives to everybody.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        return rustix::pipe::fcntl_setpipe_size(&self.0, 1024 * 1024).is_ok();
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        false
    }
}

/// For adapters whose runtimes wait in their own ways.
impl AsFd for Pollable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
