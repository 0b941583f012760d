//! What takes part in a simulation: a machine with a program around it, or a script.

use windlass::{ConnError, ConnId, Instant};

use crate::trace::{Side, Trace};

/// One end of the connection.
///
/// The simulation sets the time, gives bytes in, takes turns, and moves what is to be written.
pub trait Party {
    /// The clock has moved on.
    fn set_time(&mut self, now: Instant);

    /// Does everything that can be done now.
    fn turn(&mut self, log: &mut Log<'_>) -> Turn;

    /// What is to be written.
    fn unwritten(&self) -> &[u8];

    /// The first `count` bytes of it were written.
    fn wrote(&mut self, count: usize);

    /// Bytes have arrived; says how many were taken.
    fn read(&mut self, bytes: &[u8]) -> usize;

    /// No more bytes will arrive.
    fn read_end(&mut self);

    /// The stream broke.
    fn broke(&mut self, why: &ConnError);

    /// The deadline of the last turn has come.
    fn timeout(&mut self);

    /// Whether nothing is left to do.
    fn is_idle(&self) -> bool;
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// A stream is wanted. A client that wants a second one gets a fresh server.
    pub opens: bool,
    /// The stream is to be closed, in one direction or both.
    pub closes: Option<Closing>,
    /// When to wake the party.
    pub deadline: Option<Instant>,
}

/// How much of a stream is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Nothing more is written, but what comes is read.
    Writing,
    /// Nothing more is written or read.
    Both,
}

/// Where a party reports what its program sees.
#[derive(Debug)]
pub struct Log<'a> {
    pub(crate) trace: &'a mut Trace,
    pub(crate) side: Side,
    pub(crate) name: &'a str,
    pub(crate) now: Instant,
}

impl Log<'_> {
    /// The program sees something.
    pub fn saw(&mut self, what: &str) {
        self.trace.saw(self.side, self.name, what, self.now);
    }
}

/// What the machine of a party wants, its events taken care of.
pub(crate) enum Want {
    /// A connection, to another host than the server's if it names one.
    Open(ConnId, Option<String>),
    Close(ConnId),
    /// Nothing more before this.
    Rest(Option<Instant>),
}

/// What a machine with a program around it does as a party: it has one stream, over which it is moved. `$later` is what
/// the program will do later.
macro_rules! machine_as_party {
    ($machine:ident, $later:ident) => {
        fn set_time(&mut self, now: Instant) {
            self.now = now;
        }

        fn turn(&mut self, log: &mut Log<'_>) -> crate::party::Turn {
            let is_at_home = matches!(self.machine, $machine::Stdio(_));
            assert!(is_at_home, "a {} over HTTP is at home in an `HttpSim`", log.side.name());
            let mut turn = crate::party::Turn::default();
            loop {
                match self.next_want(log) {
                    Want::Open(conn, _) => {
                        self.conn = Some(conn);
                        turn.opens = true;
                        // Only a client opens a second stream. What it said to the old one must not reach the new one.
                        if log.side == crate::trace::Side::Client {
                            return turn;
                        }
                    }
                    Want::Close(_) => turn.closes = Some(crate::party::Closing::Both),
                    Want::Rest(deadline) => {
                        turn.deadline = deadline;
                        return turn;
                    }
                }
            }
        }

        fn unwritten(&self) -> &[u8] {
            self.conn.map_or(&[], |conn| self.machine.write_buf(conn))
        }

        fn wrote(&mut self, count: usize) {
            if let Some(conn) = self.conn {
                self.machine.write_done(conn, count, self.now);
            }
        }

        fn read(&mut self, bytes: &[u8]) -> usize {
            self.conn.map_or(0, |conn| crate::movable::give(&mut self.machine, conn, bytes, self.now))
        }

        fn read_end(&mut self) {
            if let Some(conn) = self.conn {
                self.machine.read_eof(conn, self.now);
            }
        }

        fn broke(&mut self, why: &windlass::ConnError) {
            if let Some(conn) = self.conn {
                self.machine.conn_failed(conn, why.clone(), self.now);
            }
        }

        fn timeout(&mut self) {
            self.machine.handle_timeout(self.now);
        }

        fn is_idle(&self) -> bool {
            self.machine.is_idle() && self.$later.is_empty()
        }
    };
}
pub(crate) use machine_as_party;
