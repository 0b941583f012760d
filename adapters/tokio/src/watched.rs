//! How tokio watches a stream: the only place here that knows what the system makes of one.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use tokio::net::unix::pipe::{Receiver, Sender};
use windlass_host::asynchronous::Direction;
use windlass_host::io::Pollable;

/// A stream that tokio watches. Its pipes take any descriptor that can be waited for.
#[derive(Debug)]
pub struct Watched(Pipe);

#[derive(Debug)]
enum Pipe {
    Input(Receiver),
    Output(Sender),
}

impl Watched {
    pub(crate) fn new(stream: &Pollable, direction: Direction) -> io::Result<Self> {
        let descriptor = stream.as_fd().try_clone_to_owned()?;
        let pipe = match direction {
            Direction::Read => Receiver::from_owned_fd_unchecked(descriptor).map(Pipe::Input),
            Direction::Write => Sender::from_owned_fd_unchecked(descriptor).map(Pipe::Output),
        };
        pipe.map(Self)
    }

    pub(crate) fn poll_io(
        &self,
        context: &mut Context<'_>,
        operation: &mut dyn FnMut() -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        loop {
            let outcome = match &self.0 {
                Pipe::Input(input) => {
                    ready!(input.poll_read_ready(context))?;
                    input.try_io(&mut *operation)
                }
                Pipe::Output(output) => {
                    ready!(output.poll_write_ready(context))?;
                    output.try_io(&mut *operation)
                }
            };
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return Poll::Ready(outcome),
            }
        }
    }
}
