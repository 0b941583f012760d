//! Newline-delimited JSON: one message per line.
//!
//! Accepted on reading: `\n` and `\r\n`, blank lines, white space around a line, a UTF-8 byte order mark at the start,
//! lines split anywhere, many lines in one read, and a last line without its newline at the end of the stream.
//! A line beyond the limit is skipped to its end and reported; the lines after it are read as usual.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

/// How much of the start and of the end of an oversized line is kept: enough to find its id, which writers put first
/// or last.
const EXCERPT: usize = 256;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Finds lines in a growing buffer without looking at any byte twice.
///
/// ```
/// use windlass::codec::ndjson::{Frame, LineDecoder};
///
/// let mut decoder = LineDecoder::new(1024);
/// let bytes = b"{\"a\":1}\r\n\n{\"b\"";
/// let (used, frame) = decoder.next(bytes);
/// let Some(Frame::Line(line)) = frame else { panic!("a line is there") };
/// assert_eq!(&bytes[line], b"{\"a\":1}");
/// assert!(decoder.next(&bytes[used..]).1.is_none());
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    /// Bytes of the unread part that are known to hold no newline.
    scanned: usize,
    at_start: bool,
    oversized: Option<Box<Oversized>>,
}

/// What [`LineDecoder::next`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line that is not blank, as a range of the bytes given, without the white space around it.
    Line(Range<usize>),
    /// A line beyond the limit has ended.
    Oversized(Oversized),
}

/// What is known of a line that was too long to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Oversized {
    /// Its length in bytes.
    pub length: u64,
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes.
    pub tail: Vec<u8>,
}

impl LineDecoder {
    /// A decoder for lines of at most `limit` bytes, not counting the newline.
    pub fn new(limit: usize) -> Self {
        Self { limit, scanned: 0, at_start: true, oversized: None }
    }

    /// Looks for the next frame in `unread`: the bytes that were not consumed yet, with any new ones behind them.
    /// Returns how many bytes are done with, and the frame. Bytes that were consumed must not be given again.
    pub fn next(&mut self, unread: &[u8]) -> (usize, Option<Frame>) {
        let mut consumed = 0;
        if unread.is_empty() {
            return (0, None);
        }
        loop {
            let rest = &unread[consumed..];
            let Some(found) = memchr::memchr(b'\n', rest.get(self.scanned..).unwrap_or_default()) else {
                return (consumed + self.wait_for_more(rest), None);
            };
            let length = self.scanned + found;
            self.scanned = 0;
            let line = consumed..consumed + length;
            consumed += length + 1;
            if let Some(frame) = self.end_of_line(unread, line) {
                return (consumed, Some(frame));
            }
        }
    }

    /// The stream has ended: what is left in `unread` is a last line without its newline.
    pub fn finish(&mut self, unread: &[u8]) -> Option<Frame> {
        self.scanned = 0;
        self.end_of_line(unread, 0..unread.len())
    }

    /// A complete line: a frame, unless it is blank.
    fn end_of_line(&mut self, unread: &[u8], line: Range<usize>) -> Option<Frame> {
        if let Some(mut oversized) = self.oversized.take() {
            oversized.extend(&unread[line]);
            return Some(Frame::Oversized(*oversized));
        }
        if unread[line.clone()].strip_suffix(b"\r").map_or(line.len(), <[u8]>::len) > self.limit {
            self.at_start = false;
            return Some(Frame::Oversized(Oversized::of(&unread[line])));
        }
        let mut text = &unread[line.clone()];
        if core::mem::take(&mut self.at_start) {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        let end = line.start + line.len() - (text.len() - text.trim_ascii_end().len());
        let text = text.trim_ascii();
        if text.is_empty() { None } else { Some(Frame::Line(end - text.len()..end)) }
    }

    /// No newline yet: remembers how far it looked, and begins to skip when the line cannot fit any more.
    fn wait_for_more(&mut self, rest: &[u8]) -> usize {
        // One byte of grace: the `\r` of a line that just fits.
        if self.oversized.is_some() || rest.len() > self.limit + 1 {
            return self.skip(rest);
        }
        self.scanned = rest.len();
        0
    }

    /// What has come of a line is dropped, and the rest of it is skipped: it is too long to be kept. Returns how many
    /// bytes are done with.
    pub(crate) fn skip(&mut self, rest: &[u8]) -> usize {
        match &mut self.oversized {
            Some(oversized) => oversized.extend(rest),
            none => *none = Some(Box::new(Oversized::of(rest))),
        }
        self.at_start = false;
        self.scanned = 0;
        rest.len()
    }
}

impl Oversized {
    #[cfg(test)]
    pub(crate) fn excerpts(head: &[u8], tail: &[u8]) -> Self {
        Self { length: 0, head: head.to_vec(), tail: tail.to_vec() }
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut oversized = Self { length: 0, head: Vec::new(), tail: Vec::new() };
        oversized.extend(bytes);
        oversized
    }

