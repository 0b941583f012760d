//! Which connection an exchange is on: kept ones are used again, and where there is none, a new one is opened. How many
//! exchanges there are at a time is not decided here.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;

use super::config::HttpClientConfig;
use super::connection::{Connection, Job, Outcome};
use super::request::HttpRequest;
use crate::codec::http1::ResponseHead;
use crate::error::ConnError;
use crate::machine::{ConnId, HttpTarget};
use crate::table::Table;
use crate::time::Instant;

/// Who is told what came back.
pub(super) trait Answers {
    fn head(&mut self, exchange: u32, head: &ResponseHead, now: Instant);
    fn body(&mut self, exchange: u32, bytes: &[u8], now: Instant);
    fn end(&mut self, exchange: u32, now: Instant);
    fn failed(&mut self, exchange: u32, why: ConnError, now: Instant);
}

/// What the adapter is to do.
pub(super) enum PoolOutput {
    Open(ConnId, HttpTarget),
    Close(ConnId),
}

/// The connections of a client.
pub(super) struct Pool {
    most_idle: usize,
    idle_timeout: Duration,
    connections: Table<u32, Box<Connection>>,
    /// Connections without an exchange, the one that was used last at the end, and until when they are kept.
    idle: VecDeque<(Instant, u32)>,
    next: u32,
    outputs: VecDeque<PoolOutput>,
    /// Connections with a request that their driver does not know of.
    moving: VecDeque<ConnId>,
}

impl Pool {
    pub(super) fn new(config: &HttpClientConfig) -> Self {
        Self {
            most_idle: config.idle_connections,
            idle_timeout: config.idle_timeout,
            connections: Table::new(),
            idle: VecDeque::new(),
            next: 0,
            outputs: VecDeque::new(),
            moving: VecDeque::new(),
        }
    }

    /// Makes a request.
    pub(super) fn start(&mut self, exchange: u32, request: Arc<HttpRequest>, now: Instant) -> Result<(), ConnError> {
        self.place(Job { exchange, request, sent_at: now, answered: false, retried: false }, now)
    }

    fn place(&mut self, job: Job, now: Instant) -> Result<(), ConnError> {
        let job = Job { sent_at: now, ..job };
        let leads_there =
            |conn: &u32| self.connections.get(conn).is_some_and(|connection| job.request.is_for(&connection.target));
        // The one that was used last is the least likely to be closed by the server.
        let idle = self.idle.iter().rposition(|(_, conn)| !job.retried && leads_there(conn));
        if let Some((_, conn)) = idle.and_then(|at| self.idle.remove(at)) {
            return self.send(conn, job);
        }
        while self.connections.contains(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let (conn, target) = (self.next, job.request.target());
        self.next = self.next.wrapping_add(1);
        self.outputs.push_back(PoolOutput::Open(ConnId(conn), target.clone()));
        self.connections.insert(conn, Box::new(Connection::new(target)));
        self.send(conn, job)
    }

    fn send(&mut self, conn: u32, job: Job) -> Result<(), ConnError> {
        let Some(connection) = self.connections.get_mut(&conn) else { return Ok(()) };
        match connection.send(job) {
            Ok(()) => {
                self.moving.push_back(ConnId(conn));
                Ok(())
            }
            Err(why) => {
                self.drop_connection(conn);
                Err(why)
            }
        }
    }

    /// Gives up an exchange; its connection goes with it.
    pub(super) fn abort(&mut self, exchange: u32) {
        let carries = |connection: &Connection| connection.job.as_ref().is_some_and(|job| job.exchange == exchange);
        let carrier = self.connections.iter().find(|(_, connection)| carries(connection)).map(|(&conn, _)| conn);
        if let Some(conn) = carrier {
            self.drop_connection(conn);
        }
    }

    fn drop_connection(&mut self, conn: u32) {
        let Some(connection) = self.connections.remove(&conn) else { return };
        if connection.job.is_none() {
            self.idle.retain(|(_, idle)| *idle != conn);
        }
        let opening = |output: &PoolOutput| matches!(output, PoolOutput::Open(other, _) if other.0 == conn);
        match self.outputs.iter().position(opening) {
            Some(at) => drop(self.outputs.remove(at)),
            None => self.outputs.push_back(PoolOutput::Close(ConnId(conn))),
        }
    }

    pub(super) fn next_to_move(&mut self) -> Option<ConnId> {
        self.moving.pop_front()
    }

    pub(super) fn next_output(&mut self) -> Option<PoolOutput> {
        self.outputs.pop_front()
    }

    pub(super) fn read_buf(&mut self, conn: ConnId) -> &mut [u8] {
        self.connections.get_mut(&conn.0).map(|connection| connection.read_buf()).unwrap_or_default()
    }

    pub(super) fn reads(&self, conn: ConnId) -> bool {
        self.connections.get(&conn.0).is_some_and(|connection| connection.reads())
    }

    pub(super) fn read_done(&mut self, conn: ConnId, count: usize, answers: &mut impl Answers, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&conn.0) {
            let outcome = connection.read_done(count, answers, now);
            self.settle(conn.0, outcome, answers, now);
        }
    }

