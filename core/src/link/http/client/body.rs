//! From the body of a response to the messages in it.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::codec::sse::{Bounds, EventDecoder, Frame};
use crate::jsonrpc::{Malformed, MalformedKind, salvage};
use crate::limits::Limits;

/// Bytes of the body of an error that are read: a JSON-RPC error with plenty of data.
pub(super) const ERROR_BODY: usize = 64 * 1024;

/// Bytes of a buffer that are kept for the next event.
const SPARE: usize = 16 * 1024;

/// How a body is read.
#[derive(Default)]
pub(super) enum Form {
    /// There is no head yet.
    #[default]
    Unknown,
    /// One message, or a batch of them.
    Json,
    /// A message in each event.
    Events,
    /// The first part is kept, because something is wrong with the response.
    Excerpt,
    /// Nothing is kept.
    Ignored,
}

/// What was found in a body.
pub(super) enum Item {
    /// A message, by its place.
    Text(Range<usize>),
    /// An event with a name of its own, and its data.
    Named(String, Range<usize>),
    /// Something that is too long to be a message.
    Malformed(Malformed),
}

/// A body on its way in. Messages are copied out of it once, so that events can borrow them.
#[derive(Default)]
pub(super) struct Body {
    pub(super) form: Form,
    /// What reads events. It outlives its response, for it knows behind which event to go on.
    decoder: Option<Box<EventDecoder>>,
    /// Bytes of events that are not complete.
    partial: Vec<u8>,
    /// What the items are places in.
    pub(super) texts: Vec<u8>,
    pub(super) items: VecDeque<Item>,
    /// More came than is kept.
    pub(super) overflowed: bool,
    /// There was no memory for it. Then more came than is kept, too.
    pub(super) no_memory: bool,
    /// An event came.
    pub(super) has_event: bool,
    /// A message came that means something.
    pub(super) has_message: bool,
    /// It holds several messages, of which a bad one spoils no other.
    pub(super) is_batch: bool,
}

impl Body {
    /// Begins to read a stream of events, or goes on with one that broke off.
    pub(super) fn read_events(&mut self, limits: &Limits) {
        let decoder = || Box::new(EventDecoder::new(Bounds::for_events_of(limits.message_bytes)));
        // What was cut off comes again as a whole.
        self.decoder.get_or_insert_with(decoder).finish();
        self.form = Form::Events;
    }

    /// Begins to keep the first part of what comes, in place of the stream that was to be gone on with.
    pub(super) fn read_excerpt(&mut self) {
        self.form = Form::Excerpt;
        self.texts.clear();
        self.items.clear();
    }

    /// A body for another response, which may go on with the events of this one.
    pub(super) fn again(self) -> Self {
        Self { decoder: self.decoder, ..Self::default() }
    }

    /// The decoder of a stream of events, if there ever was one.
    pub(super) fn events(&self) -> Option<&EventDecoder> {
        self.decoder.as_deref()
    }

    /// Some bytes have come.
    pub(super) fn feed(&mut self, bytes: &[u8], limits: &Limits) {
        match &self.form {
            Form::Json => self.keep(bytes, limits.message_bytes),
            Form::Excerpt => self.keep(bytes, ERROR_BODY),
            Form::Events => self.feed_events(bytes),
            Form::Unknown | Form::Ignored => {}
        }
    }

    fn keep(&mut self, bytes: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.texts.len());
        self.overflowed |= bytes.len() > room;
        if !extend(&mut self.texts, &bytes[..bytes.len().min(room)]) {
            self.run_out_of_memory();
        }
    }

    /// The peer chose how much it says. What there is no memory for fails its message, and nothing else.
    fn run_out_of_memory(&mut self) {
        (self.overflowed, self.no_memory) = (true, true);
        (self.texts, self.partial) = (Vec::new(), Vec::new());
        self.items.clear();
    }

    fn feed_events(&mut self, bytes: &[u8]) {
        let Some(decoder) = &mut self.decoder else { return };
        if self.items.is_empty() {
            // A stream may be silent for hours behind one large event.
            self.texts.clear();
            self.texts.shrink_to(SPARE);
        }
        // Events that are there as a whole are read where they are; only the rest has to be kept.
        let mut partial = core::mem::take(&mut self.partial);
        let joined = !partial.is_empty();
        if joined && !extend(&mut partial, bytes) {
            return self.run_out_of_memory();
        }
        let mut unread = if joined { &partial[..] } else { bytes };
        loop {
            let (consumed, frame) = decoder.next(unread);
            match frame {
                Some(Frame::Event(event)) => {
                    self.has_event = true;
                    let data = event.data.bytes(unread);
                    // An empty event makes an id known; there is no message in it.
                    if !data.is_empty() {
                        let start = self.texts.len();
                        if !extend(&mut self.texts, data) {
                            return self.run_out_of_memory();
                        }
                        let place = start..self.texts.len();
                        self.items.push_back(match event.name {
                            None => Item::Text(place),
                            Some(name) => Item::Named(name, place),
                        });
                    }
                }
                Some(Frame::Oversized(oversized)) => {
                    let detail = alloc::format!("{} bytes in one event", oversized.length);
                    let malformed = Malformed::new(MalformedKind::TooLong, detail);
                    self.items.push_back(Item::Malformed(salvage(&oversized, malformed)));
                }
                Some(Frame::Endless) => self.overflowed = true,
                None => {
                    let rest = &unread[consumed..];
                    self.partial = if joined {
                        let done = partial.len() - rest.len();
                        partial.drain(..done);
                        partial.shrink_to(SPARE.max(partial.len() * 2));
                        partial
                    } else {
                        let mut kept = Vec::new();
                        if !extend(&mut kept, rest) {
                            return self.run_out_of_memory();
                        }
                        kept
                    };
                    return;
                }
            }
            unread = &unread[consumed..];
        }
    }

    /// The body is complete.
    pub(super) fn end(&mut self) {
        self.partial = Vec::new();
        match self.form {
            Form::Json if !self.overflowed => {
                let text = self.texts.trim_ascii();
                if !text.is_empty() {
                    let start = self.texts.len() - self.texts.trim_ascii_start().len();
                    self.items.push_back(Item::Text(start..start + text.len()));
                }
            }
            Form::Events => {
                self.decoder.as_mut().map(|decoder| decoder.finish());
            }
            _ => {}
        }
    }

    /// What is kept of a body that something is wrong with, as text.
    pub(super) fn excerpt(&self, longest: usize) -> String {
        let bytes = &self.texts[..self.texts.len().min(longest)];
        String::from_utf8_lossy(bytes).trim().chars().filter(|char| !char.is_control() || *char == '\n').collect()
    }
}

/// Appends, if there is memory for it.
fn extend(texts: &mut Vec<u8>, more: &[u8]) -> bool {
    let reserved = texts.try_reserve(more.len()).is_ok();
    if reserved {
        texts.extend_from_slice(more);
    }
    reserved
}
