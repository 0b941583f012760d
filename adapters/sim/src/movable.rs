//! Machines without their events, so that all of them look the same.

use windlass::{ConnError, ConnId, Instant, Machine};

/// The part of a machine that moves bytes, whichever it is.
pub(crate) trait Movable {
    fn next_to_move(&mut self) -> Option<ConnId>;
    fn write_buf(&self, conn: ConnId) -> &[u8];
    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant);
    /// Gives it what fits into its buffer; says how much that is.
    fn give(&mut self, conn: ConnId, bytes: &[u8], now: Instant) -> usize;
    fn read_eof(&mut self, conn: ConnId, now: Instant);
    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant);
}

impl<M: Machine> Movable for M {
    fn next_to_move(&mut self) -> Option<ConnId> {
        Machine::next_to_move(self)
    }

    fn write_buf(&self, conn: ConnId) -> &[u8] {
        Machine::write_buf(self, conn)
    }

    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        Machine::write_done(self, conn, count, now);
    }

    fn give(&mut self, conn: ConnId, bytes: &[u8], now: Instant) -> usize {
        give(self, conn, bytes, now)
    }

    fn read_eof(&mut self, conn: ConnId, now: Instant) {
        Machine::read_eof(self, conn, now);
    }

    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant) {
        Machine::conn_failed(self, conn, why, now);
    }
}

/// Gives a machine what fits into its buffer.
pub(crate) fn give<M: Machine>(machine: &mut M, conn: ConnId, bytes: &[u8], now: Instant) -> usize {
    let buffer = machine.read_buf(conn);
    let count = buffer.len().min(bytes.len());
    buffer[..count].copy_from_slice(&bytes[..count]);
    machine.read_done(conn, count, now);
    count
}
