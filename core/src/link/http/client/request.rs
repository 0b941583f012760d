//! From messages to requests of HTTP.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::super::mirror::{self, UnsafeNumber, Value};
use super::super::url::Url;
use super::config::Names;
use super::tools::KnownTools;
use crate::codec::http1::Headers;
use crate::json::{JsonText, content_of, first_member, pick};
use crate::model::{Era, ProtocolVersion};

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

/// What the link needs to know of a message of its own side.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) kind: Kind,
    /// The method; empty for an answer.
    pub(super) method: String,
    /// What `Mcp-Name` says.
    pub(super) name: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request(i64),
    Notification,
    Answer,
}

/// What all requests of a client share.
pub(super) struct Common<'a> {
    pub(super) version: Option<ProtocolVersion>,
    pub(super) session: Option<&'a str>,
    pub(super) extra: &'a Headers,
}

/// Reads a message of our own side, whose members stand in the order in which they are always written.
pub(super) fn read(frame: &[u8]) -> Option<(Outgoing, Option<JsonText<'_>>)> {
    let rest = core::str::from_utf8(frame).ok()?.strip_prefix(BEGINNING)?;
    let numbered = rest.strip_prefix(ID).and_then(|rest| {
        let end = rest.find(',')?;
        Some((rest[..end].parse().ok()?, &rest[end..]))
    });
    let (number, rest) = numbered.map_or((None, rest), |(number, rest)| (Some(number), rest));
    let Some(rest) = rest.strip_prefix(METHOD) else {
        return Some((Outgoing { kind: Kind::Answer, method: String::new(), name: None }, None));
    };
    let end = string_end(rest)?;
    let method = content_of(&rest[..end])?.into_owned();
    let params = rest[end..].strip_prefix(PARAMS).and_then(|rest| rest.strip_suffix('}')).map(JsonText::trusted);
    let named = mirror::naming_member(&method).filter(|_| number.is_some()).zip(params);
    let name = named.and_then(|(member, params)| first_member(params, member)?.as_text());
    let name = name.map(|name| name.into_owned());
    let kind = number.map_or(Kind::Notification, Kind::Request);
    Some((Outgoing { kind, method, name }, params))
}

const BEGINNING: &str = r#"{"jsonrpc":"2.0""#;
const ID: &str = r#","id":"#;
const METHOD: &str = r#","method":"#;
const PARAMS: &str = r#","params":"#;

/// Where the string ends that `text` begins with.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    let quote = text.bytes().skip(1).position(|byte| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'\\' => {
            escaped = true;
            false
        }
        byte => byte == b'"',
    })?;
    Some(quote + 2)
}

/// The id of a request of ours.
pub(super) fn number_of(frame: &[u8]) -> Option<i64> {
    match read(frame)? {
        (Outgoing { kind: Kind::Request(number), .. }, _) => Some(number),
        _ => None,
    }
}

/// The same request under another id.
pub(super) fn renumbered(frame: &[u8], number: i64) -> Option<Vec<u8>> {
    let rest = frame.strip_prefix(BEGINNING.as_bytes())?.strip_prefix(ID.as_bytes())?;
    let end = rest.iter().position(|byte| *byte == b',')?;
    let mut digits = itoa::Buffer::new();
    Some([BEGINNING.as_bytes(), ID.as_bytes(), digits.format(number).as_bytes(), &rest[end..]].concat())
}

/// What the headers of a POST take, mostly.
const FEW_HEADERS: usize = 12;
const FEW_BYTES: usize = 512;

/// The POST that carries a message, unless it holds what its headers cannot say.
pub(super) fn post(
    url: Url,
    frame: Vec<u8>,
    message: &Outgoing,
    common: &Common<'_>,
    tools: &KnownTools,
) -> Result<HttpRequest, UnsafeNumber> {
    let mut headers = Headers::with_capacity(FEW_HEADERS, FEW_BYTES);
    headers.push("Content-Type", "application/json");
    headers.push("Accept", "application/json, text/event-stream");
    common.add_to(&mut headers);
    if common.version.is_some_and(|version| version.era() == Era::Modern) {
        if !message.method.is_empty() {
            headers.push("Mcp-Method", &mirror::encode(&message.method));
        }
        if let Some(name) = &message.name {
            headers.push("Mcp-Name", &mirror::encode(name));
            if message.method == "tools/call" {
                add_arguments(&mut headers, &frame, name, tools)?;
            }
        }
    }
    common.add_extra_to(&mut headers);
    Ok(HttpRequest { method: "POST", url, headers, body: frame })
}

/// The arguments that the tool wants to see as headers.
fn add_arguments(headers: &mut Headers, frame: &[u8], tool: &str, tools: &KnownTools) -> Result<(), UnsafeNumber> {
    let annotations = tools.annotations(tool);
    if annotations.is_empty() {
        return Ok(());
    }
    let Some((_, Some(params))) = read(frame) else { return Ok(()) };
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
    HttpRequest { method: "GET", url, headers, body: Vec::new() }
}

/// The DELETE that ends a session.
pub(super) fn delete(url: Url, common: &Common<'_>) -> HttpRequest {
    let mut headers = Headers::new();
    common.add_to(&mut headers);
    common.add_extra_to(&mut headers);
    HttpRequest { method: "DELETE", url, headers, body: Vec::new() }
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
        const USER_AGENT: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));
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
pub(super) fn is_repeatable(method: &str, name: Option<&str>, tools: &KnownTools) -> bool {
    match method {
        "tools/list"
        | "prompts/list"
        | "resources/list"
        | "resources/templates/list"
        | "resources/read"
        | "prompts/get"
        | "completion/complete"
        | "server/discover"
        | "ping" => true,
        "tools/call" => name.is_some_and(|name| tools.is_repeatable(name)),
        _ => false,
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
    fn messages_of_our_own_are_read() {
        let seen = |frame: &str| {
            let (Outgoing { kind, method, name }, params) = read(frame.as_bytes())?;
            let number = if let Kind::Request(number) = kind { Some(number) } else { None };
            Some((number, method, name, params.map(|params| String::from(params.as_str()))))
        };
        let (number, method, name, params) =
            seen(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a\"b"}}"#).unwrap();
        assert_eq!((number, &method[..], name.as_deref()), (Some(7), "tools/call", Some("a\"b")));
        assert_eq!(params.as_deref(), Some(r#"{"name":"a\"b"}"#));
        // A method of the program's own may be any text.
        let (_, method, name, params) = seen(r#"{"jsonrpc":"2.0","id":8,"method":"a\\\"b"}"#).unwrap();
        assert_eq!((&method[..], name, params), ("a\\\"b", None, None));
        let (number, method, name, _) = seen(r#"{"jsonrpc":"2.0","method":"n","params":{"name":"x"}}"#).unwrap();
        assert_eq!((number, &method[..], name), (None, "n", None));
        let (number, method, ..) = seen(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).unwrap();
        assert_eq!((number, &method[..]), (None, ""), "an answer");
        assert_eq!(number_of(br#"{"jsonrpc":"2.0","id":12,"method":"m"}"#), Some(12));
        assert_eq!(number_of(br#"{"jsonrpc":"2.0","method":"m"}"#), None);
        assert_eq!(number_of(br#"{"jsonrpc":"2.0","id":12,"result":{}}"#), None);
        assert!(seen(r#"{"id":1}"#).is_none() && read(b"\xff").is_none());
        assert!(seen(r#"{"jsonrpc":"2.0","method":"m"#).is_none(), "it does not end");
    }

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
