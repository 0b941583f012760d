//! Sockets at which clients come in.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::Pollable;
use super::socket::nobody_listens;

/// Connections that may wait to be accepted. The system itself may allow fewer.
const BACKLOG: i32 = 1024;

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    /// The same, for drivers to wait for.
    pollable: Pollable,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener, SocketFile),
}

impl Listener {
    pub(crate) fn tcp(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        Self::new(Pollable::new(listener.try_clone()?)?, Socket::Tcp(listener, address))
    }

    /// For clients of the same user. A file that a server left behind is replaced.
    pub(crate) fn unix(path: &Path) -> io::Result<Self> {
        remove_stale(path)?;
        let listener = UnixListener::bind(path)?;
        let file = SocketFile::new(path)?;
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
        Self::new(Pollable::new(listener.try_clone()?)?, Socket::Unix(listener, file))
    }

    fn new(pollable: Pollable, socket: Socket) -> io::Result<Self> {
        // Once more, for the standard library asks for few.
        listen(&pollable, BACKLOG)?;
        Ok(Self { socket, pollable })
    }

    /// What to wait for, until it is readable.
    pub(crate) fn pollable(&self) -> &Pollable {
        &self.pollable
    }

    /// Where it listens.
    pub(crate) fn place(&self) -> Result<SocketAddr, &Path> {
        match &self.socket {
            Socket::Tcp(_, address) => Ok(*address),
            Socket::Unix(_, file) => Err(&file.path),
        }
    }

    /// The next client, and where it is, if that is an address. The inner error is about a client that is gone already.
    pub(crate) fn accept(&self) -> io::Result<io::Result<(Pollable, Option<IpAddr>)>> {
        Ok(match &self.socket {
            Socket::Tcp(listener, _) => {
                let (stream, _) = listener.accept()?;
                // Messages are whole when they are written; waiting for more to send would only delay them.
                let client = stream.set_nodelay(true).and_then(|()| stream.peer_addr());
                client.and_then(|client| Ok((Pollable::accepted(stream)?, Some(client.ip().to_canonical()))))
            }
            Socket::Unix(listener, _) => Pollable::accepted(listener.accept()?.0).map(|stream| (stream, None)),
        })
    }
}

/// Sets how many connections may wait to be accepted.
pub(crate) fn listen(socket: &impl AsFd, backlog: i32) -> io::Result<()> {
    Ok(rustix::net::listen(socket, backlog)?)
}

/// The file of a Unix socket, which is removed when nobody listens any more.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Which file it is: another server may have put its own in the same place.
    identity: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: identity(path)? })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Removes the socket of a server that is gone. One that answers, and anything that is no socket, is left alone.
fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() && nobody_listens(path) => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
