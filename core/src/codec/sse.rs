//! Server-sent events: the event stream of the WHATWG HTML standard (section 9.2), both directions.
//!
//! Accepted on reading: a byte order mark at the start; LF, CR and CRLF as line ends, also split between two reads;
//! comments; `data` on any number of lines; `event`, `id` and `retry`; fields that nobody knows; fields without a colon.
//! As the standard has it, an event that the stream's end cuts off is none, and neither is a block without `data`. A
//! block with an empty `data` is an event, though: servers send one to make an `id` known before there is anything to
//! tell.
//!
//! What blocks leave behind whether they are events or not, the last id and the time to wait before reconnecting, is
//! the decoder's to tell: [`EventDecoder::last_event_id`] and [`EventDecoder::retry`].
//!
//! In two things the standard is not followed to the letter. The data is given out as the bytes that came: what they
//! mean is for the reader to say, and a reader of JSON refuses what is not UTF-8. (In names and ids, bytes that are not
//! UTF-8 become U+FFFD as they should.) And an event beyond the [`Bounds`] is skipped to its end and reported; the events
//! after it are read as usual. One whose end does not come within [`Bounds::skipped_bytes`] has none, and is the last.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

pub use super::ndjson::Oversized;
pub use decode::EventDecoder;
pub use encode::{Unsendable, write_comment, write_event, write_priming_event, write_retry};

/// How much a decoder puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Bytes of one line of data, name or id, without its line end. As a line is kept until it is complete, the read
    /// buffer has to hold one byte more than this. By default a little more than an event in a single line needs. Below
    /// [`Bounds::LEAST_LINE`] it counts as that.
    pub line_bytes: usize,
    /// Bytes of the data of one event, with the newlines between its lines. 16 MiB is what a message on any other
    /// transport may have.
    pub event_bytes: usize,
    /// Bytes of a name or id. An id has to fit into a header when the stream is resumed.
    pub name_bytes: usize,
    /// Bytes of everything between two blank lines but comments, and of any line: what is beyond the other bounds, or
    /// means nothing, is skipped up to here. By default twice what an event may need, so that one that is merely too
    /// long is told from one that never ends.
    pub skipped_bytes: usize,
}

impl Bounds {
    /// The line bound that is always put up with: the name of a field must be seen to know whether a line means anything.
    pub const LEAST_LINE: usize = 16;

    /// Bounds for events with data of up to `event_bytes`.
    pub fn for_events_of(event_bytes: usize) -> Self {
        let name_bytes = 4 * 1024;
        let skipped_bytes = event_bytes.saturating_add(2 * name_bytes).saturating_mul(2);
        Self { line_bytes: event_bytes.saturating_add(Self::LEAST_LINE), event_bytes, name_bytes, skipped_bytes }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::for_events_of(16 * 1024 * 1024)
    }
}

/// What [`EventDecoder::next`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event.
    Event(Event),
    /// An event beyond the [`Bounds`] has ended. Of its data the length and both ends are known; its id and retry time
    /// count.
    Oversized(Oversized),
    /// An event, or a line, has no end within [`Bounds::skipped_bytes`]. Its id counts, if it came already. Nothing more
    /// is read until [`EventDecoder::finish`].
    Endless,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name; none for `message`, which is what an event without a name is called.
    pub name: Option<String>,
    /// Its data, maybe empty.
    pub data: Data,
}

/// The data of an [`Event`]: where it is, or itself if its lines had to be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// A range of the bytes that were given.
    Range(Range<usize>),
    /// Several lines with newlines between them, or a line whose event was cut by a read.
    Joined(Vec<u8>),
}

impl Data {
    /// The bytes of the data. `unread` is what was given to [`EventDecoder::next`].
    pub fn bytes<'a>(&'a self, unread: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Range(range) => unread.get(range.clone()).unwrap_or_default(),
            Self::Joined(bytes) => bytes,
        }
    }
}
