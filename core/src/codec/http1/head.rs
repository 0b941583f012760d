//! Where a head ends, and what must not be in it before any parser sees it.

use alloc::string::String;

use super::{Bounds, Headers, HttpFault, Version};

/// Heads of up to this many headers are parsed without an allocation for it. Browsers and SDKs send about a dozen.
const FEW_HEADERS: usize = 32;

/// Finds the end of a head line by line, in a growing buffer, without looking at any byte for a line end twice.
///
/// The parser that reads the head afterwards takes an LF alone for a line end; others do not. So each line is checked
/// here for line ends that are not CRLF.
#[derive(Debug, Default)]
pub(super) struct HeadScanner {
    /// Bytes of the unread part that were searched for a line end.
    scanned: usize,
    /// Where the line that is not complete yet begins.
    line_start: usize,
    /// Complete lines so far.
    lines: usize,
}

/// A complete head.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Its bytes, with the blank line.
    pub(super) length: usize,
    /// Its header lines.
    pub(super) headers: usize,
}

impl HeadScanner {
    /// Whether nothing of the head is there yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.scanned == 0
    }

    /// Goes on where the last call stopped. `unread` begins with the head and holds at least what it held then.
    pub(super) fn find_end(&mut self, unread: &[u8], bounds: &Bounds) -> Result<Option<Extent>, HttpFault> {
        loop {
            let found = memchr::memchr(b'\n', unread.get(self.scanned..).unwrap_or_default());
            let seen = found.map_or(unread.len(), |found| self.scanned + found + 1);
            if self.lines == 0 && seen > bounds.start_line_bytes.min(bounds.head_bytes) {
                return Err(HttpFault::StartLineTooLong);
            }
            if seen > bounds.head_bytes {
                return Err(HttpFault::HeadTooLarge);
            }
            self.scanned = seen;
            if found.is_none() {
                return Ok(None);
            }
            let line = unread.get(self.line_start..seen).unwrap_or_default();
            self.line_start = seen;
            self.check_line(line, bounds)?;
            if line == b"\r\n" {
                return Ok(Some(Extent { length: seen, headers: self.lines - 1 }));
            }
            self.lines += 1;
        }
    }

    /// A complete line, with its line end.
    fn check_line(&self, line: &[u8], bounds: &Bounds) -> Result<(), HttpFault> {
        // A CR elsewhere in the line is found by the parser.
        if !line.ends_with(b"\r\n") {
            return Err(HttpFault::BareLineEnd);
        }
        match (self.lines, line) {
            (0, b"\r\n") => Err(HttpFault::MalformedStartLine),
            (_, b"\r\n") | (0, _) => Ok(()),
            (_, [b' ' | b'\t', ..]) => Err(HttpFault::FoldedHeader),
            (lines, _) if lines > bounds.headers => Err(HttpFault::TooManyHeaders),
            _ => Ok(()),
        }
    }
}

/// Lends `use_slots` room for `count` headers, on the stack if they are few.
pub(super) fn with_slots<'bytes, T>(count: usize, use_slots: impl FnOnce(&mut [httparse::Header<'bytes>]) -> T) -> T {
    if count <= FEW_HEADERS {
        use_slots(&mut [httparse::EMPTY_HEADER; FEW_HEADERS])
    } else {
        use_slots(&mut alloc::vec![httparse::EMPTY_HEADER; count])
    }
}

/// Whether the parser read the head to its end, and if not, why.
pub(super) fn check_parsed(parsed: httparse::Result<usize>, head: &[u8]) -> Result<(), HttpFault> {
    let is_bare = |at: usize| head.get(at + 1) != Some(&b'\n');
    match parsed {
        Ok(httparse::Status::Complete(length)) if length == head.len() => Ok(()),
        _ if memchr::memchr_iter(b'\r', head).any(is_bare) => Err(HttpFault::BareLineEnd),
        Ok(_) => Err(HttpFault::MalformedHeader),
        Err(httparse::Error::HeaderName | httparse::Error::HeaderValue) => Err(HttpFault::MalformedHeader),
        Err(httparse::Error::TooManyHeaders) => Err(HttpFault::TooManyHeaders),
        Err(_) => Err(HttpFault::MalformedStartLine),
    }
}

/// Whether `word` is a version of HTTP, but neither of those that we speak.
pub(super) fn is_foreign_version(word: &[u8]) -> bool {
    match word {
        b"HTTP/1.0" | b"HTTP/1.1" => false,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] => major.is_ascii_digit() && minor.is_ascii_digit(),
        _ => false,
    }
}

pub(super) fn version(minor: Option<u8>) -> Version {
    if minor == Some(0) { Version::Http10 } else { Version::Http11 }
}

pub(super) fn collect_headers(parsed: &[httparse::Header<'_>]) -> Headers {
    let text_bytes = parsed.iter().map(|header| header.name.len() + header.value.len()).sum();
    let mut headers = Headers::with_capacity(parsed.len(), text_bytes);
    for header in parsed {
        let value = trim_blanks(header.value);
        match core::str::from_utf8(value) {
            Ok(value) => headers.push(header.name, value),
            Err(_) => headers.push(header.name, &String::from_utf8_lossy(value)),
        }
    }
    headers
}

/// Without the blanks that HTTP permits around a value: SP and HTAB, nothing else.
fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Whether the connection may carry another message, as far as this head says (RFC 9112 section 9.3).
pub(super) fn keeps_alive(version: Version, headers: &Headers) -> bool {
    if headers.has_member("connection", "close") {
        return false;
    }
    version == Version::Http11 || headers.has_member("connection", "keep-alive")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_searched_once_however_it_arrives() {
        // Two thousand bytes that come one by one: what was searched must be the bytes, not their square.
        let head = alloc::format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "y".repeat(2000)).into_bytes();
        let mut scanner = HeadScanner::default();
        let mut searched = 0;
        for end in 1..head.len() {
            let before = scanner.scanned;
            assert_eq!(scanner.find_end(&head[..end], &Bounds::default()), Ok(None));
            searched += scanner.scanned - before;
            assert_eq!(scanner.scanned, end);
        }
        assert_eq!(searched, head.len() - 1);
        let whole = Extent { length: head.len(), headers: 2 };
        assert_eq!(scanner.find_end(&head, &Bounds::default()), Ok(Some(whole)));
    }

    #[test]
    fn blanks_around_values_are_dropped() {
        for (value, trimmed) in [(" a b\t", "a b"), ("", ""), (" \t ", ""), ("x", "x"), (" x", "x"), ("x ", "x")] {
            assert_eq!(trim_blanks(value.as_bytes()), trimmed.as_bytes());
        }
    }
}
