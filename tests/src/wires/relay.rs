//! One direction of a wire: whatever comes is recorded, and then passed on.

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};

/// As much as a pipe holds: whoever does not read is to be noticed as soon as without us.
const PIECE: usize = 1 << 16;

/// Passes on what comes, as it comes, until there is no more or nobody reads it. What a line causes is recorded after
/// it, since it is recorded before it is passed on.
pub fn relay(from: &impl AsFd, to: &impl AsFd, mut record: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let mut ends = [PollFd::new(from, PollFlags::IN), PollFd::new(to, PollFlags::empty())];
        retried(|| poll(&mut ends, None))?;
        // A reader that is gone is noticed though nothing comes, so that the writer can notice it too.
        if ends[1].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Ok(());
        }
        let count = retried(|| read(from, &mut buffer[..]))?;
        if count == 0 {
            return Ok(());
        }
        record(&buffer[..count])?;
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let written = retried(|| write(to, rest))?;
            rest = &rest[written..];
        }
    }
}

fn retried<V>(mut call: impl FnMut() -> Result<V, Errno>) -> io::Result<V> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
}