    pub(super) fn read_eof(&mut self, conn: ConnId, answers: &mut impl Answers, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&conn.0) {
            let outcome = connection.read_eof(answers, now);
            self.settle(conn.0, outcome, answers, now);
        }
    }

    pub(super) fn conn_failed(&mut self, conn: ConnId, why: ConnError, answers: &mut impl Answers, now: Instant) {
        self.settle(conn.0, Outcome::Failed(why), answers, now);
    }

    /// What becomes of a connection, and of the exchange that was on it.
    fn settle(&mut self, conn: u32, outcome: Outcome, answers: &mut impl Answers, now: Instant) {
        match outcome {
            Outcome::Busy => {}
            Outcome::Free => self.idle.push_back((now + self.idle_timeout, conn)),
            Outcome::Done => self.drop_connection(conn),
            Outcome::Failed(why) => {
                let connection = self.connections.get_mut(&conn);
                let stale = connection.as_ref().is_some_and(|connection| connection.may_be_stale(now));
                let job = connection.and_then(|connection| connection.job.take());
                self.drop_connection(conn);
                match job {
                    // It has not even seen this request, most probably. On a fresh connection it will.
                    Some(job) if stale && !job.answered => {
                        let exchange = job.exchange;
                        if let Err(why) = self.place(Job { retried: true, ..job }, now) {
                            answers.failed(exchange, why, now);
                        }
                    }
                    Some(job) => answers.failed(job.exchange, why, now),
                    None => {}
                }
            }
        }
    }

    pub(super) fn write_buf(&self, conn: ConnId) -> &[u8] {
        self.connections.get(&conn.0).map(|connection| connection.outbox.unwritten()).unwrap_or_default()
    }

    /// Returns the exchange whose request is written, if this was the last of it.
    pub(super) fn write_done(&mut self, conn: ConnId, count: usize) -> Option<u32> {
        let connection = self.connections.get_mut(&conn.0)?;
        connection.outbox.wrote(count);
        let job = connection.job.as_ref().filter(|_| connection.outbox.len() == 0)?;
        Some(job.exchange)
    }

    /// Closes a connection that nobody needs now, if more are kept than shall be. Returns whether there was one.
    pub(super) fn lets_go(&mut self) -> bool {
        let surplus = self.idle.len() > self.most_idle;
        if let Some((_, oldest)) = self.idle.front().copied().filter(|_| surplus) {
            self.drop_connection(oldest);
        }
        surplus
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.idle.front().map(|(until, _)| *until)
    }

    /// Returns whether connections were closed for lack of use.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        let mut closed = false;
        while let Some(&(_, conn)) = self.idle.front().filter(|(until, _)| *until <= now) {
            self.drop_connection(conn);
            closed = true;
        }
        closed
    }

    /// Closes what is left.
    pub(super) fn shut(&mut self) {
        while let Some((&conn, _)) = self.connections.first() {
            self.drop_connection(conn);
        }
    }

    /// Whether there is nothing to write.
    pub(super) fn is_quiet(&self) -> bool {
        self.outputs.is_empty() && self.connections.iter().all(|(_, connection)| connection.outbox.len() == 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::codec::http1::Headers;
    use crate::url::Url;

    struct Nobody;

    impl Answers for Nobody {
        fn head(&mut self, _: u32, _: &ResponseHead, _: Instant) {}
        fn body(&mut self, _: u32, _: &[u8], _: Instant) {}
        fn end(&mut self, _: u32, _: Instant) {}
        fn failed(&mut self, _: u32, _: ConnError, _: Instant) {}
    }

    /// What a server has named is not asked for on a connection whose address nobody has judged, nor the other way round.
    #[test]
    fn connections_to_public_addresses_only_are_kept_apart() {
        let mut pool = Pool::new(&HttpClientConfig::new("https://a.example/mcp").unwrap());
        let mut opened = |exchange: u32, public_only: bool| {
            let url = Url::parse("https://a.example/x").unwrap();
            let request = HttpRequest { method: "GET", url, headers: Headers::new(), body: Vec::new(), public_only };
            pool.start(exchange, Arc::new(request), Instant::ZERO).unwrap();
            let conn = pool.next_to_move().unwrap();
            let target = pool.next_output().map(|output| match output {
                PoolOutput::Open(_, target) => target,
                PoolOutput::Close(_) => panic!("nothing is closed"),
            });
            let unwritten = pool.write_buf(conn).len();
            pool.write_done(conn, unwritten);
            let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
            pool.read_buf(conn)[..answer.len()].copy_from_slice(answer);
            pool.read_done(conn, answer.len(), &mut Nobody, Instant::ZERO);
            target.map(|target| (target.host, target.port, target.tls, target.public_only))
        };
        let target = |public_only| Some(("a.example".into(), 443, true, public_only));
        assert_eq!(opened(1, false), target(false));
        assert_eq!(opened(2, true), target(true));
        assert_eq!([opened(3, false), opened(4, true)], [None, None], "each has its own to use again");
        assert_eq!(pool.idle.len(), 2);
    }
}