    pub(crate) fn extend(&mut self, more: &[u8]) {
        self.length += more.len() as u64;
        let missing = EXCERPT.saturating_sub(self.head.len());
        self.head.extend_from_slice(&more[..more.len().min(missing)]);
        self.tail.extend_from_slice(&more[more.len().saturating_sub(EXCERPT)..]);
        let surplus = self.tail.len().saturating_sub(EXCERPT);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use quickcheck::quickcheck;

    /// Feeds `chunks` one after the other, as a driver does, and collects what comes out.
    fn decode<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<Vec<u8>, Oversized>> {
        let mut decoder = LineDecoder::new(limit);
        let mut unread = Vec::new();
        let mut frames = Vec::new();
        let mut keep = |frame, bytes: &[u8]| match frame {
            Frame::Line(range) => frames.push(Ok(bytes[range].to_vec())),
            Frame::Oversized(oversized) => frames.push(Err(oversized)),
        };
        for chunk in chunks {
            unread.extend_from_slice(chunk);
            loop {
                let (consumed, frame) = decoder.next(&unread);
                let done = frame.is_none();
                if let Some(frame) = frame {
                    keep(frame, &unread);
                }
                unread.drain(..consumed);
                if done {
                    break;
                }
            }
        }
        if let Some(frame) = decoder.finish(&unread) {
            keep(frame, &unread);
        }
        frames
    }

    fn lines(input: &str) -> Vec<String> {
        decode(1024, [input.as_bytes()]).into_iter().map(|line| String::from_utf8(line.unwrap()).unwrap()).collect()
    }

    #[test]
    fn line_endings_blank_lines_and_white_space() {
        assert_eq!(lines("\u{feff}{\"a\":1}\r\n\r\n  \t\n {} \n[1]"), ["{\"a\":1}", "{}", "[1]"]);
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_start_only() {
        assert_eq!(lines("1\n\u{feff}2\n"), ["1", "\u{feff}2"]);
    }

    #[test]
    fn an_oversized_line_spoils_no_other() {
        let long = "x".repeat(2000);
        let input = alloc::format!("1\n{long}\n2\n");
        let frames = decode(1000, [input.as_bytes()]);
        assert_eq!(frames[0], Ok(b"1".to_vec()));
        let Err(oversized) = &frames[1] else { panic!("the long line is reported") };
        assert_eq!((oversized.length, oversized.head.len(), oversized.tail.len()), (2000, EXCERPT, EXCERPT));
        assert_eq!(frames[2], Ok(b"2".to_vec()));
    }

    #[test]
    fn a_line_at_the_limit_fits() {
        for (length, fits) in [(9, true), (10, true), (11, false)] {
            let line = "x".repeat(length);
            let whole = decode(10, [alloc::format!("{line}\n").as_bytes()]);
            assert_eq!(whole.len(), 1);
            assert_eq!(whole[0].is_ok(), fits, "{length}");
        }
    }

    #[test]
    fn a_line_is_searched_once_however_it_arrives() {
        let mut line = alloc::format!("{{\"a\":\"{}\"}}\n", "x".repeat(5000)).into_bytes();
        let mut decoder = LineDecoder::new(line.len());
        for end in 1..line.len() {
            assert_eq!(decoder.next(&line[..end]), (0, None));
            // The next search begins here. What lies before is not looked at again: a newline there is not found.
            assert_eq!(decoder.scanned, end);
            if end > 1 {
                line[end - 1] = b'\n';
            }
        }
        assert_eq!(decoder.next(&line), (line.len(), Some(Frame::Line(0..1))), "the rest is white space by now");
        assert_eq!(decoder.scanned, 0);
        // What is too long to keep is done with as it comes, so that nobody can look at it again.
        let mut decoder = LineDecoder::new(10);
        assert_eq!(decoder.next(&[b'x'; 11]), (0, None));
        assert_eq!(decoder.next(&[b'x'; 12]), (12, None));
        for _ in 0..5000 {
            assert_eq!((decoder.next(b"x"), decoder.scanned), ((1, None), 0));
        }
        assert!(matches!(decoder.next(b"\n"), (1, Some(Frame::Oversized(oversized))) if oversized.length == 5012));
    }

    quickcheck! {
        fn chunking_changes_nothing(input: Vec<u8>, cuts: Vec<usize>) -> bool {
            // Newlines are rare in random bytes, so some are sown.
            let input: Vec<u8> = input.into_iter().map(|byte| if byte % 7 == 0 { b'\n' } else { byte }).collect();
            let whole = decode(8, [&input[..]]);
            let bytewise = decode(8, input.chunks(1));
            let mut pieces = Vec::new();
            let mut rest = &input[..];
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            whole == bytewise && whole == decode(8, pieces)
        }
    }
}
