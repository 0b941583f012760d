//! A way to wait for several streams at once, and to be woken meanwhile.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Pollable;
use crate::io::Ready;

/// Streams that are waited for without room from the heap: those of a connection over stdio, and the bell.
const FEW: usize = 3;

/// Waits by `poll`, which is one call of the system for a wait, however many streams there are, but looks at each of them.
#[derive(Debug)]
pub struct Poller {
    bell: Bell,
    rung: Rung,
}

impl Poller {
    /// A way to wait.
    ///
    /// # Errors
    ///
    /// When the system is out of descriptors.
    pub fn new() -> io::Result<Self> {
        Bell::new().map(|(bell, rung)| Self { bell, rung })
    }

    /// What ends the waiting.
    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Waits until any stream is ready for what is wanted of it, until the bell is rung, or for as long as this. Tells
    /// which are ready, by their place in what was given; a peer that is gone makes its stream ready for everything. A signal
    /// ends the waiting, too.
    ///
    /// Of every stream something has to be wanted: the hang-up of another one would be told again and again.
    ///
    /// # Errors
    ///
    /// When the system cannot wait.
    pub fn wait<'a>(
        &self,
        wanted: impl IntoIterator<Item = (&'a Pollable, Ready)>,
        at_most: Option<Duration>,
        mut found: impl FnMut(usize, Ready),
    ) -> io::Result<()> {
        let rung = || PollFd::new(self.rung.pollable(), PollFlags::IN);
        let (mut few, mut count, mut many) = ([rung(), rung(), rung()], 1, Vec::new());
        let mut wanted = wanted.into_iter().fuse();
        for place in &mut few[1..] {
            let Some(next) = wanted.next() else { break };
            *place = asked(next);
            count += 1;
        }
        let polled = match wanted.next() {
            None => &mut few[..count],
            Some(next) => {
                many.reserve(FEW + 1 + wanted.size_hint().0);
                many.extend(few);
                many.push(asked(next));
                for next in wanted {
                    many.push(asked(next));
                }
                &mut many[..]
            }
        };
        let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(polled, at_most.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        for (at, polled) in polled[1..].iter().enumerate() {
            let ready = answered(polled);
            if ready.is_any() {
                found(at, ready);
            }
        }
        if !polled[0].revents().is_empty() {
            self.rung.hush();
        }
        Ok(())
    }
}

fn asked((pollable, wanted): (&Pollable, Ready)) -> PollFd<'_> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, wanted.read);
    flags.set(PollFlags::OUT, wanted.write);
    PollFd::new(pollable, flags)
}

fn answered(polled: &PollFd<'_>) -> Ready {
    let told = polled.revents();
    // Hang-ups and errors are for reading and writing to find out about.
    let beyond = told.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    Ready { read: beyond || told.contains(PollFlags::IN), write: beyond || told.contains(PollFlags::OUT) }
}

/// Ends a wait from another thread. Clones are the same bell.
#[derive(Clone, Debug)]
pub struct Bell(Pollable);

impl Bell {
    /// A bell, and what is waited for.
    ///
    /// # Errors
    ///
    /// When the system is out of descriptors.
    pub fn new() -> io::Result<(Self, Rung)> {
        let (bell, rung) = UnixStream::pair()?;
        Ok((Self(Pollable::new(bell)?), Rung(Pollable::new(rung)?)))
    }

    /// Whoever waits for it does not wait any longer, now or the next time.
    pub fn ring(&self) {
        // One that is full has been rung as well as one more byte would.
        let _ = self.0.write(&[1]);
    }
}

/// The other end of a bell.
#[derive(Debug)]
pub struct Rung(Pollable);

impl Rung {
    /// What can be read once it has been rung.
    pub fn pollable(&self) -> &Pollable {
        &self.0
    }

    /// Makes it silent, for the next time.
    pub fn hush(&self) {
        let mut rings = [0; 64];
        while matches!(self.0.read(&mut rings), Ok(64)) {}
    }
}
