//! From messages to bytes. Nothing that a caller passes can end a line, a head or a chunk before its time.

use alloc::vec::Vec;
use core::fmt;

use super::body::Framing;
use super::response::{forbids_body, reason_phrase};
use super::{is_host, is_target, is_token, is_value_byte};

/// Why a head was not written: it would not be read as what was meant. The caller's mistake, or text that came from
/// elsewhere and has to be encoded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unsendable {
    /// The method is not a token.
    Method,
    /// The target is empty, or holds something else than visible ASCII.
    Target,
    /// The status does not have three digits, the first of them 1 to 9.
    Status,
    /// A header's name is not a token.
    HeaderName,
    /// A header's value holds a control character, or has a blank at one of its ends.
    HeaderValue,
    /// `Content-Length` and `Transfer-Encoding` follow from the [`Framing`]; they are not for the caller to pass.
    FramingHeader,
    /// A request has not exactly one `Host`, or one that cannot be a host.
    Host,
    /// A message of this kind has no such framing: a request that ends with the connection, a body behind `204`, or a
    /// response without any framing that is expected to have a body.
    Framing,
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "the method is not a token",
            Self::Target => "the target is empty or not visible ASCII",
            Self::Status => "the status is not a number of three digits",
            Self::HeaderName => "the name of a header is not a token",
            Self::HeaderValue => "the value of a header has a control character, or a blank at an end",
            Self::FramingHeader => "Content-Length and Transfer-Encoding are written by the encoder itself",
            Self::Host => "a request needs exactly one valid Host header",
            Self::Framing => "a message of this kind cannot be framed like this",
        })
    }
}

impl core::error::Error for Unsendable {}

/// Appends the head of an HTTP/1.1 request to `out`. If it cannot be sent, `out` is left as it was.
///
/// The header about the length follows from `framing`: [`Framing::Empty`] writes none, as is usual for `GET`; for `POST`
/// without a body write [`Framing::Length`] of zero.
///
/// ```
/// use windlass::codec::http1::{Framing, Unsendable, write_request};
///
/// let mut out = Vec::new();
/// write_request(&mut out, "POST", "/mcp", [("Host", "localhost")], Framing::Length(2))?;
/// out.extend_from_slice(b"{}");
/// assert_eq!(out, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
///
/// let injected = [("Host", "localhost"), ("X", "a\r\nEvil: b")];
/// assert_eq!(write_request(&mut out, "GET", "/", injected, Framing::Empty), Err(Unsendable::HeaderValue));
/// # Ok::<(), Unsendable>(())
/// ```
pub fn write_request<'a>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    framing: Framing,
) -> Result<(), Unsendable> {
    if !is_token(method.as_bytes()) {
        return Err(Unsendable::Method);
    }
    if !is_target(target.as_bytes()) {
        return Err(Unsendable::Target);
    }
    if framing == Framing::UntilClose {
        return Err(Unsendable::Framing);
    }
    all_or_nothing(out, |out| {
        for part in [method, " ", target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        let hosts = write_headers(out, headers, framing)?;
        if hosts == 1 { Ok(()) } else { Err(Unsendable::Host) }
    })
}

/// Appends the head of an HTTP/1.1 response to `out`. If it cannot be sent, `out` is left as it was.
///
/// [`Framing::Empty`] is for a status that has no body: 1xx, 204 and 304; other responses without a body are of
/// [`Framing::Length`] zero. A response to `HEAD` has the framing of the response to `GET`, and no body behind it. A peer
/// of HTTP/1.0 understands no [`Framing::Chunked`]. Say `Connection: close` with [`Framing::UntilClose`].
///
/// ```
/// use windlass::codec::http1::{Framing, write_chunk, write_last_chunk, write_response};
///
/// let mut out = Vec::new();
/// write_response(&mut out, 200, [("Content-Type", "text/event-stream")], Framing::Chunked)?;
/// write_chunk(&mut out, b"data: {}\n\n");
/// write_last_chunk(&mut out);
/// assert!(out.ends_with(b"\r\n\r\na\r\ndata: {}\n\n\r\n0\r\n\r\n"));
/// # Ok::<(), windlass::codec::http1::Unsendable>(())
/// ```
pub fn write_response<'a>(
    out: &mut Vec<u8>,
    status: u16,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    framing: Framing,
) -> Result<(), Unsendable> {
    if !(100..1000).contains(&status) {
        return Err(Unsendable::Status);
    }
    // 304 may say how long the body would have been.
    let framing_fits = match framing {
        Framing::Empty => forbids_body(status),
        Framing::Length(_) => !forbids_body(status) || status == 304,
        Framing::Chunked | Framing::UntilClose => !forbids_body(status),
    };
    if !framing_fits {
        return Err(Unsendable::Framing);
    }
    all_or_nothing(out, |out| {
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
        for part in [" ", reason_phrase(status), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        write_headers(out, headers, framing).map(|_| ())
    })
}

/// Appends `bytes` as one chunk of a body to `out`. No bytes are no chunk, for an empty one would end the body.
pub fn write_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.extend_from_slice(bytes);
    wrap_chunk(out, start);
}

