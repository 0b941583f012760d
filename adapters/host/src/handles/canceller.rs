//! Giving up calls from elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use windlass::client::CallId;
use windlass::{CallError, SendError};

use crate::Error;
use crate::wait::Lock;

/// Gives up calls from another thread or task: those that are made through a handle which has it, by
/// `client.with_cancel(&canceller)`. Clones are the same canceller, and as many handles and clients may have it as there
/// are.
///
/// It is used once: calls that are made through such a handle later are over before they are sent.
#[derive(Clone, Default)]
pub struct Canceller(Arc<Lock<State>>);

#[derive(Default)]
struct State {
    cancelled: bool,
    calls: BTreeMap<u64, (Weak<dyn Cancels>, CallId)>,
    next: u64,
}

/// What a call was made on.
pub(crate) trait Cancels: Send + Sync {
    /// Gives a call up, and sees to it that the server hears of it.
    fn cancel(&self, call: CallId, reason: &str);
}

impl Canceller {
    /// One that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up every call that is open, and every one that is made later: they end as
    /// [cancelled](windlass::CallError::Cancelled), and the server is told. Subscriptions end, too. Calls that are over
    /// stay as they are.
    pub fn cancel(&self) {
        let calls = {
            let mut state = self.0.lock();
            state.cancelled = true;
            std::mem::take(&mut state.calls)
        };
        for (client, call) in calls.into_values() {
            if let Some(client) = client.upgrade() {
                client.cancel(call, "the caller has cancelled the call");
            }
        }
    }

    /// Whether it has been used.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().cancelled
    }

    /// Starts a call that can be given up from now on.
    pub(crate) fn start(
        &self,
        client: Weak<dyn Cancels>,
        start: impl FnOnce() -> Result<CallId, SendError>,
    ) -> Result<(CallId, Cancellable), Error> {
        // The lock is held until the call is known here, so that it is not missed.
        let mut state = self.0.lock();
        if state.cancelled {
            return Err(Error::Call(CallError::Cancelled));
        }
        let call = start()?;
        let number = state.next;
        state.next += 1;
        state.calls.insert(number, (client, call));
        Ok((call, Cancellable { canceller: self.clone(), number }))
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// A call that its canceller knows of, until this is dropped.
pub(crate) struct Cancellable {
    canceller: Canceller,
    number: u64,
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        let _known = self.canceller.0.lock().calls.remove(&self.number);
    }
}
