//! Beginning anew with a server that has: the session is gone, or the server speaks another revision than it did. While
//! that is found out, messages wait; what was made for the old beginning is made again, if that is safe.

use core::time::Duration;

use super::exchange::{Exchange, Purpose};
use super::exchanges::Exchanges;
use super::sending::{Gate, Parked};
use super::streams::Transport;
use crate::error::CallError;
use crate::jsonrpc::RpcError;
use crate::model::{Era, ProtocolVersion};
use crate::session::Outgoing;

/// How long a server is not asked again what it speaks, because of another refusal that might mean a change. One that
/// refuses much is not asked each time, and one that was restarted is found out soon enough.
const SUSPICION_PAUSE: Duration = Duration::from_secs(10);

/// A renewal that is under way.
#[derive(Clone, Copy)]
pub(super) struct Renewal {
    /// The request of the handshake that is on its way.
    pub(super) number: i64,
    /// What was spoken before.
    from: Option<ProtocolVersion>,
    /// Whether there is no way back, because the session is gone.
    certain: bool,
}

/// A call that was refused as if the server had changed.
pub(super) struct Suspect {
    message: Outgoing,
    /// Whether it may be made again.
    repeats: bool,
    /// How it ends if nothing has changed.
    error: CallError,
}

impl<T> Exchanges<T> {
    /// The server does not know the session any more.
    pub(super) fn session_lost(&mut self, exchange: &Exchange) {
        let Purpose::Request(asked) = &exchange.purpose else { return };
        if exchange.beginning != self.beginnings {
            return self.suspect(exchange, CallError::SessionLost);
        }
        let repeats = self.may_repeat(asked) && exchange.message().is_some_and(|message| self.repeat(&message));
        self.renew(true);
        if !repeats {
            self.fail_call(asked.number, CallError::SessionLost);
        }
    }

    /// The server does not know the session of this beginning any more, and no call has to wait for another.
    pub(super) fn renew_session_of(&mut self, beginning: u32) {
        if beginning == self.beginnings {
            self.renew(true);
        }
    }

    /// Whether a refusal is a reason to ask the server once more what it speaks.
    pub(super) fn is_suspicious(&self, exchange: &Exchange, status: u16, error: Option<&RpcError>) -> bool {
        let of_the_era = matches!(status, 400 | 404 | 405 | 406 | 415 | 422);
        if !of_the_era || self.only_call || !matches!(self.transport, Transport::Streamable) {
            return false;
        }
        if exchange.beginning != self.beginnings {
            return true;
        }
        let asked_lately = self.suspected_at.is_some_and(|at| self.now < at + SUSPICION_PAUSE);
        let may_ask = self.renewal().is_some() || (matches!(self.gate, Gate::Open) && !asked_lately);
        may_ask && self.client.closed().is_none() && self.client.may_have_changed(error)
    }

    /// A call was refused as if the server had changed: finds out whether it has.
    pub(super) fn suspect(&mut self, exchange: &Exchange, error: CallError) {
        let Purpose::Request(asked) = &exchange.purpose else { return };
        let repeats = self.may_repeat(asked);
        let Some(message) = exchange.message() else { return self.fail_call(asked.number, error) };
        let suspect = Suspect { message, repeats, error };
        if exchange.beginning != self.beginnings {
            // It is known that it has. If it is being found out whether it has once more, that is for then.
            let parked = self.parked.len();
            self.repeat_or_fail(suspect);
            let repeated = self.parked.len() > parked && self.renewal().is_none();
            if let Some(Parked { message, repeated }) = repeated.then(|| self.parked.pop_back()).flatten() {
                self.rewrite(&message, repeated);
            }
            return;
        }
        self.suspects.push(suspect);
        if matches!(self.gate, Gate::Open) {
            self.suspected_at = Some(self.now);
            self.renew(false);
        }
    }

