//! From messages to exchanges, in the right order.
//!
//! ```text
//!            the server has begun anew
//!   Open ─────────────────────────────────────────▶ Renewing
//!    │ ▲ ◀───── it is modern, or nothing is new ───────┤
//!    │ │ notifications/initialized has arrived         │ initialize is answered
//!    │ └──────────── Announcing ◀── Listening ◀────────┤
//!    │                              (one second        │
//!    └─ initialize is answered ─────  at most) ◀───────┘
//! ```
//!
//! Messages go out in `Open` only; a server may refuse what comes before its session is complete.

use alloc::string::{String, ToString};
use core::time::Duration;

use super::exchange::{Asked, Exchange, Purpose, Tries};
use super::exchanges::Exchanges;
use super::renewing::Renewal;
use super::request::{self, Common};
use super::streams::Transport;
use crate::error::CallError;
use crate::jsonrpc::RpcError;
use crate::model::{Initialize, Initialized, PaginatedParams};
use crate::session::{MethodName, Outgoing};
use crate::time::Instant;

/// How long messages wait for the stream on which the server may speak unasked, or for as long as a call may if that is
/// less. It is better to hear the first words, but most servers have none to say.
const LISTEN_FIRST: Duration = Duration::from_secs(1);

/// Pages of a listing that are searched for one tool.
const MOST_PAGES: u32 = 16;

/// What messages wait for.
pub(super) enum Gate {
    /// Nothing.
    Open,
    /// The listening stream, but not for long.
    Listening { until: Option<Instant> },
    /// The server's word that it knows that the session is complete.
    Announcing,
    /// What comes of beginning anew, by the request of the handshake that is on its way.
    Renewing(Renewal),
}

/// A message that waits for the gate to open.
pub(super) struct Parked {
    pub(super) message: Outgoing,
    /// Whether it was sent before.
    pub(super) repeated: bool,
}

/// A call whose headers did not match the server's idea of the tool, and that waits for a fresh listing.
pub(super) struct Mismatch {
    pub(super) message: Outgoing,
    pub(super) tool: String,
    pub(super) error: RpcError,
    pub(super) pages: u32,
}

impl Gate {
    pub(super) fn deadline(&self) -> Option<Instant> {
        if let Self::Listening { until } = self { *until } else { None }
    }
}

impl<T> Exchanges<T> {
    /// Sends the next message. Returns whether there was one.
    pub(super) fn send_next(&mut self) -> bool {
        if let Gate::Renewing(renewal) = self.gate {
            return self.go_on_renewing(renewal);
        }
        // What is written while nothing can be sent waits where a server that reads nothing is noticed.
        if !matches!(self.gate, Gate::Open) || self.turns.are_used_up() {
            return false;
        }
        let next = self.parked.pop_front();
        let next = next.or_else(|| self.take_written().map(|message| Parked { message, repeated: false }));
        next.is_some_and(|Parked { message, repeated }| {
            self.post(message, repeated);
            true
        })
    }

    /// The next message that the role wrote.
    pub(super) fn take_written(&mut self) -> Option<Outgoing> {
        self.client.outbox_mut().take()
    }

    /// Sends a message.
    pub(super) fn post(&mut self, message: Outgoing, repeated: bool) {
        let number = message.number();
        if number.is_some_and(|number| !self.client.is_open(number)) {
            // It was given up before it was sent.
            return;
        }
        let label = message.label.clone();
        let name = request::name_of(&message);
        let announces = message.tells::<Initialized>();
        let handshake = label.method.as_ref().is_some_and(MethodName::is::<Initialize>);
        let renewing = matches!(self.gate, Gate::Renewing(_));
        let (url, streamable) = match &self.transport {
            Transport::Streamable => (self.endpoint("POST"), true),
            Transport::Events { endpoint } => (endpoint.clone(), false),
        };
        let common = Common {
            version: self.client.spoken().filter(|_| streamable && !handshake),
            session: self.session.as_deref().filter(|_| streamable && !handshake && !renewing),
            extra: &self.http.headers,
        };
        let in_session = common.session.is_some();
        let request = match (request::post(url, message, name.as_deref(), &common, &self.tools), number) {
            (Ok(request), _) => request,
            (Err(why), Some(number)) => return self.fail_call(number, CallError::Unsendable(why.to_string())),
            (Err(_), None) => return,
        };
        let purpose = match number {
            Some(number) if !streamable => Purpose::Dropped(number),
            Some(number) => {
                Purpose::Request(Asked { number, label, name, answered: false, repeated, tries: Tries::default() })
            }
            None => Purpose::Message { announces },
        };
        let mut exchange = Exchange::new(purpose, request);
        exchange.in_session = in_session;
        exchange.beginning = self.beginnings;
        exchange.settled = streamable;
        if !matches!(exchange.purpose, Purpose::Request(_)) {
            exchange.deadline = Some(self.now + self.http.message_timeout);
        }
        self.open(exchange);
    }

