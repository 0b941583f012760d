//! From bytes to events.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use super::{Bounds, Data, Event, Frame, Oversized};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Finds events in a growing buffer without searching any byte twice.
///
/// An event that is there as a whole and has one line of data is not copied, however large it is.
///
/// ```
/// use windlass::codec::sse::{Bounds, Data, EventDecoder, Frame};
///
/// let mut decoder = EventDecoder::new(Bounds::default());
/// let unread = b": hello\n\nid: 7\nevent: message\ndata: {\"a\":1}\n\ndata: ";
/// let (consumed, frame) = decoder.next(unread);
/// let Some(Frame::Event(event)) = frame else { panic!("an event is there") };
/// assert_eq!(event.data.bytes(unread), b"{\"a\":1}");
/// assert!(matches!(event.data, Data::Range(_)));
/// assert_eq!(decoder.last_event_id(), "7");
/// assert_eq!(decoder.next(&unread[consumed..]), (0, None));
/// ```
#[derive(Debug)]
pub struct EventDecoder {
    bounds: Bounds,
    /// Bytes of the unread part that are known to hold no line end.
    scanned: usize,
    /// A byte order mark may come.
    at_start: bool,
    /// The last line ended with CR: an LF at once belongs to it.
    after_return: bool,
    /// The line being read is too long to wait for its end.
    skipping: Option<Skipping>,
    /// Bytes of that line that are gone already.
    skipped: usize,
    /// There was no end of something.
    endless: bool,
    block: Block,
    last_event_id: String,
    retry: Option<Duration>,
}

/// The lines since the last blank one.
#[derive(Debug, Default)]
struct Block {
    /// Bytes of the lines that were read, without comments and without the names of fields that hold data.
    bytes: usize,
    name: String,
    /// Takes effect with the block's end.
    id: Option<String>,
    /// Lines of data that are no longer in the unread part.
    data: Option<Vec<u8>>,
    /// There is too much of something. Holds what is known of the data.
    oversized: Option<Oversized>,
}

/// What is done with the rest of a line that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipping {
    /// It is data: its length and its end are kept.
    Data,
    Comment,
    Other,
}

impl EventDecoder {
    /// A decoder for a stream that begins.
    pub fn new(bounds: Bounds) -> Self {
        let bounds = Bounds { line_bytes: bounds.line_bytes.max(Bounds::LEAST_LINE), ..bounds };
        Self {
            bounds,
            scanned: 0,
            at_start: true,
            after_return: false,
            skipping: None,
            skipped: 0,
            endless: false,
            block: Block::default(),
            last_event_id: String::new(),
            retry: None,
        }
    }

    /// Looks for the next frame in `unread`: the bytes that were not consumed yet, with any new ones behind them.
    /// Returns how many bytes are done with, and the frame. Bytes that were consumed must not be given again.
    pub fn next(&mut self, unread: &[u8]) -> (usize, Option<Frame>) {
        if self.endless {
            return (unread.len(), None);
        }
        let mut consumed = 0;
        // The block's only line of data, while it is in `unread`.
        let mut held = None;
        loop {
            consumed += self.skip_invisible(&unread[consumed..]);
            let rest = &unread[consumed..];
            let Some(found) = memchr::memchr2(b'\n', b'\r', rest.get(self.scanned..).unwrap_or_default()) else {
                if let Some(held) = held {
                    self.block.add_data(&unread[held], &self.bounds);
                }
                // What a line weighs is not known before its field is.
                let is_known = self.skipping.is_some() || rest.len() >= Bounds::LEAST_LINE;
                if is_known && self.is_endless(self.weight(rest)) {
                    return (unread.len(), Some(self.end_here()));
                }
                return (consumed + self.wait_for_more(rest), None);
            };
            let line = consumed..consumed + self.scanned + found;
            let is_blank = line.is_empty() && self.skipping.is_none();
            if !is_blank && !self.weigh(&unread[line.clone()]) {
                return (unread.len(), Some(self.end_here()));
            }
            self.scanned = 0;
            self.after_return = unread[line.end] == b'\r';
            consumed = line.end + 1;
            if self.skip_end_of_line(&unread[line.clone()]) {
                continue;
            }
            if line.is_empty() {
                if let Some(frame) = self.end_of_block(held.take()) {
                    return (consumed, Some(frame));
                }
                continue;
            }
            self.line(unread, line, &mut held);
        }
    }

    /// The stream has ended: what is not complete is dropped. Returns whether there was nothing to drop.
    ///
    /// The decoder is then ready for the stream that resumes this one; the last id and the retry time are kept.
    pub fn finish(&mut self) -> bool {
        let clean = self.scanned == 0 && self.skipping.is_none() && self.block.is_empty() && !self.endless;
        self.scanned = 0;
        self.at_start = true;
        self.after_return = false;
        self.skipping = None;
        self.skipped = 0;
        self.endless = false;
        self.block = Block::default();
        clean
    }

