//! What programs on Unix have in their hands when they make an endpoint.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::Pollable;
use crate::Endpoint;

impl Endpoint {
    /// An end that is made of any two descriptors that can be waited for: pipes, sockets, terminals.
    ///
    /// # Errors
    ///
    /// When they cannot be made non-blocking.
    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        Ok(Self::of(Pollable::new(input)?, Pollable::new(output)?))
    }
}

impl TryFrom<UnixStream> for Endpoint {
    type Error = io::Error;

    fn try_from(stream: UnixStream) -> io::Result<Self> {
        let output = stream.try_clone()?;
        Self::new(stream.into(), output.into())
    }
}