/// Makes what was appended to `out` since it was `start` bytes long one chunk of a body. Saves a copy where the bytes are
/// written piece by piece. No bytes are no chunk.
pub fn wrap_chunk(out: &mut Vec<u8>, start: usize) {
    let length = out.len().saturating_sub(start);
    if length == 0 {
        return;
    }
    let mut size_line = [0; SIZE_LINE];
    let size_line = format_size_line(length, &mut size_line);
    out.reserve(size_line.len() + 2);
    out.extend_from_slice(size_line);
    let moved = start + size_line.len();
    out.copy_within(start..start + length, moved);
    out[start..moved].copy_from_slice(size_line);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a chunked body to `out`.
pub fn write_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Bytes of the longest line before a chunk.
const SIZE_LINE: usize = usize::BITS as usize / 4 + 2;

/// The digits of `length` in hexadecimal and a line end, in the last bytes of `room`.
fn format_size_line(mut length: usize, room: &mut [u8; SIZE_LINE]) -> &[u8] {
    let mut start = SIZE_LINE - 2;
    room[start..].copy_from_slice(b"\r\n");
    while length > 0 {
        start -= 1;
        room[start] = b"0123456789abcdef"[length % 16];
        length /= 16;
    }
    &room[start..]
}

fn all_or_nothing(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unsendable>,
) -> Result<(), Unsendable> {
    let start = out.len();
    let written = write(out);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Writes all header lines and the blank line behind them. Returns how many of them are `Host`.
fn write_headers<'a>(
    out: &mut Vec<u8>,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    framing: Framing,
) -> Result<usize, Unsendable> {
    let mut hosts = 0;
    for (name, value) in headers {
        if !is_token(name.as_bytes()) {
            return Err(Unsendable::HeaderName);
        }
        if !is_value(value.as_bytes()) {
            return Err(Unsendable::HeaderValue);
        }
        if ["content-length", "transfer-encoding"].iter().any(|ours| ours.eq_ignore_ascii_case(name)) {
            return Err(Unsendable::FramingHeader);
        }
        if name.eq_ignore_ascii_case("host") {
            hosts += 1;
            if !is_host(value.as_bytes()) {
                return Err(Unsendable::Host);
            }
        }
        write_line(out, name, value);
    }
    match framing {
        Framing::Empty | Framing::UntilClose => {}
        Framing::Length(length) => write_line(out, "Content-Length", itoa::Buffer::new().format(length)),
        Framing::Chunked => write_line(out, "Transfer-Encoding", "chunked"),
    }
    out.extend_from_slice(b"\r\n");
    Ok(hosts)
}

fn write_line(out: &mut Vec<u8>, name: &str, value: &str) {
    out.reserve(name.len() + value.len() + 4);
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Blanks at the ends are permitted on the wire but not part of the value, so a reader would see another one.
fn is_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    // Without a branch for each byte, the compiler checks many at once.
    let sound = value.iter().fold(true, |sound, byte| sound & is_value_byte(*byte));
    sound && !blank(value.first()) && !blank(value.last())
}
