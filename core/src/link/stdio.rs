//! MCP over one byte stream with a message per line: a child's stdin and stdout, our own, a Unix socket, TCP.

/// The part of [`Machine`](crate::Machine) that moves bytes and time, which is the same for both roles.
///
/// These are required functions of that trait, and no other trait can supply them: with default functions elsewhere each type
/// would have to hand on every one of them by hand, and implementing `Machine` for all types of a private trait would show that
/// trait to everybody, in place of the two types.
macro_rules! moves_bytes {
    ($role:ident) => {
        fn read_buf(&mut self, conn: crate::machine::ConnId) -> &mut [u8] {
            if self.stream.is(conn) { self.stream.read_buf(self.$role.limits()) } else { &mut [] }
        }

        fn read_done(&mut self, conn: crate::machine::ConnId, count: usize, now: crate::time::Instant) {
            self.now = now;
            if self.stream.is(conn) {
                self.stream.read_done(count, now);
            }
        }

        fn read_eof(&mut self, conn: crate::machine::ConnId, now: crate::time::Instant) {
            self.now = now;
            if self.stream.is(conn) {
                self.stream.read_eof();
            }
        }

        fn write_buf(&self, conn: crate::machine::ConnId) -> &[u8] {
            if self.stream.is(conn) { self.$role.outbox().unwritten() } else { &[] }
        }

        fn write_done(&mut self, conn: crate::machine::ConnId, count: usize, now: crate::time::Instant) {
            self.now = now;
            if self.stream.is(conn) {
                self.stream.write_done(self.$role.outbox_mut(), count, now);
            }
        }

        fn conn_failed(
            &mut self,
            conn: crate::machine::ConnId,
            why: crate::error::ConnError,
            now: crate::time::Instant,
        ) {
            self.now = now;
            if self.stream.is(conn) {
                self.stream.life.broke();
                self.$role.close(crate::error::CloseReason::Transport(why));
                // There is nowhere to write to.
                self.$role.outbox_mut().clear();
            }
        }

        fn handle_timeout(&mut self, now: crate::time::Instant) {
            self.now = now;
            self.$role.handle_timeout(now);
            if self.stream.handle_timeout(self.$role.outbox_mut(), now) {
                self.$role.trim();
            }
        }
    };
}

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::StdioClient;
#[cfg(feature = "server")]
pub use server::StdioServer;