    /// Begins anew, while everything else waits.
    fn renew(&mut self, certain: bool) {
        if !matches!(self.gate, Gate::Open) || self.client.closed().is_some() {
            return;
        }
        self.park_written();
        let from = self.client.spoken();
        if self.client.renew(self.now) {
            if certain {
                self.interrupt_listener();
            }
            self.go_on_renewing(Renewal { number: 0, from, certain });
        }
    }

    /// Sends the next request of the handshake, if there is one. Returns whether anything was done.
    pub(super) fn go_on_renewing(&mut self, renewal: Renewal) -> bool {
        match self.client.handshake() {
            _ if !self.client.is_renewing() => self.renewal_over(renewal),
            Some(number) if number != renewal.number => {
                self.gate = Gate::Renewing(Renewal { number, ..renewal });
                self.park_written();
                // It was written among calls that wait.
                let at = self.parked.iter().rposition(|parked| parked.message.number() == Some(number));
                if let Some(Parked { message, .. }) = at.and_then(|at| self.parked.remove(at)) {
                    self.post(message, false);
                }
            }
            _ => return false,
        }
        true
    }

    /// Puts aside what the role has written.
    pub(super) fn park_written(&mut self) {
        while let Some(message) = self.take_written() {
            self.parked.push_back(Parked { message, repeated: false });
        }
    }

    /// The handshake was answered: either the server has begun anew, or nothing has changed.
    pub(super) fn renewal_over(&mut self, renewal: Renewal) {
        self.gate = Gate::Open;
        let suspects = core::mem::take(&mut self.suspects);
        let speaks = self.client.spoken();
        let is_modern = |version: Option<ProtocolVersion>| version.is_some_and(|version| version.era() == Era::Modern);
        if speaks == renewal.from && is_modern(speaks) {
            for Suspect { message, error, .. } in suspects {
                self.waiting_failed(&message, error);
            }
            return;
        }
        self.beginnings += 1;
        self.suspected_at = self.suspected_at.filter(|_| speaks == renewal.from);
        self.session = None;
        self.drop_listener();
        for suspect in suspects {
            self.repeat_or_fail(suspect);
        }
        if is_modern(speaks) || is_modern(renewal.from) {
            self.rewrite_parked();
        }
    }

    /// The server could not be asked. What waited for a session fails; whatever else waited is sent as it would have
    /// been. The next call tries again.
    pub(super) fn renewal_failed(&mut self, error: &CallError) {
        let Gate::Renewing(renewal) = core::mem::replace(&mut self.gate, Gate::Open) else { return };
        for Suspect { message, error, .. } in core::mem::take(&mut self.suspects) {
            self.waiting_failed(&message, error);
        }
        if !renewal.certain {
            return;
        }
        for Parked { message, .. } in core::mem::take(&mut self.parked) {
            self.waiting_failed(&message, error.clone());
        }
    }

    /// What waited will not be sent. If it is a request, it has failed.
    fn waiting_failed(&mut self, message: &Outgoing, error: CallError) {
        if let Some(number) = message.number() {
            self.client.call_failed(number, error, self.now);
        }
    }

    /// Makes a call again that the server did not take because it had changed; not if that might do something twice.
    fn repeat_or_fail(&mut self, Suspect { message, repeats, .. }: Suspect) {
        if !repeats || !self.repeat(&message) {
            self.waiting_failed(&message, CallError::SessionLost);
        }
    }

    /// Makes of what waits what the server speaks now.
    fn rewrite_parked(&mut self) {
        for Parked { message, repeated } in core::mem::take(&mut self.parked) {
            self.rewrite(&message, repeated);
        }
    }

    /// What is no request belongs to the old beginning.
    fn rewrite(&mut self, message: &Outgoing, repeated: bool) {
        match self.client.rewritten(message) {
            Some(message) => self.parked.push_back(Parked { message, repeated }),
            None => self.waiting_failed(message, CallError::SessionLost),
        }
    }

    pub(super) fn renewal(&self) -> Option<Renewal> {
        if let Gate::Renewing(renewal) = self.gate { Some(renewal) } else { None }
    }
}
