//! One connection: the request on it, and the response that comes back.

use alloc::string::ToString;
use alloc::sync::Arc;
use core::time::Duration;

use super::pool::Answers;
use super::request::HttpRequest;
use crate::buffer::{Cursor, ReadBuffer, WriteBuffer};
use crate::codec::http1::{Bounds, Frame, Framing, HttpFault, ResponseDecoder, write_request};
use crate::error::{ConnError, ConnErrorKind};
use crate::machine::HttpTarget;
use crate::time::Instant;

/// A connection that is open, or being opened.
pub(super) struct Connection {
    pub(super) target: HttpTarget,
    pub(super) outbox: WriteBuffer,
    inbox: ReadBuffer,
    cursor: Cursor,
    decoder: ResponseDecoder,
    pub(super) job: Option<Job>,
    /// Whether it has carried an exchange before. The server may close it at any time then.
    pub(super) reused: bool,
}

/// The exchange that a connection carries.
pub(super) struct Job {
    pub(super) exchange: u32,
    pub(super) request: Arc<HttpRequest>,
    /// When it was put on its connection.
    pub(super) sent_at: Instant,
    /// Whether anything came back.
    pub(super) answered: bool,
    /// Whether this is the second connection for it.
    pub(super) retried: bool,
}

/// How soon after a request a connection that was kept has to fail for the server not to have seen the request. One that
/// worked on it for longer may have carried it out.
const STALE_TIME: Duration = Duration::from_secs(1);

/// Bytes of a head that are the same for all: the method, the version, `Host` and `Content-Length`.
const FIXED: usize = 64;

/// What became of a connection.
pub(super) enum Outcome {
    /// It goes on as it was.
    Busy,
    /// Its exchange is complete, and it can carry another.
    Free,
    /// Its exchange, if it had one, is complete, and it cannot.
    Done,
    /// It is of no use any more.
    Failed(ConnError),
}

impl Connection {
    pub(super) fn new(target: HttpTarget) -> Self {
        Self {
            target,
            outbox: WriteBuffer::default(),
            inbox: ReadBuffer::default(),
            cursor: 0,
            decoder: ResponseDecoder::new(Bounds::default()),
            job: None,
            reused: false,
        }
    }

    /// Sends a request.
    pub(super) fn send(&mut self, job: Job) -> Result<(), ConnError> {
        let request = &job.request;
        let host = [("Host", request.url.authority())];
        let headers = host.into_iter().chain(request.headers.iter());
        let framing = match request.method {
            "POST" => Framing::Length(request.body.len() as u64),
            _ => Framing::Empty,
        };
        let separators = 4 * (request.headers.len() + 3);
        let room = request.headers.text_bytes() + separators + request.url.as_str().len() + FIXED + request.body.len();
        self.outbox.tail().reserve(room);
        write_request(self.outbox.tail(), request.method, request.url.target(), headers, framing)
            .map_err(|why| ConnError::new(ConnErrorKind::Broken, why.to_string()))?;
        self.outbox.tail().extend_from_slice(&request.body);
        self.decoder.expect(request.method);
        self.job = Some(job);
        Ok(())
    }

    pub(super) fn read_buf(&mut self) -> &mut [u8] {
        self.inbox.space(&mut self.cursor, most_unread())
    }

    pub(super) fn reads(&self) -> bool {
        self.inbox.unread(self.cursor).len() < most_unread()
    }

    pub(super) fn read_done(&mut self, count: usize, answers: &mut impl Answers, now: Instant) -> Outcome {
        self.inbox.filled(count);
        if let Some(job) = self.job.as_mut().filter(|_| count > 0) {
            job.answered = true;
        }
        loop {
            let unread = self.inbox.unread(self.cursor);
            let (consumed, frame) = match self.decoder.next(unread) {
                Ok(found) => found,
                Err(fault) => return Outcome::Failed(broken(fault)),
            };
            let exchange = self.job.as_ref().map(|job| job.exchange);
            match (frame, exchange) {
                (Some(Frame::Head(_)), _) if self.decoder.is_upgraded() => {
                    let detail = "the server switched to another protocol";
                    return Outcome::Failed(ConnError::new(ConnErrorKind::Broken, detail));
                }
                (Some(Frame::Head(head)), _) if head.status == 408 && self.is_farewell() && self.may_be_stale(now) => {
                    if let Some(job) = &mut self.job {
                        job.answered = false;
                    }
                    return Outcome::Failed(ConnError::new(ConnErrorKind::Broken, "the server has given up waiting"));
                }
                (Some(Frame::Head(head)), Some(exchange)) => answers.head(exchange, &head, now),
                (Some(Frame::Body(range)), Some(exchange)) => answers.body(exchange, &unread[range], now),
                (Some(Frame::End), _) => {
                    self.cursor += consumed;
                    return self.completed(answers, now);
                }
                (Some(_), None) => {}
                (None, _) => {
                    self.cursor += consumed;
                    return Outcome::Busy;
                }
            }
            self.cursor += consumed;
        }
    }

    pub(super) fn read_eof(&mut self, answers: &mut impl Answers, now: Instant) -> Outcome {
        match self.decoder.finish() {
            Ok(Some(Frame::End)) => match self.completed(answers, now) {
                Outcome::Free => Outcome::Done,
                other => other,
            },
            Ok(_) => Outcome::Done,
            Err(fault) => Outcome::Failed(broken(fault)),
        }
    }

    /// Whether the response whose head was just read may be said to nobody in particular, before the connection is closed:
    /// nothing before it was about this request.
    fn is_farewell(&self) -> bool {
        !self.decoder.keep_alive() && !self.decoder.had_interim_responses()
    }

    /// Whether the server may have closed the connection, as it may one that it keeps, before it saw the request.
    pub(super) fn may_be_stale(&self, now: Instant) -> bool {
        self.reused && self.job.as_ref().is_some_and(|job| now < job.sent_at + STALE_TIME)
    }

    fn completed(&mut self, answers: &mut impl Answers, now: Instant) -> Outcome {
        if let Some(job) = self.job.take() {
            answers.end(job.exchange, now);
        }
        // A server that answers before it has read the whole request does not want the rest of it.
        let unread = !self.inbox.unread(self.cursor).is_empty();
        if !self.decoder.keep_alive() || self.outbox.len() > 0 || unread {
            return Outcome::Done;
        }
        self.reused = true;
        self.inbox.message_done();
        self.inbox.trim(&mut self.cursor);
        self.outbox.trim();
        Outcome::Free
    }
}

/// A head has to be there as a whole to be read, and one just beyond the limit to be refused.
fn most_unread() -> usize {
    Bounds::default().head_bytes + 1
}

fn broken(fault: HttpFault) -> ConnError {
    ConnError::new(ConnErrorKind::Broken, fault.to_string())
}
