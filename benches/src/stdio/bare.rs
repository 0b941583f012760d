//! Lines over a pipe, and nothing else: what two processes cannot do without.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};

use super::Plan;
use super::start::Started;
use crate::calls::measured::{Measured, PerCall, Phase};
use crate::calls::{IN_FLIGHT, phases};
use crate::in_process::engine::Pair;

/// Bytes to read at a time: what a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// A line of this length, its end included.
fn line(length: usize) -> Vec<u8> {
    let mut line = vec![b'x'; length];
    line[length - 1] = b'\n';
    line
}

/// Answers every line by one of the given length.
pub(super) fn answer(response: usize) {
    let response = line(response);
    let own = |descriptor: std::io::Result<OwnedFd>| File::from(descriptor.expect("the standard streams are open"));
    let mut input = own(std::io::stdin().as_fd().try_clone_to_owned());
    let mut output = own(std::io::stdout().as_fd().try_clone_to_owned());
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let count = input.read(&mut buffer).expect("the client lives");
        if count == 0 {
            return;
        }
        for _ in memchr::memchr_iter(b'\n', &buffer[..count]) {
            output.write_all(&response).expect("the client lives");
        }
    }
}

pub(super) fn call(started: Started, plan: &Plan) -> Measured {
    let Started { mut child, input, output } = started;
    let mut pipe = Pipe {
        to_server: File::from(OwnedFd::from(input)),
        from_server: File::from(OwnedFd::from(output)),
        request: line(Pair::wire_lengths(plan.era, plan.payload).to_server),
        buffer: vec![0; READ_BYTES],
    };
    let (latencies, sequential) = phases::one_after_the_other(child.id(), plan.phase, || pipe.round_trip());
    let in_flight = pipe.many_at_once(Phase::begin(child.id(), plan.phase));
    drop(pipe);
    child.wait().expect("the server ends");
    Measured::new(latencies, sequential, in_flight)
}

struct Pipe {
    to_server: File,
    from_server: File,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Pipe {
    fn round_trip(&mut self) {
        self.to_server.write_all(&self.request).expect("the server lives");
        loop {
            let count = self.from_server.read(&mut self.buffer).expect("the server lives");
            assert!(count > 0, "the server lives");
            if self.buffer[count - 1] == b'\n' {
                return;
            }
        }
    }

    /// Keeps as many lines under way as others keep calls, a write for each.
    fn many_at_once(&mut self, phase: Phase) -> (f64, PerCall) {
        rustix::io::ioctl_fionbio(&self.to_server, true).expect("a pipe need not block");
        rustix::io::ioctl_fionbio(&self.from_server, true).expect("a pipe need not block");
        let (mut calls, mut under_way, mut written) = (0, 0, 0);
        loop {
            let more = phase.goes_on();
            if !more && under_way == 0 {
                return phase.end(calls);
            }
            // A line that is half written has to be finished, or it is never answered.
            let writable = |under_way, written| (more && under_way < IN_FLIGHT) || written > 0;
            let mut blocked = false;
            while !blocked && writable(under_way, written) {
                match self.to_server.write(&self.request[written..]) {
                    Ok(count) => written += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => blocked = true,
                    Err(error) => panic!("the server lives: {error}"),
                }
                if written == self.request.len() {
                    (written, under_way) = (0, under_way + 1);
                }
            }
            match self.from_server.read(&mut self.buffer) {
                Ok(count) => {
                    let answered = memchr::memchr_iter(b'\n', &self.buffer[..count]).count();
                    under_way -= answered;
                    calls += answered as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut descriptors = vec![PollFd::new(&self.from_server, PollFlags::IN)];
                    if blocked {
                        descriptors.push(PollFd::new(&self.to_server, PollFlags::OUT));
                    }
                    poll(&mut descriptors, None).expect("waiting is possible");
                }
                Err(error) => panic!("the server lives: {error}"),
            }
        }
    }
}
