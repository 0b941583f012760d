//! HTTP/1.1, and peers of HTTP/1.0: heads, bodies and their framing, both directions. Knows nothing of what is said.
//!
//! A server feeds what it reads to a [`RequestDecoder`], a client to a [`ResponseDecoder`]; both give out a head, the
//! pieces of the body as ranges of the bytes that were fed, and the end of the message. [`write_request`],
//! [`write_response`] and [`write_chunk`] append to a buffer.
//!
//! Where two readers of the same bytes could disagree about where a message ends, a request can be smuggled past the
//! first one. So nothing ambiguous is repaired here; it is refused as an [`HttpFault`], and the connection is over:
//! both `Content-Length` and `Transfer-Encoding`, more than one of either, a length that is not plain digits, a coding
//! other than `chunked`, chunks in HTTP/1.0, folded lines, a CR or LF alone, blanks before a colon. In the other
//! direction the framing headers are written by this module only, and a name or value that could break out of its
//! line is an [`Unsendable`].

mod body;
mod decode;
mod encode;
mod head;
mod headers;
mod request;
mod response;
#[cfg(test)]
mod tests;

use core::fmt;

pub use body::Framing;
pub use decode::{Frame, RequestDecoder, ResponseDecoder};
pub use encode::{Unsendable, wrap_chunk, write_chunk, write_last_chunk, write_request, write_response};
pub use headers::{Headers, Repeated};
pub use request::RequestHead;
pub use response::{ResponseHead, reason_phrase};

/// How much of everything a decoder puts up with.
///
/// Bodies have no bound here: they are given out piece by piece and never kept. Whoever keeps them bounds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Bytes of the first line of a head. RFC 9112 asks for 8000 at least; nothing we ask for or offer comes close.
    pub start_line_bytes: usize,
    /// Bytes of a whole head, with its last blank line. Room for a few tokens of the size that identity providers issue;
    /// other servers stop at 8 to 64 KiB. As a head is kept until it is complete, the read buffer has to hold one byte
    /// more than this.
    pub head_bytes: usize,
    /// Header lines of a head. Looking one up is a search, so that this is also a bound on work. Others stop at 100.
    pub headers: usize,
    /// Bytes of the line before a chunk, without its line end. Sixteen digits say any size; the rest is room for
    /// extensions, which are read by nobody.
    pub chunk_line_bytes: usize,
    /// Bytes that the lines before the chunks of a body may take, together, beyond what the chunks have carried so far.
    /// Somebody could otherwise send very much that has to be read and says nothing.
    pub chunk_surplus_bytes: usize,
    /// Bytes of the trailers behind the last chunk, with the last blank line. They are dropped, so little is enough.
    pub trailer_bytes: usize,
    /// Interim (1xx) responses before the one that counts. One is usual; each may be as large as a head.
    pub interim_responses: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            start_line_bytes: 8 * 1024,
            head_bytes: 64 * 1024,
            headers: 128,
            chunk_line_bytes: 4 * 1024,
            chunk_surplus_bytes: 16 * 1024,
            trailer_bytes: 16 * 1024,
            interim_responses: 8,
        }
    }
}

/// The versions of HTTP that are spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0: no chunks, and one message per connection unless both sides ask for more.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// What the peer did wrong. Where the next message begins is unknown after any of these, so the connection has to be
/// closed; a server may answer with [`status`](Self::status) first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HttpFault {
    /// The first line is beyond [`Bounds::start_line_bytes`].
    StartLineTooLong,
    /// The head is beyond [`Bounds::head_bytes`].
    HeadTooLarge,
    /// There are more header lines than [`Bounds::headers`].
    TooManyHeaders,
    /// The first line is not a request line or status line.
    MalformedStartLine,
    /// The message is of a version that is neither 1.0 nor 1.1.
    UnsupportedVersion,
    /// A header line is not a name, a colon and a value of permitted bytes.
    MalformedHeader,
    /// A header line begins with a blank: once a way to continue the line before it.
    FoldedHeader,
    /// A CR or LF that is not part of a CRLF.
    BareLineEnd,
    /// An HTTP/1.1 request without `Host`.
    MissingHost,
    /// More than one `Host`, or one that cannot be a host.
    InvalidHost,
    /// More than one `Content-Length`, or one that is not plain digits of a number below 2^64.
    InvalidContentLength,
    /// Both `Content-Length` and `Transfer-Encoding`.
    ConflictingFraming,
    /// A `Transfer-Encoding` other than a single `chunked`.
    UnsupportedTransferEncoding,
    /// A `Transfer-Encoding` in a message of HTTP/1.0, which has none.
    TransferEncodingInHttp10,
    /// The line before a chunk does not begin with a size in plain hexadecimal digits, or the chunk is longer than that.
    MalformedChunk,
    /// The line before a chunk is beyond [`Bounds::chunk_line_bytes`].
    ChunkLineTooLong,
    /// The lines before the chunks say more than the chunks, beyond [`Bounds::chunk_surplus_bytes`].
    ChunkLinesTooLong,
    /// A line behind the last chunk is not a header line.
    MalformedTrailer,
    /// What is behind the last chunk is beyond [`Bounds::trailer_bytes`].
    TrailersTooLarge,
    /// The connection ended inside a message.
    Truncated,
    /// The connection ended before any byte of a response came. The request may not even have been read.
    Unanswered,
    /// Bytes came from a server that nothing was asked.
    Unsolicited,
    /// More interim responses than [`Bounds::interim_responses`].
    TooManyInterimResponses,
}