    /// The handshake of a legacy session is over.
    pub(super) fn handshake_over(&mut self) {
        if matches!(self.transport, Transport::Streamable) && self.http.listen {
            // Calls that may take for ever wait for as long as the stream takes to begin.
            let until = self.client.usual_timeout().map(|timeout| self.now + timeout.min(LISTEN_FIRST));
            self.gate = Gate::Listening { until };
            self.open_listener();
        } else {
            self.announce();
        }
    }

    /// The listening stream is there, or not worth waiting for.
    pub(super) fn listening_decided(&mut self) {
        if matches!(self.gate, Gate::Listening { .. }) {
            self.announce();
        }
    }

    pub(super) fn gate_expired(&mut self) {
        if self.gate.deadline().is_some_and(|until| until <= self.now) {
            self.listening_decided();
        }
    }

    /// Says that the session is complete. Whatever else was written meanwhile waits.
    fn announce(&mut self) {
        self.gate = Gate::Open;
        while let Some(message) = self.take_written() {
            if message.tells::<Initialized>() && matches!(self.gate, Gate::Open) {
                self.gate = Gate::Announcing;
                self.post(message, false);
            } else {
                self.parked.push_back(Parked { message, repeated: false });
            }
        }
    }

    /// The server knows that the session is complete, or cannot be told.
    pub(super) fn announced(&mut self) {
        if matches!(self.gate, Gate::Announcing) {
            self.gate = Gate::Open;
        }
    }

    /// Makes a request again, under another id. Returns whether that could be done.
    pub(super) fn repeat(&mut self, message: &Outgoing) -> bool {
        let Some(renumbered) = message.number().and_then(|number| self.client.reissue(number)) else { return false };
        if let Some(message) = message.renumbered(renumbered) {
            self.parked.push_back(Parked { message, repeated: true });
        }
        true
    }

    /// A request got no answer.
    pub(super) fn fail_call(&mut self, number: i64, error: CallError) {
        if let Some(mismatch) = self.mismatches.remove(&number) {
            self.mismatch_stays(mismatch);
        }
        let renewal = matches!(self.gate, Gate::Renewing(renewal) if renewal.number == number);
        self.client.call_failed(number, error.clone(), self.now);
        if renewal {
            self.renewal_failed(&error);
        }
    }

    /// Nobody waits for a call any more.
    pub(super) fn call_given_up(&mut self, number: i64) {
        let waiting = self.exchanges.iter().rfind(|(_, exchange)| exchange.number() == Some(number));
        if let Some(exchange) = waiting.map(|(&exchange, _)| exchange) {
            self.drop_exchange(exchange);
        }
        if self.fallback.take_if(|fallback| fallback.number() == number).is_some() {
            self.drop_events();
        }
        let timeout = self.http.message_timeout;
        self.fail_call(number, CallError::TimedOut { after: timeout });
    }

    /// The server says that the headers do not match the body: its tools may have changed since they were listed.
    pub(super) fn list_tools_again(&mut self, mut mismatch: Mismatch, cursor: Option<String>) {
        let params = PaginatedParams::at(cursor);
        mismatch.pages += 1;
        match self.client.list_tools_again(&params, self.now) {
            Some(number) => drop(self.mismatches.insert(number, mismatch)),
            None => self.mismatch_stays(mismatch),
        }
    }

    /// A fresh listing is there: the call is made again, once the tool is found in it.
    pub(super) fn tools_listed(&mut self, number: i64, next_cursor: Option<String>) {
        let Some(mismatch) = self.mismatches.remove(&number) else { return };
        let found = !self.tools.annotations(&mismatch.tool).is_empty();
        match next_cursor {
            Some(cursor) if !found && mismatch.pages < MOST_PAGES => self.list_tools_again(mismatch, Some(cursor)),
            _ => {
                self.repeat(&mismatch.message);
            }
        }
    }

    /// There is no fresh listing, so the call has failed for the reason that the server gave.
    fn mismatch_stays(&mut self, mismatch: Mismatch) {
        if let Some(number) = mismatch.message.number() {
            self.client.call_failed(number, CallError::Remote(mismatch.error), self.now);
        }
    }
}
