//! The token that goes into a machine with a call and comes back with its completion.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use serde::de::DeserializeOwned;
use windlass::client::{ServerNotification, Update, decode};
use windlass::model::{Notice, Progress, ProgressParams, SubscriptionFilter};
use windlass::{CallError, Json, JsonText};

use crate::Error;

/// What waits for a call, of whatever type its result is.
pub trait Completion: Send + Sync {
    /// The call is over. The outcome is decoded at once, because it borrows from the machine.
    fn complete(&self, outcome: Result<JsonText<'_>, CallError>);

    /// Wakes whoever waits. It comes after everything that happened before the completion has been told.
    fn finish(&self);

    /// Something happened to the call; returns what the program's callback is to be told outside.
    fn update(&self, update: Update<'_>) -> Option<(ProgressHandler, ProgressParams)>;
}

/// A call's token.
pub type Token = Arc<dyn Completion>;

/// A callback for progress.
pub type ProgressHandler = Arc<dyn Fn(ProgressParams) + Send + Sync>;

/// Waits for a result of type `O`.
pub(crate) struct Slot<O> {
    decode: Decode<O>,
    on_progress: Option<ProgressHandler>,
    state: Mutex<SlotState<O>>,
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
        Arc::new(Self { decode, on_progress, state: Mutex::new(state) })
    }

    /// The outcome, if it is there.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<O, Error>> {
        let mut state = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, SlotState<O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot<Json> {
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
        self.lock().outcome = Some(outcome);
    }

    fn finish(&self) {
        let mut state = self.lock();
        state.finished = true;
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
    }

    fn update(&self, update: Update<'_>) -> Option<(ProgressHandler, ProgressParams)> {
        let Update::Progress(params) = update else { return None };
        let handler = self.on_progress.clone()?;
        Some((handler, Progress::read(params).ok()?))
    }
}

/// The most notifications that a subscription keeps for a program that does not take them. The oldest go first: a
/// change is told by the newest as well.
const MOST_KEPT: usize = 1024;

/// The most bytes of their messages, except that the newest is kept however large it is: changes are told in a hundred
/// bytes or two, and a server that tells more must not fill the memory.
const MOST_BYTES: usize = 1 << 20;

/// What a subscription receives.
pub(crate) struct Feed {
    state: Mutex<FeedState>,
}

#[derive(Default)]
struct FeedState {
    begun: Option<SubscriptionFilter>,
    /// Each with the bytes of its message.
    kept: VecDeque<(ServerNotification, usize)>,
    bytes: usize,
    /// How many were told and not kept.
    missed: u64,
    outcome: Option<Result<(), CallError>>,
    finished: bool,
    waker: Option<Waker>,
}

impl Feed {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default() })
    }

    /// What the server agreed to, once it has; an error if it ended the subscription before.
    pub(crate) fn poll_begun(&self, context: &mut Context<'_>) -> Poll<Result<SubscriptionFilter, Error>> {
        let mut state = self.lock();
        if let Some(filter) = &state.begun {
            return Poll::Ready(Ok(filter.clone()));
        }
        if state.finished {
            let error = match &state.outcome {
                Some(Err(error)) => error.clone(),
                _ => CallError::InvalidResponse("the server ended the subscription before it began".into()),
            };
            return Poll::Ready(Err(Error::Call(error)));
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The next notification; `None` when the subscription has ended.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<ServerNotification>> {
        let mut state = self.lock();
        if let Some(notification) = state.take() {
            return Poll::Ready(Some(notification));
        }
        if state.finished {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The next notification, if one has come.
    pub(crate) fn take(&self) -> Option<ServerNotification> {
        self.lock().take()
    }

    /// How many notifications nobody took in time.
    pub(crate) fn missed(&self) -> u64 {
        self.lock().missed
    }

    /// How the subscription has ended, once there is nothing left to take.
    pub(crate) fn ended(&self) -> Option<Result<(), Error>> {
        let state = self.lock();
        if !state.finished || !state.kept.is_empty() {
            return None;
        }
        Some(match &state.outcome {
            Some(Err(error)) => Err(Error::Call(error.clone())),
            _ => Ok(()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Completion for Feed {
    fn complete(&self, outcome: Result<JsonText<'_>, CallError>) {
        self.lock().outcome = Some(outcome.map(|_| ()));
    }

    fn finish(&self) {
        let mut state = self.lock();
        state.finished = true;
        wake(&mut state);
    }

    fn update(&self, update: Update<'_>) -> Option<(ProgressHandler, ProgressParams)> {
        let mut state = self.lock();
        match update {
            Update::Subscribed(filter) => state.begun = Some(filter),
            Update::Notification { method, params } => {
                let bytes = params.as_ref().map_or(0, |params| params.as_str().len());
                while state.kept.len() >= MOST_KEPT || (!state.kept.is_empty() && state.bytes + bytes > MOST_BYTES) {
                    state.take();
                    state.missed += 1;
                }
                state.bytes += bytes;
                state.kept.push_back((ServerNotification::read(&method, params), bytes));
            }
            _ => return None,
        }
        wake(&mut state);
        None
    }
}

impl FeedState {
    fn take(&mut self) -> Option<ServerNotification> {
        let (notification, bytes) = self.kept.pop_front()?;
        self.bytes -= bytes;
        Some(notification)
    }
}

fn wake(state: &mut FeedState) {
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(feed: &Feed, bytes: usize) {
        let params = format!(r#"{{"uri":"test://item","_meta":{{"padding":"{}"}}}}"#, "x".repeat(bytes));
        let params = Some(JsonText::parse(&params).unwrap());
        feed.update(Update::Notification { method: "notifications/resources/updated".into(), params });
    }

    fn kept(feed: &Feed) -> usize {
        feed.lock().kept.len()
    }

    #[test]
    fn what_nobody_takes_is_bounded_in_bytes() {
        let feed = Feed::new();
        for _ in 0..100 {
            told(&feed, MOST_BYTES / 4);
        }
        // With what is around the padding, a fourth would be too much.
        assert_eq!((kept(&feed), feed.missed()), (3, 97));
        told(&feed, 2 * MOST_BYTES);
        assert_eq!(kept(&feed), 1, "the newest is kept in any case");
        told(&feed, 0);
        assert_eq!(kept(&feed), 1);
        while feed.take().is_some() {}
        assert_eq!(feed.lock().bytes, 0);
    }

    #[test]
    fn what_nobody_takes_is_bounded_in_number() {
        let feed = Feed::new();
        for _ in 0..MOST_KEPT + 6 {
            told(&feed, 0);
        }
        assert_eq!((kept(&feed), feed.missed()), (MOST_KEPT, 6));
    }
}