impl HttpFault {
    /// The status that a server answers with before it closes the connection.
    pub fn status(self) -> u16 {
        match self {
            Self::StartLineTooLong => 414,
            Self::HeadTooLarge | Self::TooManyHeaders | Self::TrailersTooLarge => 431,
            Self::UnsupportedTransferEncoding => 501,
            Self::UnsupportedVersion => 505,
            Self::MalformedStartLine
            | Self::MalformedHeader
            | Self::FoldedHeader
            | Self::BareLineEnd
            | Self::MissingHost
            | Self::InvalidHost
            | Self::InvalidContentLength
            | Self::ConflictingFraming
            | Self::TransferEncodingInHttp10
            | Self::MalformedChunk
            | Self::ChunkLineTooLong
            | Self::ChunkLinesTooLong
            | Self::MalformedTrailer
            | Self::Truncated
            | Self::Unanswered
            | Self::Unsolicited
            | Self::TooManyInterimResponses => 400,
        }
    }
}

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StartLineTooLong => "the first line of the message is too long",
            Self::HeadTooLarge => "the head of the message is too large",
            Self::TooManyHeaders => "the message has too many headers",
            Self::MalformedStartLine => "the first line of the message is malformed",
            Self::UnsupportedVersion => "the message is neither HTTP/1.1 nor HTTP/1.0",
            Self::MalformedHeader => "a header is malformed",
            Self::FoldedHeader => "a header line begins with a blank",
            Self::BareLineEnd => "a line ends with CR or LF alone",
            Self::MissingHost => "the request has no Host header",
            Self::InvalidHost => "the request has an invalid Host header, or more than one",
            Self::InvalidContentLength => "the message has an invalid Content-Length header, or more than one",
            Self::ConflictingFraming => "the message has both Content-Length and Transfer-Encoding",
            Self::UnsupportedTransferEncoding => "the message has a transfer encoding other than chunked",
            Self::TransferEncodingInHttp10 => "an HTTP/1.0 message has a transfer encoding",
            Self::MalformedChunk => "a chunk of the body is malformed",
            Self::ChunkLineTooLong => "the line before a chunk of the body is too long",
            Self::ChunkLinesTooLong => "the lines before the chunks of the body take more than the chunks",
            Self::MalformedTrailer => "a trailer is malformed",
            Self::TrailersTooLarge => "the trailers are too large",
            Self::Truncated => "the connection ended inside a message",
            Self::Unanswered => "the connection ended without an answer",
            Self::Unsolicited => "the server sent what nobody asked for",
            Self::TooManyInterimResponses => "the server sent too many interim responses",
        })
    }
}

impl core::error::Error for HttpFault {}

/// Whether `byte` may be part of a method or of a header's name (RFC 9110, `tchar`).
fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = ascii_table(b"!#$%&'*+-.^_`|~");
    TOKEN[usize::from(byte)]
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| is_token_byte(*byte))
}

/// Whether `byte` may be part of a header's value: visible, a blank, or beyond ASCII.
fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether `text` can be the target of a request: visible ASCII, so that it ends where it seems to end.
fn is_target(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_graphic)
}

/// Whether `text` can be a host with an optional port (RFC 3986), or empty, which RFC 9112 demands for some targets.
fn is_host(text: &[u8]) -> bool {
    const HOST: [bool; 256] = ascii_table(b"-._~!$&'()*+,;=%:[]");
    text.iter().all(|byte| HOST[usize::from(*byte)])
}

/// Which bytes are letters, digits or one of `others`. Looking a byte up is what a head mostly costs.
const fn ascii_table(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}
