//! The last words: what was said before closing is delivered, then the session is ended, all within a bounded time.

use super::exchange::{Exchange, Purpose};
use super::exchanges::Exchanges;
use super::request::{self, Common};
use crate::client::Event;
use crate::error::CloseReason;
use crate::time::Instant;

/// How far closing is.
pub(super) enum Closing {
    /// The client is open.
    No,
    /// Messages are being delivered.
    Delivering {
        until: Instant,
    },
    /// The session is being ended.
    Deleting,
    /// Nothing is left but to say so.
    Done,
    Reported,
}

impl Closing {
    pub(super) fn deadline(&self) -> Option<Instant> {
        if let Self::Delivering { until } = self { Some(*until) } else { None }
    }

    /// The server has ended the session, or will not.
    pub(super) fn deleted(&mut self) {
        if matches!(self, Self::Deleting) {
            *self = Self::Done;
        }
    }
}

impl<T> Exchanges<T> {
    /// Goes on with closing. Returns whether something was done.
    pub(super) fn advance_closing(&mut self) -> bool {
        match self.closing {
            Closing::No => self.begin_closing(),
            Closing::Delivering { .. } => {
                let delivers = |exchange: &Exchange| matches!(exchange.purpose, Purpose::Message { .. });
                if self.authorizing.must_finish() || self.open.iter().any(|(_, exchange)| delivers(exchange)) {
                    return false;
                }
                self.delete_session();
            }
            Closing::Deleting | Closing::Reported => return false,
            Closing::Done => {
                self.closing = Closing::Reported;
                if let Some(reason) = self.client.closed().cloned() {
                    self.prepare(Event::Closed(reason));
                }
            }
        }
        true
    }

    /// Whatever waits for an answer waits no longer; what was said before is sent.
    fn begin_closing(&mut self) {
        self.closing = Closing::Delivering { until: self.now + self.http.close_timeout };
        let deliver = matches!(self.client.closed(), Some(CloseReason::Requested)) && self.handshake.is_open();
        self.handshake.abandon();
        self.tools.abandon();
        self.transport.abandon_fallback();
        let finishing = self.authorizing.must_finish();
        self.drop_where(|purpose| match purpose {
            Purpose::Message { .. } => false,
            // A refresh token that was used is good no longer: the one that comes for it is waited for.
            Purpose::Authorization => !finishing,
            _ => true,
        });
        while let Some(message) = self.take_written() {
            if deliver && message.request_id().is_none() {
                self.post(message, false);
            }
        }
    }

    fn delete_session(&mut self) {
        self.drop_where(|_| true);
        let Some(session) = self.handshake.session.take().filter(|_| self.transport.is_streamable()) else {
            self.closing = Closing::Done;
            return;
        };
        let url = self.endpoint("DELETE");
        let common = Common { version: self.client.spoken(), session: Some(&session), extra: &self.http.headers };
        let mut exchange = Exchange::new(Purpose::Delete, request::delete(url, &common));
        exchange.deadline = Some(self.now + self.http.close_timeout);
        self.closing = Closing::Deleting;
        self.start(exchange);
    }

    pub(super) fn closing_expired(&mut self) {
        if self.closing.deadline().is_some_and(|until| until <= self.now) {
            self.delete_session();
        }
    }
}