    /// The id of the last block that had one, be it an event or not; empty if there is none. To be sent as
    /// `Last-Event-ID` to resume.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// How long the server wants to be left alone before the client connects again, if it ever said so.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Bytes before a line that are not part of it: the byte order mark, and the second half of a CRLF.
    fn skip_invisible(&mut self, rest: &[u8]) -> usize {
        if self.at_start && !rest.is_empty() {
            // Half a mark is looked at again when the rest of it is there.
            self.at_start = BYTE_ORDER_MARK.starts_with(rest) && rest != BYTE_ORDER_MARK;
            if rest.starts_with(BYTE_ORDER_MARK) {
                self.scanned = 0;
                return BYTE_ORDER_MARK.len();
            }
        } else if let Some(first) = rest.first() {
            return usize::from(core::mem::take(&mut self.after_return) && *first == b'\n');
        }
        0
    }

    /// Whether a line, or the beginning of one, is too much to go on with.
    fn is_endless(&self, weight: usize) -> bool {
        self.block.bytes.saturating_add(weight) > self.bounds.skipped_bytes
    }

    /// Counts a complete line, if it is not too much. Comments are free: they come for hours when there is nothing to
    /// tell.
    fn weigh(&mut self, line: &[u8]) -> bool {
        let weight = self.weight(line);
        if self.is_endless(weight) {
            return false;
        }
        let is_comment = self.skipping.map_or(line.starts_with(b":"), |skipping| skipping == Skipping::Comment);
        if !is_comment {
            self.block.bytes += weight + 1;
        }
        true
    }

    /// Bytes of a line, or of its beginning. For data it is the value that counts, as it does for the event's own bound.
    fn weight(&self, line: &[u8]) -> usize {
        if self.skipping.is_some() {
            return self.skipped.saturating_add(line.len());
        }
        let (name, value) = field(line, 0..line.len());
        if &line[name] == b"data" { value.len() } else { line.len() }
    }

    /// The stream is of no use any more, but another may go on behind what was too much.
    fn end_here(&mut self) -> Frame {
        let block = core::mem::take(&mut self.block);
        if let Some(id) = block.id {
            self.last_event_id = id;
        }
        self.endless = true;
        Frame::Endless
    }

    /// A complete line that is not blank.
    fn line(&mut self, unread: &[u8], line: Range<usize>, held: &mut Option<Range<usize>>) {
        let (name, value) = field(unread, line.clone());
        let too_long = line.len() > self.bounds.line_bytes;
        match &unread[name] {
            b"data" => {
                let fits = value.len() <= self.bounds.event_bytes && !too_long && self.block.oversized.is_none();
                if fits && held.is_none() && self.block.data.is_none() {
                    *held = Some(value);
                    return;
                }
                if let Some(held) = held.take() {
                    self.block.add_data(&unread[held], &self.bounds);
                }
                if too_long {
                    self.block.give_up();
                }
                self.block.add_data(&unread[value], &self.bounds);
            }
            b"event" | b"id" if too_long || value.len() > self.bounds.name_bytes => {
                if let Some(held) = held.take() {
                    self.block.add_data(&unread[held], &self.bounds);
                }
                self.block.give_up();
            }
            b"event" => self.block.name = String::from_utf8_lossy(&unread[value]).into_owned(),
            b"id" if memchr::memchr(0, &unread[value.clone()]).is_none() => {
                self.block.id = Some(String::from_utf8_lossy(&unread[value]).into_owned());
            }
            b"retry" if !too_long => self.retry = milliseconds(&unread[value]).or(self.retry),
            _ => {}
        }
    }

    /// A blank line.
    fn end_of_block(&mut self, held: Option<Range<usize>>) -> Option<Frame> {
        let block = core::mem::take(&mut self.block);
        if let Some(id) = block.id {
            self.last_event_id = id;
        }
        if let Some(oversized) = block.oversized {
            return Some(Frame::Oversized(oversized));
        }
        let data = held.map(Data::Range).or(block.data.map(Data::Joined))?;
        let name = Some(block.name).filter(|name| !name.is_empty() && name != "message");
        Some(Frame::Event(Event { name, data }))
    }

    /// No line end yet: remembers how far it looked, and begins to skip when the line cannot fit any more.
    fn wait_for_more(&mut self, rest: &[u8]) -> usize {
        if self.skipping.is_none() && rest.len() <= self.bounds.line_bytes {
            self.scanned = rest.len();
            return 0;
        }
        self.scanned = 0;
        self.skipped = self.weight(rest);
        if self.skipping.is_some() {
            self.skip(rest);
            return rest.len();
        }
        let (name, value) = field(rest, 0..rest.len());
        self.skipping = Some(match &rest[name] {
            b"data" => {
                self.block.give_up();
                self.block.add_data(&rest[value], &self.bounds);
                Skipping::Data
            }
            b"event" | b"id" => {
                self.block.give_up();
                Skipping::Other
            }
            b"" => Skipping::Comment,
            _ => Skipping::Other,
        });
        rest.len()
    }

