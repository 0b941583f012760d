//! From messages to requests of HTTP.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::super::mirror::{self, UnsafeNumber, Value};
use super::config::Names;
use super::tools::KnownTools;
use crate::codec::http1::Headers;
use crate::json::pick;
use crate::machine::HttpTarget;
use crate::model::{CallTool, Era, ProtocolVersion, Repeats};
use crate::rpc::{MethodName, Outgoing};
use crate::url::Url;

/// A request of HTTP to be made. Whoever makes it adds `Host`, `Content-Length` and what belongs to the connection.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `POST`, `GET` or `DELETE`.
    pub method: &'static str,
    /// Where to.
    pub url: Url,
    /// The headers.
    pub headers: Headers,
    /// The body; empty for `GET` and `DELETE`.
    pub body: Vec<u8>,
    /// Whether it may go to public addresses only, as in [`HttpTarget::public_only`]: a server has named the host. Whoever
    /// makes the request and cannot see to that has to fail it.
    pub public_only: bool,
}

impl HttpRequest {
    /// Whether a connection that was opened to `target` is one for this request.
    pub(super) fn is_for(&self, target: &HttpTarget) -> bool {
        let HttpTarget { host, port, tls, public_only } = target;
        (self.url.is_secure(), self.url.port(), self.url.host()) == (*tls, *port, host)
            && self.public_only == *public_only
    }

    /// What a connection for this request is opened to.
    pub(super) fn target(&self) -> HttpTarget {
        HttpTarget {
            host: self.url.host().to_string(),
            port: self.url.port(),
            tls: self.url.is_secure(),
            public_only: self.public_only,
        }
    }
}

/// Neither credentials nor contents: requests end up in logs.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &Names(&self.headers))
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// What all requests of a client share.
pub(super) struct Common<'a> {
    pub(super) version: Option<ProtocolVersion>,
    pub(super) session: Option<&'a str>,
    pub(super) extra: &'a Headers,
}

/// What requests say of who makes them, unless the program says something else.
pub(super) const USER_AGENT: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

/// What the headers of a POST take, mostly.
const FEW_HEADERS: usize = 12;
const FEW_BYTES: usize = 512;

/// The POST that carries a message, unless it holds what its headers cannot say.
pub(super) fn post(
    url: Url,
    message: Outgoing,
    name: Option<&str>,
    common: &Common<'_>,
    tools: &KnownTools,
) -> Result<HttpRequest, UnsafeNumber> {
    let mut headers = Headers::with_capacity(FEW_HEADERS, FEW_BYTES);
    headers.push("Content-Type", "application/json");
    headers.push("Accept", "application/json, text/event-stream");
    common.add_to(&mut headers);
    if common.version.is_some_and(|version| version.era() == Era::Modern) {
        if let Some(method) = &message.label.method {
            headers.push("Mcp-Method", &mirror::encode(method.as_str()));
            if let Some(name) = name {
                headers.push("Mcp-Name", &mirror::encode(name));
                if method.is::<CallTool>() {
                    add_arguments(&mut headers, &message, name, tools)?;
                }
            }
        }
    }
    common.add_extra_to(&mut headers);
    Ok(HttpRequest { method: "POST", url, headers, body: message.bytes, public_only: false })
}

/// The arguments that the tool wants to see as headers: values of the program's, which are nowhere but in the text.
fn add_arguments(
    headers: &mut Headers,
    message: &Outgoing,
    tool: &str,
    tools: &KnownTools,
) -> Result<(), UnsafeNumber> {
    let annotations = tools.annotations(tool);
    if annotations.is_empty() {
        return Ok(());
    }
    let Some(params) = message.content() else { return Ok(()) };
    let Ok([Some(arguments)]) = pick(params, ["arguments"]) else { return Ok(()) };
    for annotation in annotations {
        if let Some(value) = Value::at(arguments, &annotation.path)? {
            let name = [mirror::PARAM_PREFIX, &annotation.header].concat();
            headers.push(&name, &mirror::encode(&value.into_text()));
        }
    }
    Ok(())
}

