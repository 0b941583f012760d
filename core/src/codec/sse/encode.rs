//! From events to bytes. Nothing that a caller passes can end a line or an event before its time.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// Why an event was not written: a name or an id cannot be said in one line. The caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unsendable {
    /// The name holds CR, LF or NUL.
    Name,
    /// The id holds CR, LF or NUL. A reader would ignore one with NUL.
    Id,
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "the name of the event holds a line end or NUL",
            Self::Id => "the id of the event holds a line end or NUL",
        })
    }
}

impl core::error::Error for Unsendable {}

/// Appends an event to `out`. If it cannot be sent, `out` is left as it was.
///
/// Each line of the data becomes a line of its own, and a reader gets LF for every CR, LF or CRLF between them. In JSON
/// these are blanks between tokens, so that the meaning stays; but some readers of MCP take each `data` line for a
/// message, so whoever has JSON that may be pretty-printed better puts it on one line first.
///
/// ```
/// use windlass::codec::sse::{Unsendable, write_event};
///
/// let mut out = Vec::new();
/// write_event(&mut out, None, Some("7"), b"{}")?;
/// assert_eq!(out, b"id: 7\ndata: {}\n\n");
/// assert_eq!(write_event(&mut out, Some("a\ndata: b"), None, b""), Err(Unsendable::Name));
/// # Ok::<(), Unsendable>(())
/// ```
pub fn write_event(out: &mut Vec<u8>, name: Option<&str>, id: Option<&str>, data: &[u8]) -> Result<(), Unsendable> {
    if name.is_some_and(is_not_one_line) {
        return Err(Unsendable::Name);
    }
    check_id(id)?;
    if let Some(name) = name {
        write_line(out, b"event: ", name.as_bytes());
    }
    if let Some(id) = id {
        write_line(out, b"id: ", id.as_bytes());
    }
    write_lines(out, b"data: ", data);
    out.push(b'\n');
    Ok(())
}

/// Appends an event without data to `out` that makes `id` known, so that a client can resume before there is anything to
/// tell, and how long it should wait until then. If it cannot be sent, `out` is left as it was.
pub fn write_priming_event(out: &mut Vec<u8>, id: &str, retry: Option<Duration>) -> Result<(), Unsendable> {
    check_id(Some(id))?;
    if let Some(retry) = retry {
        write_retry_line(out, retry);
    }
    write_event(out, None, Some(id), b"")
}

/// Appends to `out` how long a client should wait before it connects again.
pub fn write_retry(out: &mut Vec<u8>, retry: Duration) {
    write_retry_line(out, retry);
    out.push(b'\n');
}

/// Appends a comment to `out`, which readers ignore: a sign of life. Between events only.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_lines(out, b": ", text.as_bytes());
    out.push(b'\n');
}

fn write_retry_line(out: &mut Vec<u8>, retry: Duration) {
    let milliseconds = u64::try_from(retry.as_millis()).unwrap_or(u64::MAX);
    write_line(out, b"retry: ", itoa::Buffer::new().format(milliseconds).as_bytes());
}

/// Writes `text` behind as many `prefix`es as it has lines, at least one.
fn write_lines(out: &mut Vec<u8>, prefix: &[u8], text: &[u8]) {
    let mut rest = text;
    while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
        write_line(out, prefix, &rest[..end]);
        rest = &rest[end..];
        rest = rest.strip_prefix(b"\r\n").unwrap_or(&rest[1..]);
    }
    write_line(out, prefix, rest);
}

fn write_line(out: &mut Vec<u8>, prefix: &[u8], text: &[u8]) {
    out.extend_from_slice(prefix);
    out.extend_from_slice(text);
    out.push(b'\n');
}

fn check_id(id: Option<&str>) -> Result<(), Unsendable> {
    if id.is_some_and(is_not_one_line) { Err(Unsendable::Id) } else { Ok(()) }
}

fn is_not_one_line(text: &str) -> bool {
    memchr::memchr3(b'\n', b'\r', 0, text.as_bytes()).is_some()
}
