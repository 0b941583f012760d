//! What links do with a role, whichever it is.

use super::{Counters, Outbox, Rpc};
use crate::error::CloseReason;
use crate::jsonrpc::{Malformed, Message};
use crate::observer::Observation;

/// A role as a link sees it.
pub(crate) trait LinkedRole {
    /// What the role keeps of each of its calls.
    type Call;
    /// What it keeps of each request of the peer's.
    type Request;

    /// For the functions here. Links do not reach through it, which `.ci/layers` checks.
    fn rpc(&self) -> &Rpc<Self::Call, Self::Request>;

    /// The same.
    fn rpc_mut(&mut self) -> &mut Rpc<Self::Call, Self::Request>;

    /// Ends the connection: whatever is open is over, and nothing more is accepted. A second time it does nothing.
    fn close(&mut self, reason: CloseReason);

    /// Ends the connection if the peer has stopped reading for too long. A message may be half written, so that last words
    /// would be taken for the rest of it.
    fn close_if_unread(&mut self) {
        if self.rpc().is_overflowing() {
            self.close(CloseReason::PeerStoppedReading);
            self.outbox_mut().clear();
        }
    }

    /// What waits to be sent.
    fn outbox(&self) -> &Outbox {
        &self.rpc().outbox
    }

    /// What waits to be sent, for the link to send.
    fn outbox_mut(&mut self) -> &mut Outbox {
        &mut self.rpc_mut().outbox
    }

    /// Tells whoever watches of something that the link noticed.
    fn observe<'a>(&self, observation: impl FnOnce() -> Observation<'a>) {
        self.rpc().observe(observation);
    }

    /// A message has come in, which was so long.
    fn observe_incoming(&self, message: &Message<'_>, bytes: usize) {
        self.rpc().observe_incoming(message, bytes);
    }

    /// What the session is called on the wire from here on, for whoever watches.
    #[cfg(feature = "http")]
    fn watch_session(&mut self, id: Option<&str>) {
        self.rpc_mut().watch_session(id);
    }

    /// Finds out what a message is that has an id and says nothing.
    fn recognize(&self, malformed: &mut Malformed) {
        self.rpc().recognize(malformed);
    }

    /// What was ignored so far.
    fn counters(&self) -> Counters {
        self.rpc().counters()
    }
}