    /// Whether the line that ends with `rest` was being skipped.
    fn skip_end_of_line(&mut self, rest: &[u8]) -> bool {
        let skipping = self.skipping.is_some();
        if skipping {
            self.skip(rest);
            self.skipping = None;
            self.skipped = 0;
        }
        skipping
    }

    fn skip(&mut self, more: &[u8]) {
        if let (Some(Skipping::Data), Some(oversized)) = (self.skipping, &mut self.block.oversized) {
            oversized.extend(more);
        }
    }
}

impl Block {
    fn is_empty(&self) -> bool {
        self.name.is_empty() && self.id.is_none() && self.data.is_none() && self.oversized.is_none()
    }

    /// Adds a line of data. Copies it: it was not the only one, or the unread part is about to move.
    fn add_data(&mut self, line: &[u8], bounds: &Bounds) {
        if let Some(data) = &mut self.data {
            // The newline counts, so that many empty lines are not free.
            let fits = data.len().saturating_add(line.len()) < bounds.event_bytes;
            // What there is no memory for is too much, too.
            if !fits || data.try_reserve(line.len() + 1).is_err() {
                self.give_up();
            }
        } else if line.len() > bounds.event_bytes {
            self.give_up();
        }
        if let Some(oversized) = &mut self.oversized {
            // Whether a line came before is known by its length only; an empty first line is not worth a flag.
            if oversized.length > 0 {
                oversized.extend(b"\n");
            }
            oversized.extend(line);
            return;
        }
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(line);
            }
            None => {
                let mut data = Vec::new();
                if data.try_reserve_exact(line.len()).is_err() {
                    self.give_up();
                    return self.add_data(line, bounds);
                }
                data.extend_from_slice(line);
                self.data = Some(data);
            }
        }
    }

    /// There is too much of something: keeps of the data what is reported.
    fn give_up(&mut self) {
        let oversized = self.oversized.get_or_insert_with(|| Oversized::of(b""));
        if let Some(data) = self.data.take() {
            oversized.extend(&data);
        }
    }
}

/// The name and the value of a line. A line without a colon is a name with an empty value.
fn field(unread: &[u8], line: Range<usize>) -> (Range<usize>, Range<usize>) {
    // No name that counts is longer than `event` or `retry`, so a long line is not searched for its colon.
    let start = &unread[line.start..line.end.min(line.start + Bounds::LEAST_LINE)];
    match memchr::memchr(b':', start) {
        Some(colon) => {
            let colon = line.start + colon;
            let blank = usize::from(unread[colon + 1..line.end].first() == Some(&b' '));
            (line.start..colon, colon + 1 + blank..line.end)
        }
        None => (line.clone(), line.end..line.end),
    }
}

/// Digits only; a number beyond all reason is a very long time.
fn milliseconds(digits: &[u8]) -> Option<Duration> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(Duration::from_millis(digits.iter().fold(0, add)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_searched_once_however_it_arrives() {
        let input = alloc::format!("data: {}\n\n", "x".repeat(5000));
        let mut decoder = EventDecoder::new(Bounds::default());
        for end in 0..input.len() - 2 {
            assert_eq!(decoder.next(&input.as_bytes()[..end]), (0, None));
            // The next search begins here: the bytes stay, but are not looked at again.
            assert_eq!(decoder.scanned, end);
        }
        let data = Data::Range(6..5006);
        assert_eq!(decoder.next(input.as_bytes()), (input.len(), Some(Frame::Event(Event { name: None, data }))));
        assert_eq!(decoder.scanned, 0);
    }

    #[test]
    fn a_line_too_long_is_not_kept() {
        let mut decoder = EventDecoder::new(Bounds::for_events_of(100));
        let piece = [b'x'; 50];
        assert_eq!(decoder.next(b"data: "), (0, None));
        assert_eq!(decoder.next(&[&b"data: "[..], &[b'x'; 111]].concat()), (117, None));
        for _ in 0..100 {
            assert_eq!(decoder.next(&piece), (50, None));
        }
        assert!(matches!(decoder.next(b"\n\n"), (2, Some(Frame::Oversized(oversized))) if oversized.length == 5111));
    }
    #[test]
    fn a_line_that_is_too_long_says_nothing_however_it_comes() {
        let line = alloc::format!("retry: {}7\n", "0".repeat(2000));
        for piece in [1, 100, line.len()] {
            let mut decoder = EventDecoder::new(Bounds::for_events_of(100));
            let (mut unread, mut rest) = (alloc::vec::Vec::new(), line.as_bytes());
            while !rest.is_empty() {
                let (next, left) = rest.split_at(piece.min(rest.len()));
                unread.extend_from_slice(next);
                let (consumed, frame) = decoder.next(&unread);
                assert_eq!(frame, None);
                unread.drain(..consumed);
                rest = left;
            }
            assert_eq!(decoder.retry(), None, "in pieces of {piece}");
            assert_eq!(decoder.next(b"retry: 7\n"), (9, None));
            assert_eq!(decoder.retry(), Some(Duration::from_millis(7)));
        }
    }
}
