//! Events, from the moment that they are known until they are lent.
//!
//! An event borrows its JSON from the body that it came in, and while it is lent nothing else can go on. So it is
//! prepared first, with what it borrows named by its place, and lent when there is nothing else to do.

use alloc::boxed::Box;
use alloc::string::String;
use core::ops::Range;

use super::exchange::Exchange;
use super::exchanges::Exchanges;
use crate::client::{CallId, ClientEvent, Queued, Step, Update};
use crate::error::CloseReason;
use crate::json::JsonText;
use crate::table::Table;

/// An event that is known but not lent yet: the bytes that it borrows are named by their place.
pub(super) enum Prepared<T> {
    Queued(Queued<T>),
    Completed { call: CallId, token: T, place: Place },
    Progress { call: CallId, place: Place },
    Told { call: CallId, method: String, params: Option<Place> },
    Notification { method: String, params: Option<Place> },
    Closed(CloseReason),
}

/// A text in the body of an exchange.
#[derive(Clone, Debug)]
pub(super) struct Place {
    exchange: u64,
    pub(super) range: Range<usize>,
}

impl<T> Exchanges<T> {
    pub(super) fn prepare(&mut self, prepared: Prepared<T>) {
        debug_assert!(self.prepared.is_none(), "one event at a time");
        let about = match &prepared {
            Prepared::Progress { call, .. } | Prepared::Told { call, .. } => Some(*call),
            Prepared::Queued(Queued::Update { call, .. } | Queued::Told { call, .. }) => Some(*call),
            _ => None,
        };
        // The call may have ended between the update and now: there is nobody to tell.
        if about.is_none_or(|call| self.client.token(call).is_some()) {
            self.prepared = Some(prepared);
        }
    }

    /// Prepares what borrows nothing. If there is an event already, it waits for its turn.
    pub(super) fn prepare_owned(&mut self, step: Step<'_, T>) {
        let Step::Event(ClientEvent::Completed { call, token, outcome: Err(error) }) = step else {
            debug_assert!(false, "an error completes a call");
            return;
        };
        self.client.report(Queued::Done { call, token, outcome: Err(error) });
    }

    pub(super) fn has_event(&self) -> bool {
        self.prepared.is_some()
    }

    /// The event that was prepared; none for an update of a call that has ended.
    pub(super) fn event(&mut self) -> Option<ClientEvent<'_, T>> {
        let Self { prepared, lent, exchanges, client, .. } = self;
        let exchanges: &Table<u64, Box<Exchange>> = exchanges;
        let text = |place: Place| place.text(exchanges);
        let update = |call, update| client.token(call).map(|token| ClientEvent::Update { call, token, update });
        match prepared.take()? {
            Prepared::Queued(queued) => match queued.lend(lent) {
                Step::Event(event) => Some(event),
                Step::Update { call, update: what } => update(call, what),
            },
            Prepared::Completed { call, token, place } => {
                Some(ClientEvent::Completed { call, token, outcome: Ok(text(place)) })
            }
            Prepared::Progress { call, place } => update(call, Update::Progress(text(place))),
            Prepared::Told { call, method, params } => {
                update(call, Update::Notification { method: method.into(), params: params.map(text) })
            }
            Prepared::Notification { method, params } => {
                Some(ClientEvent::Notification { method: method.into(), params: params.map(text) })
            }
            Prepared::Closed(reason) => Some(ClientEvent::Closed(reason)),
        }
    }
}

impl Place {
    /// Where `text`, which was read from `texts` of an exchange, lies in it.
    pub(super) fn of(text: JsonText<'_>, exchange: u64, texts: &[u8]) -> Self {
        let start = (text.as_str().as_ptr() as usize).saturating_sub(texts.as_ptr() as usize);
        Self { exchange, range: start..start + text.as_str().len() }
    }

    fn text(self, exchanges: &Table<u64, Box<Exchange>>) -> JsonText<'_> {
        let texts = exchanges.get(&self.exchange).map(|exchange| &exchange.body.texts[..]).unwrap_or_default();
        let text = texts.get(self.range).and_then(|text| core::str::from_utf8(text).ok());
        debug_assert!(text.is_some(), "the text of an event stays until the event is lent");
        text.map_or(JsonText::EMPTY_OBJECT, JsonText::trusted)
    }
}

/// The event of a step, with what it borrows named by its place.
pub(super) fn prepared<T>(step: Step<'_, T>, id: u64, texts: &[u8]) -> Prepared<T> {
    let place = |text| Place::of(text, id, texts);
    match step {
        Step::Update { call, update } => match update {
            Update::Progress(progress) => Prepared::Progress { call, place: place(progress) },
            Update::Notification { method, params } => {
                Prepared::Told { call, method: method.into_owned(), params: params.map(place) }
            }
            Update::Subscribed(filter) => Prepared::Queued(Queued::Update { call, update: Update::Subscribed(filter) }),
        },
        Step::Event(event) => Prepared::Queued(match event {
            ClientEvent::Completed { call, token, outcome: Ok(result) } => {
                return Prepared::Completed { call, token, place: place(result) };
            }
            ClientEvent::Notification { method, params } => {
                return Prepared::Notification { method: method.into_owned(), params: params.map(place) };
            }
            ClientEvent::Completed { call, token, outcome: Err(error) } => {
                Queued::Done { call, token, outcome: Err(error) }
            }
            ClientEvent::Ready(peer) => Queued::Ready(peer),
            ClientEvent::Update { .. } => unreachable!("updates are steps of their own"),
            ClientEvent::Input { reply, request } => Queued::Input { reply, request },
            ClientEvent::InputCancelled(key) => Queued::InputCancelled(key),
            ClientEvent::Malformed(malformed) => Queued::Malformed(malformed),
            ClientEvent::Renewed(peer) => Queued::Renewed(peer),
            ClientEvent::ToolLeftOut { name, reason } => Queued::ToolLeftOut { name, reason },
            ClientEvent::Challenged { reply, challenge } => Queued::Challenged { reply, challenge },
            ClientEvent::NotDelivered(error) => Queued::NotDelivered(error),
            ClientEvent::Closed(reason) => return Prepared::Closed(reason),
        }),
    }
}