/// The GET that opens a stream, or goes on with one behind its last event.
pub(super) fn get(url: Url, last_event_id: Option<&str>, common: &Common<'_>) -> HttpRequest {
    let mut headers = Headers::new();
    headers.push("Accept", "text/event-stream");
    common.add_to(&mut headers);
    if let Some(id) = last_event_id.filter(|id| !id.is_empty()) {
        headers.push("Last-Event-ID", id);
    }
    common.add_extra_to(&mut headers);
    HttpRequest { method: "GET", url, headers, body: Vec::new(), public_only: false }
}

/// The DELETE that ends a session.
pub(super) fn delete(url: Url, common: &Common<'_>) -> HttpRequest {
    let mut headers = Headers::new();
    common.add_to(&mut headers);
    common.add_extra_to(&mut headers);
    HttpRequest { method: "DELETE", url, headers, body: Vec::new(), public_only: false }
}

impl Common<'_> {
    fn add_to(&self, headers: &mut Headers) {
        // A compressed body would have to be bounded twice.
        headers.push("Accept-Encoding", "identity");
        if let Some(version) = self.version.filter(|version| *version >= ProtocolVersion::V2025_06_18) {
            headers.push("MCP-Protocol-Version", version.as_str());
        }
        if let Some(session) = self.session {
            headers.push("Mcp-Session-Id", session);
        }
    }

    fn add_extra_to(&self, headers: &mut Headers) {
        if !self.extra.contains("user-agent") {
            headers.push("User-Agent", USER_AGENT);
        }
        for (name, value) in self.extra.iter() {
            headers.push(name, value);
        }
    }
}

/// `headers`, with those in `newer` in place of their namesakes.
pub(super) fn replaced(headers: &Headers, newer: &Headers) -> Headers {
    let mut all = Headers::new();
    for (name, value) in headers.iter().filter(|(name, _)| !newer.contains(name)) {
        all.push(name, value);
    }
    for (name, value) in newer.iter() {
        all.push(name, value);
    }
    all
}

/// Whether a request may be made again when nobody knows whether the first was carried out.
pub(super) fn is_repeatable(method: &MethodName, name: Option<&str>, tools: &KnownTools) -> bool {
    match method.info().map_or(Repeats::Never, |info| info.repeats) {
        Repeats::Always => true,
        Repeats::IfToolSaysSo => name.is_some_and(|name| tools.is_repeatable(name)),
        Repeats::Never => false,
    }
}

/// A header's value as text of one's own, if it may be kept and sent back: visible ASCII, not endless.
pub(super) fn session_id(headers: &Headers) -> Option<String> {
    /// Identity tokens are known to be used; 4 KiB hold one and leave room for others in a head.
    const LONGEST: usize = 4096;
    let id = headers.only("mcp-session-id").ok().flatten()?;
    let sound = !id.is_empty() && id.len() <= LONGEST && id.bytes().all(|byte| byte.is_ascii_graphic());
    sound.then(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_headers_take_the_place_of_their_namesakes() {
        let old = Headers::from([("A", "1"), ("B", "2")]);
        let all = replaced(&old, &Headers::from([("b", "3"), ("C", "4")]));
        assert_eq!(all.iter().collect::<Vec<_>>(), [("A", "1"), ("b", "3"), ("C", "4")]);
    }

    #[test]
    fn a_session_has_an_id_that_can_be_sent_back() {
        let id = |values: &[&str]| {
            let mut headers = Headers::new();
            values.iter().for_each(|value| headers.push("Mcp-Session-Id", value));
            session_id(&headers)
        };
        let longest = "x".repeat(4096);
        assert_eq!(id(&["a!~"]).as_deref(), Some("a!~"));
        assert_eq!(id(&[&longest]), Some(longest.clone()));
        assert_eq!(id(&[&(longest + "x")]), None);
        assert_eq!([id(&[]), id(&[""]), id(&["a b"]), id(&["\u{e9}"]), id(&["a", "b"])], [const { None }; 5]);
    }
}
