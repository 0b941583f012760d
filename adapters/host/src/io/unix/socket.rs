//! Sockets: a stream that leads somewhere.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

#[cfg(feature = "client")]
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrUnix, SocketType};

use super::{Pollable, retry};
use crate::io::{Connect, Remote};

impl Pollable {
    /// A socket that was accepted: it does not block, and does not signal.
    pub(super) fn accepted(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let socket = Self::new(socket)?;
        #[cfg(target_vendor = "apple")]
        rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
        Ok(socket)
    }

    /// A new one, which children do not inherit.
    fn socket(family: AddressFamily) -> io::Result<Self> {
        #[cfg(not(target_vendor = "apple"))]
        let socket = rustix::net::socket_with(family, SocketType::STREAM, rustix::net::SocketFlags::CLOEXEC, None)?;
        #[cfg(target_vendor = "apple")]
        let socket = {
            let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
            rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
            socket
        };
        Self::accepted(socket)
    }

    /// Begins to connect.
    pub(crate) fn connect(remote: &Remote) -> io::Result<Connect> {
        let family = match remote {
            Remote::Internet(SocketAddr::V4(_)) => AddressFamily::INET,
            Remote::Internet(SocketAddr::V6(_)) => AddressFamily::INET6,
            Remote::Unix(_) => AddressFamily::UNIX,
        };
        let socket = Self::socket(family)?;
        let connected = match remote {
            Remote::Internet(address) => {
                rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
                rustix::net::connect(&socket, address)
            }
            Remote::Unix(path) => rustix::net::connect(&socket, &SocketAddrUnix::new(path)?),
        };
        match connected {
            Ok(()) => Ok(Connect::Done(socket)),
            // Interrupted, it goes on all the same.
            Err(Errno::INPROGRESS | Errno::INTR) => Ok(Connect::Begun(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// What has become of a connection that was begun, if anything has.
    #[cfg(feature = "client")]
    pub(crate) fn connected(&self) -> Option<io::Result<()>> {
        // Before a connection is made, its socket has no error either; only a writable one has an outcome.
        let mut ready = [PollFd::new(self, PollFlags::OUT)];
        match retry(|| rustix::event::poll(&mut ready, Some(&Timespec::default()))) {
            Ok(0) => None,
            Ok(_) => Some(match rustix::net::sockopt::socket_error(self) {
                Ok(outcome) => outcome.map_err(io::Error::from),
                Err(error) => Err(error.into()),
            }),
            Err(error) => Some(Err(error)),
        }
    }

    /// Reads once from a socket.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| rustix::net::recv(self, &mut *buffer, RecvFlags::empty()).map(|(count, _)| count))
    }

    /// Writes once to a socket.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        retry(|| rustix::net::send(self, bytes, no_signal()))
    }

    /// Writes once to a socket, from several places.
    pub(crate) fn send_all(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // More than the system takes at once would be an error.
        let slices = &slices[..slices.len().min(64)];
        retry(|| {
            let mut no_ancillary = SendAncillaryBuffer::default();
            rustix::net::sendmsg(self, slices, &mut no_ancillary, no_signal())
        })
    }

    /// Tells the peer that nothing more will come.
    pub(crate) fn finish_writing(&self) {
        // A peer that is gone has no use for it.
        let _ = rustix::net::shutdown(self, Shutdown::Write);
    }

    /// Where it leads.
    #[cfg(test)]
    pub(crate) fn peer(&self) -> SocketAddr {
        rustix::net::getpeername(self).unwrap().unwrap().try_into().unwrap()
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

/// Whether a Unix socket is left over from a server that is gone. One that is too busy to answer is not.
#[cfg(feature = "server")]
pub(super) fn nobody_listens(path: &std::path::Path) -> bool {
    let connected = Pollable::connect(&Remote::Unix(path.to_owned()));
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
