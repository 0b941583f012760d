//! Either link behind one type, for adapters whose handles work the same over both.

/// Does the same with whichever it is.
macro_rules! either {
    ($self:ident, $machine:ident => $do:expr) => {
        match $self {
            Self::Stdio($machine) => $do,
            #[cfg(feature = "http")]
            Self::Http($machine) => $do,
        }
    };
}

/// The part of [`Machine`](crate::Machine) that moves bytes and time. A match has to name the variants where it stands, so
/// that a trait could only ask each type for the match, function by function.
macro_rules! moves_either {
    () => {
        fn read_buf(&mut self, conn: crate::machine::ConnId) -> &mut [u8] {
            either!(self, machine => machine.read_buf(conn))
        }

        fn reads(&mut self, conn: crate::machine::ConnId) -> bool {
            either!(self, machine => machine.reads(conn))
        }

        fn read_done(&mut self, conn: crate::machine::ConnId, count: usize, now: crate::time::Instant) {
            either!(self, machine => machine.read_done(conn, count, now))
        }

        fn read_eof(&mut self, conn: crate::machine::ConnId, now: crate::time::Instant) {
            either!(self, machine => machine.read_eof(conn, now))
        }

        fn write_buf(&self, conn: crate::machine::ConnId) -> &[u8] {
            either!(self, machine => machine.write_buf(conn))
        }

        fn next_to_move(&mut self) -> Option<crate::machine::ConnId> {
            either!(self, machine => machine.next_to_move())
        }

        fn write_done(&mut self, conn: crate::machine::ConnId, count: usize, now: crate::time::Instant) {
            either!(self, machine => machine.write_done(conn, count, now))
        }

        fn conn_failed(&mut self, conn: crate::machine::ConnId, why: crate::error::ConnError, now: crate::time::Instant) {
            either!(self, machine => machine.conn_failed(conn, why, now))
        }

        fn takes_connections(&self) -> bool {
            either!(self, machine => machine.takes_connections())
        }

        fn is_over(&self) -> bool {
            either!(self, machine => machine.is_over())
        }

        fn handle_timeout(&mut self, now: crate::time::Instant) {
            either!(self, machine => machine.handle_timeout(now))
        }
    };
}

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::AnyClient;
#[cfg(feature = "server")]
pub use server::AnyServer;
