//! Events, from the moment that they are known until they are given out.
//!
//! An event borrows its JSON from the body that it came in, and while it is borrowed nothing else can go on. So it names
//! its JSON by its place until there is nothing else to do.

use core::ops::Range;

use super::exchanges::Exchanges;
use super::open::OpenExchanges;
use crate::client::{ClientEvent, Event};
use crate::json::{Json, JsonText};

/// Where the JSON of an event is.
pub(super) enum Held {
    /// With the event.
    Own(Json),
    /// In the body of an exchange.
    In(Place),
}

/// A text in the body of an exchange.
pub(super) struct Place {
    exchange: u32,
    pub(super) range: Range<usize>,
}

impl<T> Exchanges<T> {
    /// Keeps an event until it is given out. One for a call that is over by now is dropped.
    pub(super) fn prepare(&mut self, event: Event<'static, T, Held>) {
        debug_assert!(self.event.is_none(), "one event at a time");
        if event.open_call().is_none_or(|call| self.client.token(call).is_some()) {
            self.event = Some(event);
        }
    }

    pub(super) fn has_event(&self) -> bool {
        self.event.is_some()
    }

    /// The event that was prepared; none if it is for a call that is over by now.
    pub(super) fn take_event(&mut self) -> Option<ClientEvent<'_, T>> {
        let Self { event, borrowed, open, client, .. } = self;
        let open: &OpenExchanges = open;
        let event = event.take()?.hold(|held| match held {
            Held::Own(json) => borrowed.insert(json).as_text(),
            Held::In(place) => place.text(open),
        });
        event.for_program(client)
    }
}

impl Place {
    /// Where `text`, which was read from `texts` of an exchange, lies in it.
    pub(super) fn of(text: JsonText<'_>, exchange: u32, texts: &[u8]) -> Self {
        let start = (text.as_str().as_ptr() as usize).saturating_sub(texts.as_ptr() as usize);
        Self { exchange, range: start..start + text.as_str().len() }
    }

    fn text(self, open: &OpenExchanges) -> JsonText<'_> {
        let texts = open.get(self.exchange).map(|exchange| &exchange.body.texts[..]).unwrap_or_default();
        let text = texts.get(self.range).and_then(|text| core::str::from_utf8(text).ok());
        debug_assert!(text.is_some(), "the text of an event stays until the event is given out");
        text.map_or(JsonText::EMPTY_OBJECT, JsonText::trusted)
    }
}
