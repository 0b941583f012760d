//! How a loop knows a stream: the only place here that knows what the system makes of one.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use windlass_host::io::Pollable;

pub(crate) fn register(registry: &Registry, stream: &Pollable, token: Token, interest: Interest) -> io::Result<()> {
    registry.register(&mut SourceFd(&stream.as_fd().as_raw_fd()), token, interest)
}

pub(crate) fn deregister(registry: &Registry, stream: &Pollable) -> io::Result<()> {
    registry.deregister(&mut SourceFd(&stream.as_fd().as_raw_fd()))
}
