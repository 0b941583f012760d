//! What a subscription has received and the program has not taken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use windlass::client::{ServerNotification, Update};
use windlass::model::{ProgressParams, SubscriptionFilter};
use windlass::{CallError, JsonText};

use crate::Error;
use crate::handles::completion::{Completion, ProgressHandler};
use crate::wait::Lock;

/// The most notifications that a subscription keeps for a program that does not take them. The oldest go first: a
/// change is told by the newest as well.
const MOST_KEPT: usize = 1024;

/// The most bytes of their messages, except that the newest is kept however large it is: changes are told in a hundred
/// bytes or two, and a server that tells more must not fill the memory.
const MOST_BYTES: usize = 1 << 20;

/// What a subscription receives.
pub(crate) struct Feed {
    state: Lock<FeedState>,
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
        Arc::new(Self { state: Lock::default() })
    }

    /// What the server agreed to, once it has; an error if it ended the subscription before.
    pub(crate) fn poll_begun(&self, context: &mut Context<'_>) -> Poll<Result<SubscriptionFilter, Error>> {
        let mut state = self.state.lock();
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
        let mut state = self.state.lock();
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
        self.state.lock().take()
    }

    /// How many notifications nobody took in time.
    pub(crate) fn missed(&self) -> u64 {
        self.state.lock().missed
    }

    /// How the subscription has ended, once there is nothing left to take.
    pub(crate) fn ended(&self) -> Option<Result<(), Error>> {
        let state = self.state.lock();
        if !state.finished || !state.kept.is_empty() {
            return None;
        }
        Some(match &state.outcome {
            Some(Err(error)) => Err(Error::Call(error.clone())),
            _ => Ok(()),
        })
    }
}

impl Completion for Feed {
    fn complete(&self, outcome: Result<JsonText<'_>, CallError>) {
        self.state.lock().outcome = Some(outcome.map(|_| ()));
    }

    fn finish(&self) {
        let mut state = self.state.lock();
        state.finished = true;
        wake(&mut state);
    }

    fn update(&self, update: Update<'_>) -> Option<(ProgressHandler, ProgressParams)> {
        let mut state = self.state.lock();
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
        feed.state.lock().kept.len()
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
        assert_eq!(feed.state.lock().bytes, 0);
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
