//! Negotiating once more with a server that has changed: the session is gone, or the server speaks another revision than it
//! did. While that is found out, messages wait; what was sent before is sent again, if that is safe.

use super::exchange::{Exchange, Purpose};
use super::exchanges::Exchanges;
use super::handshake::{Deferred, Gate, Reinitialization, Rejected};
use crate::error::CallError;
use crate::jsonrpc::RpcError;
use crate::model::{Era, ProtocolVersion};
use crate::rpc::{LinkedRole, Outgoing};

impl<T> Exchanges<T> {
    /// The server does not know the session any more.
    pub(super) fn session_lost(&mut self, exchange: &Exchange) {
        let Purpose::Request(asked) = &exchange.purpose else { return };
        if exchange.context.generation != self.handshake.generation {
            return self.rejected(exchange, CallError::SessionLost);
        }
        let repeats = self.may_repeat(asked) && exchange.message().is_some_and(|message| self.repeat(&message));
        self.reinitialize(true);
        if !repeats {
            self.fail_call(asked.number, CallError::SessionLost);
        }
    }

    /// The server does not know the session of this generation any more, and no call has to wait for another.
    pub(super) fn session_of_generation_lost(&mut self, generation: u32) {
        if generation == self.handshake.generation {
            self.reinitialize(true);
        }
    }

    /// Whether a refusal is a reason to ask the server once more what it speaks.
    pub(super) fn may_mean_change(&self, exchange: &Exchange, status: u16, error: Option<&RpcError>) -> bool {
        let of_the_era = matches!(status, 400 | 404 | 405 | 406 | 415 | 422);
        if !of_the_era || self.makes_one_call() || !self.transport.is_streamable() {
            return false;
        }
        if exchange.context.generation != self.handshake.generation {
            return true;
        }
        self.handshake.may_ask(self.now) && self.client.closed().is_none() && self.client.may_have_changed(error)
    }

    /// A call was refused as if the server had changed: finds out whether it has.
    pub(super) fn rejected(&mut self, exchange: &Exchange, error: CallError) {
        let Purpose::Request(asked) = &exchange.purpose else { return };
        let repeats = self.may_repeat(asked);
        let Some(message) = exchange.message() else { return self.fail_call(asked.number, error) };
        if exchange.context.generation != self.handshake.generation {
            // It is known that it has.
            if !repeats || !self.repeat_exchange(exchange) {
                self.waiting_failed(&message, CallError::SessionLost);
            }
            return;
        }
        if self.handshake.reject(Rejected { message, repeats, error }, self.now) {
            self.reinitialize(false);
        }
    }

    /// Makes the request of an exchange again, in the words of what the server speaks by now. Returns whether that could be
    /// done. If it is being found out what the server speaks, that is for then.
    pub(super) fn repeat_exchange(&mut self, exchange: &Exchange) -> bool {
        let Some(message) = exchange.message() else { return false };
        let deferred = self.handshake.deferred_messages();
        let repeated = self.repeat(&message);
        let is_deferred = self.handshake.deferred_messages() > deferred;
        let outdated = exchange.context.generation != self.handshake.generation;
        if is_deferred && outdated && self.handshake.reinitialization().is_none() {
            if let Some(Deferred { message, repeated }) = self.handshake.last_deferred() {
                self.rewrite(&message, repeated);
            }
        }
        repeated
    }

    /// Negotiates once more, while everything else waits.
    fn reinitialize(&mut self, certain: bool) {
        if !self.handshake.is_open() || self.client.closed().is_some() {
            return;
        }
        self.defer_written();
        let from = self.client.spoken();
        if self.client.reinitialize(self.now) {
            if certain {
                self.interrupt_listener();
            }
            self.go_on_reinitializing(Reinitialization { number: 0, from, certain });
        }
    }

    /// Sends the next request of the handshake, if there is one. Returns whether anything was done.
    pub(super) fn go_on_reinitializing(&mut self, again: Reinitialization) -> bool {
        match self.client.handshake() {
            _ if !self.client.is_reinitializing() => self.reinitialized(again),
            Some(number) if number != again.number => {
                self.handshake.gate = Gate::Reinitializing(Reinitialization { number, ..again });
                self.defer_written();
                // It was written among calls that wait.
                if let Some(message) = self.handshake.take_request(number) {
                    self.post(message, false);
                }
            }
            _ => return false,
        }
        true
    }

    /// Puts aside what the role has written.
    pub(super) fn defer_written(&mut self) {
        while let Some(message) = self.take_written() {
            self.handshake.defer(message, false);
        }
    }

    /// The handshake was answered: either the server has changed, or it has not.
    pub(super) fn reinitialized(&mut self, again: Reinitialization) {
        self.handshake.gate = Gate::Open;
        let rejected = self.handshake.take_rejected();
        let speaks = self.client.spoken();
        let is_modern = |version: Option<ProtocolVersion>| version.is_some_and(|version| version.era() == Era::Modern);
        if speaks == again.from && is_modern(speaks) {
            for Rejected { message, error, .. } in rejected {
                self.waiting_failed(&message, error);
            }
            return;
        }
        self.handshake.begin_generation(speaks == again.from);
        self.client.watch_session(None);
        self.drop_listener();
        for call in rejected {
            self.repeat_or_fail(call);
        }
        if is_modern(speaks) || is_modern(again.from) {
            self.rewrite_deferred();
        }
    }

    /// The server could not be asked. What waited for a session fails; whatever else waited is sent as it would have
    /// been. The next call tries again.
    pub(super) fn reinitialization_failed(&mut self, error: &CallError) {
        let Some(again) = self.handshake.reinitialization() else { return };
        self.handshake.gate = Gate::Open;
        for Rejected { message, error, .. } in self.handshake.take_rejected() {
            self.waiting_failed(&message, error);
        }
        if !again.certain {
            return;
        }
        for Deferred { message, .. } in self.handshake.take_deferred() {
            self.waiting_failed(&message, error.clone());
        }
    }

    /// What waited will not be sent. If it is a request, it has failed.
    fn waiting_failed(&mut self, message: &Outgoing, error: CallError) {
        if let Some(number) = message.request_id() {
            self.client.call_failed(number, error, self.now);
        }
    }

    /// Makes a call again that the server did not take because it had changed; not if that might do something twice.
    fn repeat_or_fail(&mut self, Rejected { message, repeats, .. }: Rejected) {
        if !repeats || !self.repeat(&message) {
            self.waiting_failed(&message, CallError::SessionLost);
        }
    }

    /// Makes of what waits what the server speaks now.
    fn rewrite_deferred(&mut self) {
        for Deferred { message, repeated } in self.handshake.take_deferred() {
            self.rewrite(&message, repeated);
        }
    }

    /// What is no request belongs to the old session.
    fn rewrite(&mut self, message: &Outgoing, repeated: bool) {
        match self.client.rewritten(message) {
            Some(message) => self.handshake.defer(message, repeated),
            None => self.waiting_failed(message, CallError::SessionLost),
        }
    }
}
