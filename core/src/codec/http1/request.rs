//! The head of a request.

use alloc::string::{String, ToString};

use super::body::Framing;
use super::head::{self, Extent};
use super::{Headers, HttpFault, Repeated, Version, is_host, is_target};

/// The head of a request that a client sent. Its framing and its `Host` were checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestHead {
    /// The method, with its case: `POST`.
    pub method: String,
    /// What is asked for, path and query, as it was sent: `/mcp?x=1`. To a proxy this is a whole URL.
    pub target: String,
    /// What the client speaks. A response to [`Version::Http10`] must not be chunked.
    pub version: Version,
    /// The headers.
    pub headers: Headers,
    /// How long the body is, or where it ends. Never [`Framing::UntilClose`].
    pub framing: Framing,
}

impl RequestHead {
    /// Reads a head that was found to be complete.
    pub(super) fn parse(bytes: &[u8], extent: &Extent) -> Result<Self, HttpFault> {
        head::with_slots(extent.headers, |slots| {
            let mut parsed = httparse::Request::new(slots);
            head::check_parsed(parsed.parse(bytes), bytes).map_err(|fault| or_foreign_version(fault, bytes))?;
            let target = parsed.path.unwrap_or_default();
            if !is_target(target.as_bytes()) {
                return Err(HttpFault::MalformedStartLine);
            }
            let version = head::version(parsed.version);
            let headers = head::collect_headers(parsed.headers);
            check_host(version, &headers)?;
            let framing = Framing::of_request(version, &headers)?;
            let method = parsed.method.unwrap_or_default().to_string();
            Ok(Self { method, target: target.to_string(), version, headers, framing })
        })
    }

    /// Whether the client waits for an interim response `100` before it sends the body. To a client of HTTP/1.0 none may
    /// be sent, whatever it says.
    pub fn expects_continue(&self) -> bool {
        self.version == Version::Http11
            && self.framing != Framing::Empty
            && self.headers.has_member("expect", "100-continue")
    }

    /// Whether another request may follow on the connection, as far as the client is concerned.
    pub fn keep_alive(&self) -> bool {
        head::keeps_alive(self.version, &self.headers)
    }
}

/// A request line that is fine up to a version that we do not speak is a fault of its own.
fn or_foreign_version(fault: HttpFault, bytes: &[u8]) -> HttpFault {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    match (fault, words.next(), words.next(), words.next(), words.next()) {
        (HttpFault::MalformedStartLine, Some(method), Some(target), Some(version), None)
            if super::is_token(method) && is_target(target) && head::is_foreign_version(version) =>
        {
            HttpFault::UnsupportedVersion
        }
        _ => fault,
    }
}

fn check_host(version: Version, headers: &Headers) -> Result<(), HttpFault> {
    match headers.only("host") {
        Ok(Some(host)) if is_host(host.as_bytes()) => Ok(()),
        Ok(None) if version == Version::Http10 => Ok(()),
        Ok(None) => Err(HttpFault::MissingHost),
        Ok(Some(_)) | Err(Repeated) => Err(HttpFault::InvalidHost),
    }
}
