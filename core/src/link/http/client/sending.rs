//! From messages to exchanges, in the right order.

use alloc::borrow::Cow;
use alloc::string::ToString;
use core::time::Duration;

use super::exchange::{Asked, Attempts, Context, Exchange, Purpose};
use super::exchanges::Exchanges;
use super::handshake::{Deferred, Gate};
use super::request::{self, Common};
use super::streams::Transport;
use crate::error::CallError;
use crate::model::{Initialize, Initialized};
use crate::rpc::{LinkedRole, MethodName, Outgoing};

/// How long messages wait for the stream on which the server may speak unasked, or for as long as a call may if that is
/// less. It is better to hear the first words, but most servers have none to say.
const LISTEN_FIRST: Duration = Duration::from_secs(1);

impl<T> Exchanges<T> {
    /// Sends the next message. Returns whether there was one.
    pub(super) fn send_next(&mut self) -> bool {
        if let Some(again) = self.handshake.reinitialization() {
            return self.go_on_reinitializing(again);
        }
        // What is written while nothing can be sent waits where a server that reads nothing is noticed.
        if !self.handshake.is_open() || self.open.is_full() {
            return false;
        }
        let next = self.handshake.next_deferred();
        let next = next.or_else(|| self.take_written().map(|message| Deferred { message, repeated: false }));
        next.is_some_and(|Deferred { message, repeated }| {
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
        let number = message.request_id();
        if number.is_some_and(|number| !self.client.is_open(number)) {
            // It was given up before it was sent.
            return;
        }
        let label = message.label.clone();
        let name = message.name().map(Cow::into_owned);
        let announces = message.tells::<Initialized>();
        let handshake = label.method.as_ref().is_some_and(MethodName::is::<Initialize>);
        let reinitializing = self.handshake.reinitialization().is_some();
        let (url, streamable) = match &self.transport {
            Transport::Streamable | Transport::FallingBack(_) => (self.endpoint("POST"), true),
            Transport::Events { endpoint } => (endpoint.clone(), false),
        };
        let common = Common {
            version: self.client.spoken().filter(|_| streamable && !handshake),
            session: self.handshake.session.as_deref().filter(|_| streamable && !handshake && !reinitializing),
            extra: &self.http.headers,
        };
        let in_session = common.session.is_some();
        let request = match (request::post(url, message, name.as_deref(), &common, &self.tools), number) {
            (Ok(request), _) => request,
            (Err(why), Some(number)) => return self.fail_call(number, CallError::Unsendable(why.to_string())),
            (Err(_), None) => return,
        };
        let purpose = match number {
            Some(number) if !streamable => Purpose::Posted(number),
            Some(number) => Purpose::Request(Asked {
                number,
                label,
                name,
                answered: false,
                repeated,
                attempts: Attempts::default(),
            }),
            None => Purpose::Message { announces },
        };
        let mut exchange = Exchange::new(purpose, request);
        exchange.context = Context { in_session, ..self.context() };
        exchange.tried.elsewhere = !streamable;
        if !matches!(exchange.purpose, Purpose::Request(_)) {
            exchange.deadline = Some(self.now + self.http.message_timeout);
        }
        self.start(exchange);
    }

    /// The handshake of a legacy session is over.
    pub(super) fn handshake_over(&mut self) {
        if self.transport.is_streamable() && self.http.listen {
            // Calls that may take for ever wait for as long as the stream takes to begin.
            let until = self.client.usual_timeout().map(|timeout| self.now + timeout.min(LISTEN_FIRST));
            self.handshake.gate = Gate::Listening { until };
            self.open_listener();
        } else {
            self.announce();
        }
    }

    /// The listening stream is there, or not worth waiting for.
    pub(super) fn listening_decided(&mut self) {
        if matches!(self.handshake.gate, Gate::Listening { .. }) {
            self.announce();
        }
    }

    pub(super) fn gate_expired(&mut self) {
        if self.handshake.deadline().is_some_and(|until| until <= self.now) {
            self.listening_decided();
        }
    }

    /// Says that the session is complete. Whatever else was written meanwhile waits.
    fn announce(&mut self) {
        self.handshake.gate = Gate::Open;
        while let Some(message) = self.take_written() {
            if message.tells::<Initialized>() && self.handshake.is_open() {
                self.handshake.gate = Gate::Announcing;
                self.post(message, false);
            } else {
                self.handshake.defer(message, false);
            }
        }
    }

    /// The server knows that the session is complete, or cannot be told.
    pub(super) fn announced(&mut self) {
        if matches!(self.handshake.gate, Gate::Announcing) {
            self.handshake.gate = Gate::Open;
        }
    }

    /// Makes a request again, under another id. Returns whether that could be done.
    pub(super) fn repeat(&mut self, message: &Outgoing) -> bool {
        let Some(renumbered) = message.request_id().and_then(|number| self.client.reissue(number)) else {
            return false;
        };
        if let Some(message) = message.renumbered(renumbered) {
            self.handshake.defer(message, true);
        }
        true
    }

    /// A request got no answer.
    pub(super) fn fail_call(&mut self, number: i64, error: CallError) {
        if let Some(mismatch) = self.tools.take_mismatch(number) {
            self.mismatch_stays(mismatch);
        }
        let again = self.handshake.reinitialization().is_some_and(|again| again.number == number);
        self.client.call_failed(number, error.clone(), self.now);
        if again {
            self.reinitialization_failed(&error);
        }
    }

    /// Nobody waits for a call any more.
    pub(super) fn call_cancelled(&mut self, number: i64) {
        let waiting = self.open.iter().rfind(|(_, exchange)| exchange.request_id() == Some(number));
        if let Some(exchange) = waiting.map(|(exchange, _)| exchange) {
            self.drop_exchange(exchange);
        }
        if self.transport.fallback().is_some_and(|fallback| fallback.request_id() == number) {
            self.transport = Transport::Streamable;
            self.drop_events();
        }
        let timeout = self.http.message_timeout;
        self.fail_call(number, CallError::TimedOut { after: timeout });
    }
}
