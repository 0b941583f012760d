//! The token that goes into a machine with a call and comes back with its completion.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde::de::DeserializeOwned;
#[cfg(feature = "client")]
use windlass::client::{Update, decode};
use windlass::model::ProgressParams;
#[cfg(feature = "client")]
use windlass::model::{Notice, Progress};
#[cfg(not(feature = "client"))]
use windlass::server::decode;
use windlass::{CallError, JsonText};

use crate::Error;
use crate::wait::Lock;

/// What waits for a call, of whatever type its result is.
pub trait Completion: Send + Sync {
    /// The call is over. The outcome is decoded at once, because it borrows from the machine.
    fn complete(&self, outcome: Result<JsonText<'_>, CallError>);

    /// Wakes whoever waits. It comes after everything that happened before the completion has been told.
    fn finish(&self);

    /// Something happened to the call; returns what the program's callback is to be told outside.
    #[cfg(feature = "client")]
    fn update(&self, update: Update<'_>) -> Option<(ProgressHandler, ProgressParams)>;
}

/// A call's token.
pub type Token = Arc<dyn Completion>;

/// A callback for progress.
pub type ProgressHandler = Arc<dyn Fn(ProgressParams) + Send + Sync>;

/// Waits for a result of type `O`.
pub(crate) struct Slot<O> {
    decode: Decode<O>,
    #[cfg_attr(not(feature = "client"), allow(dead_code, reason = "calls of a server's own report no progress"))]
    on_progress: Option<ProgressHandler>,
    state: Lock<SlotState<O>>,
}

/// How an outcome becomes a result.
type Decode<O> = fn(Result<JsonText<'_>, CallError>) -> Result<O, CallError>;

struct SlotState<O> {
    outcome: Option<Result<O, CallError>>,
    finished: bool,
    waker: Option<Waker>,
}

impl<O: Send> Slot<O> {
    fn new(decode: Decode<O>, on_progress: Option<ProgressHandler>) -> Arc<Self> {
        let state = SlotState { outcome: None, finished: false, waker: None };
        Arc::new(Self { decode, on_progress, state: Lock::new(state) })
    }

    /// The outcome, if it is there.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<O, Error>> {
        let mut state = self.state.lock();
        if state.finished {
            if let Some(outcome) = state.outcome.take() {
                return Poll::Ready(outcome.map_err(Error::Call));
            }
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

#[cfg(feature = "client")]
impl Slot<windlass::Json> {
    /// Waits for a result as it comes.
    pub(crate) fn raw(on_progress: Option<ProgressHandler>) -> Arc<Self> {
        Self::new(|outcome| outcome.map(|result| result.to_json()), on_progress)
    }
}

impl<O: Send + DeserializeOwned> Slot<O> {
    /// Waits for the result of a method.
    pub(crate) fn of<M: windlass::model::Method<Output = O>>(on_progress: Option<ProgressHandler>) -> Arc<Self> {
        Self::new(decode::<M>, on_progress)
    }
}

#[cfg(feature = "client")]
impl<O: Send + DeserializeOwned> Slot<(O, usize)> {
    /// Waits for a page of a listing, and for how many bytes it had.
    pub(crate) fn page_of<M: windlass::model::Method<Output = O>>(on_progress: Option<ProgressHandler>) -> Arc<Self> {
        let decode_page = |outcome: Result<JsonText<'_>, CallError>| {
            let bytes = outcome.as_ref().map_or(0, |result| result.as_str().len());
            Ok((decode::<M>(outcome)?, bytes))
        };
        Self::new(decode_page, on_progress)
    }
}

impl<O: Send> Completion for Slot<O> {
    fn complete(&self, outcome: Result<JsonText<'_>, CallError>) {
        let outcome = (self.decode)(outcome);
        self.state.lock().outcome = Some(outcome);
    }

    fn finish(&self) {
        let mut state = self.state.lock();
        state.finished = true;
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
    }

    #[cfg(feature = "client")]
    fn update(&self, update: Update<'_>) -> Option<(ProgressHandler, ProgressParams)> {
        let Update::Progress(params) = update else { return None };
        let handler = self.on_progress.clone()?;
        Some((handler, Progress::read(params).ok()?))
    }
}
