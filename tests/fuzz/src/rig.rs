//! A machine that is driven as an adapter would drive it, with an eye on everything that must hold.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Machine, Output, Target};

/// More polls than this without a rest in between are one without end. A step brings a few kilobytes at most.
const MOST_POLLS: usize = 20_000;

/// What a machine may cost.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// Bytes of room for a read.
    pub read: usize,
    /// Bytes that wait to be written to one stream.
    pub write: usize,
    /// Streams that are open at a time.
    pub streams: usize,
}

/// The program around a machine, and the peers on its streams.
pub trait World<M: Machine> {
    /// The machine tells something. Returns whether that is said to be the last.
    fn told(&mut self, event: M::Event<'_>) -> bool;

    /// What the program does at once about what it was told.
    fn act(&mut self, machine: &mut M, now: Instant);

    /// A stream was opened. Returns whether there is somebody at its other end.
    fn opened(&mut self, conn: ConnId) -> bool;

    /// Bytes are about to come in on a stream. What there is no room for is lost, and does not.
    fn comes(&mut self, _conn: ConnId, _bytes: &[u8]) {}

    /// Bytes came out of a stream.
    fn wrote(&mut self, conn: ConnId, bytes: &[u8]);

    /// A stream was closed.
    fn closed(&mut self, conn: ConnId);
}

/// A machine, its time and its streams.
pub struct Rig<M> {
    pub machine: M,
    pub now: Instant,
    pub deadline: Option<Instant>,
    bounds: Bounds,
    /// How many bytes go in at once.
    pub chunk: usize,
    /// How many bytes come out at once; none if nobody reads.
    pub thirst: usize,
    /// Whether several things may happen before the machine is asked what it wants.
    pub lazy: bool,
    streams: BTreeMap<ConnId, Stream>,
    over: bool,
}

#[derive(Default)]
struct Stream {
    /// Whether nothing more comes in.
    ended: bool,
    /// Whether the driver was told to look at it.
    named: bool,
}

/// What a machine wants, without what it lends.
enum Wanted {
    Attention,
    /// A stream, and whether it is the only one.
    Open(ConnId, bool),
    Close(ConnId),
    Rest(Option<Instant>),
}

impl<M: Machine> Rig<M> {
    pub fn new(machine: M, bounds: Bounds) -> Self {
        Self {
            machine,
            now: Instant::ZERO,
            deadline: None,
            bounds,
            chunk: usize::MAX,
            thirst: usize::MAX,
            lazy: false,
            streams: BTreeMap::new(),
            over: false,
        }
    }

    /// Whether the machine has told its last.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The streams that are open.
    pub fn streams(&self) -> impl Iterator<Item = ConnId> + use<M> {
        self.streams.keys().copied().collect::<Vec<_>>().into_iter()
    }

    /// One of the streams that are open.
    pub fn pick(&self, number: u64) -> Option<ConnId> {
        let count = self.streams.len();
        if count == 0 { None } else { self.streams.keys().nth(number as usize % count).copied() }
    }

    /// A peer has opened a stream.
    pub fn accepted(&mut self, conn: ConnId) {
        assert!(self.streams.insert(conn, Stream::default()).is_none(), "no name is given twice");
    }

    /// Bytes come in, as many at a time as there is room for; what there is no room for is lost.
    pub fn feed(&mut self, conn: ConnId, mut bytes: &[u8], world: &mut impl World<M>) {
        while !bytes.is_empty() {
            let Some(stream) = self.streams.get(&conn) else { return };
            if stream.ended {
                return;
            }
            let reads = self.machine.reads(conn);
            let room = self.machine.read_buf(conn);
            assert_eq!(reads, !room.is_empty(), "there is room where it is said to be");
            assert!(room.len() <= self.bounds.read, "room for {} bytes", room.len());
            let count = room.len().min(bytes.len()).min(self.chunk);
            if count == 0 {
                return;
            }
            room[..count].copy_from_slice(&bytes[..count]);
            world.comes(conn, &bytes[..count]);
            self.machine.read_done(conn, count, self.now);
            bytes = &bytes[count..];
            // Whoever never looks at what came in has no room for more.
            if !self.lazy || !bytes.is_empty() {
                self.settle(world);
            }
        }
    }

    /// A peer sends nothing more.
    pub fn end(&mut self, conn: ConnId, world: &mut impl World<M>) {
        if let Some(stream) = self.streams.get_mut(&conn).filter(|stream| !stream.ended) {
            stream.ended = true;
            self.machine.read_eof(conn, self.now);
            self.rest(world);
        }
    }

