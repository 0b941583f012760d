//! The head of a response.

use alloc::borrow::Cow;
use alloc::string::ToString;

use super::body::Framing;
use super::head::{self, Extent};
use super::{Headers, HttpFault, Version};

/// The head of a response that a server sent. Its framing was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status: 200.
    pub status: u16,
    /// What the server calls the status. Often empty, never to be relied on.
    pub reason: Cow<'static, str>,
    /// What the server speaks.
    pub version: Version,
    /// The headers.
    pub headers: Headers,
    /// How long the body is, or where it ends.
    pub framing: Framing,
}

/// What a response answers, as far as that decides about its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// `HEAD`: the response says how long a body would be, and has none.
    Head,
    /// `CONNECT`: behind a success the connection is a tunnel.
    Connect,
    Other,
}

impl Answers {
    pub(super) fn to_method(method: &str) -> Self {
        match method {
            "HEAD" => Self::Head,
            "CONNECT" => Self::Connect,
            _ => Self::Other,
        }
    }
}

impl ResponseHead {
    /// Reads a head that was found to be complete.
    pub(super) fn parse(bytes: &[u8], extent: &Extent, answers: Answers) -> Result<Self, HttpFault> {
        head::with_slots(extent.headers, |slots| {
            let mut parsed = httparse::Response::new(slots);
            head::check_parsed(parsed.parse(bytes), bytes).map_err(|fault| or_foreign_version(fault, bytes))?;
            let status = parsed.code.filter(|status| *status >= 100).ok_or(HttpFault::MalformedStartLine)?;
            let version = head::version(parsed.version);
            let headers = head::collect_headers(parsed.headers);
            let framing = Framing::of_response(version, &headers)?;
            let reason = match parsed.reason.unwrap_or_default() {
                usual if usual == reason_phrase(status) => Cow::Borrowed(reason_phrase(status)),
                other => Cow::Owned(other.to_string()),
            };
            let mut response = Self { status, reason, version, headers, framing };
            if response.has_no_body(answers) {
                response.framing = Framing::Empty;
            }
            Ok(response)
        })
    }

    /// Whether another request may be sent on the connection.
    pub fn keep_alive(&self) -> bool {
        self.framing != Framing::UntilClose && head::keeps_alive(self.version, &self.headers)
    }

    /// Whether more responses to the same request follow.
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// Whether the bytes behind this head are no HTTP any more.
    pub(super) fn ends_http(&self, answers: Answers) -> bool {
        self.status == 101 || (answers == Answers::Connect && (200..300).contains(&self.status))
    }

    /// Whether there is no body whatever the headers say (RFC 9112 section 6.3).
    fn has_no_body(&self, answers: Answers) -> bool {
        answers == Answers::Head || forbids_body(self.status) || self.ends_http(answers)
    }
}

/// Whether a response of this status never has a body.
pub(super) fn forbids_body(status: u16) -> bool {
    matches!(status, 100..200 | 204 | 304)
}

/// The usual words for a status; empty for one that is not in common use.
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

/// A status line that is fine but for a version that we do not speak is a fault of its own.
fn or_foreign_version(fault: HttpFault, bytes: &[u8]) -> HttpFault {
    let first = bytes.split(|byte| matches!(byte, b' ' | b'\r')).next().unwrap_or_default();
    if fault == HttpFault::MalformedStartLine && head::is_foreign_version(first) {
        HttpFault::UnsupportedVersion
    } else {
        fault
    }
}