    /// A stream breaks.
    pub fn fail(&mut self, conn: ConnId, world: &mut impl World<M>) {
        if self.streams.contains_key(&conn) {
            self.machine.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, "reset"), self.now);
            self.rest(world);
        }
    }

    /// Time goes by, with a stop wherever the machine wants to be woken.
    pub fn pass(&mut self, time: Duration, world: &mut impl World<M>) {
        let end = self.now + time;
        self.settle(world);
        while let Some(deadline) = self.deadline.filter(|deadline| *deadline <= end) {
            assert!(deadline > self.now, "what is due is done");
            self.now = deadline;
            self.machine.handle_timeout(self.now);
            self.settle(world);
        }
        self.now = end;
    }

    /// Time jumps, as it does for a driver that was asleep.
    pub fn jump(&mut self, time: Duration, world: &mut impl World<M>) {
        self.now = self.now + time;
        self.machine.handle_timeout(self.now);
        self.rest(world);
    }

    /// Comes to rest, unless that can wait.
    pub fn rest(&mut self, world: &mut impl World<M>) {
        if !self.lazy {
            self.settle(world);
        }
    }

    /// Moves everything that can be moved.
    pub fn settle(&mut self, world: &mut impl World<M>) {
        let mut polls = 0;
        loop {
            self.poll(world, &mut polls);
            if !self.write(world) {
                return;
            }
        }
    }

    fn poll(&mut self, world: &mut impl World<M>, polls: &mut usize) {
        loop {
            *polls += 1;
            assert!(*polls < MOST_POLLS, "the machine does not come to rest");
            let wanted = match self.machine.poll() {
                Output::Event(event) => {
                    assert!(!self.over, "nothing comes behind the last event");
                    self.over = world.told(event);
                    Wanted::Attention
                }
                Output::Open { conn, target } => Wanted::Open(conn, target == Target::Peer),
                Output::Close(conn) => Wanted::Close(conn),
                Output::Idle { deadline } => Wanted::Rest(deadline),
            };
            match wanted {
                Wanted::Attention => world.act(&mut self.machine, self.now),
                Wanted::Open(conn, alone) => {
                    assert!(!self.over, "nothing is opened behind the last event");
                    // A fresh stream to the peer takes the place of the one before.
                    if alone {
                        std::mem::take(&mut self.streams).into_keys().for_each(|old| world.closed(old));
                    }
                    // It is looked at of itself.
                    let stream = Stream { ended: false, named: true };
                    assert!(self.streams.insert(conn, stream).is_none(), "no name is given twice");
                    if !world.opened(conn) {
                        let why = ConnError::new(ConnErrorKind::NotOpened, "nobody is there");
                        self.machine.conn_failed(conn, why, self.now);
                    }
                }
                Wanted::Close(conn) => {
                    assert!(self.streams.remove(&conn).is_some(), "only what is open is closed");
                    world.closed(conn);
                }
                // A machine may want to be looked at again at once.
                Wanted::Rest(Some(deadline)) if deadline <= self.now => self.machine.handle_timeout(self.now),
                Wanted::Rest(deadline) => {
                    self.deadline = deadline;
                    assert_eq!(
                        self.machine.is_over(),
                        self.over && self.streams.is_empty(),
                        "it knows when it is over"
                    );
                    assert!(self.streams.len() <= self.bounds.streams, "{} streams are open", self.streams.len());
                    return;
                }
            }
        }
    }

    /// Whether anything was written.
    fn write(&mut self, world: &mut impl World<M>) -> bool {
        // A machine with one stream names none.
        let many = self.bounds.streams > 2;
        while let Some(conn) = self.machine.next_to_move() {
            if let Some(stream) = self.streams.get_mut(&conn) {
                stream.named = true;
            }
        }
        let mut wrote = false;
        for (conn, stream) in &mut self.streams {
            let bytes = self.machine.write_buf(*conn);
            assert!(bytes.len() <= self.bounds.write, "{} bytes wait", bytes.len());
            assert!(bytes.is_empty() || stream.named || !many, "the driver is told of everything that waits");
            let count = bytes.len().min(self.thirst);
            if count > 0 {
                world.wrote(*conn, &bytes[..count]);
                self.machine.write_done(*conn, count, self.now);
                stream.named = !self.machine.write_buf(*conn).is_empty();
                wrote = true;
            }
        }
        wrote
    }

    /// Nothing is left when all is over.
    pub fn nothing_left(&self, idle: bool) {
        assert!(self.over, "the last event has come");
        assert!(self.machine.is_over());
        assert!(self.streams.is_empty(), "no stream is open");
        assert_eq!(self.deadline, None, "no timer runs");
        assert!(idle, "nothing is open");
    }
}
