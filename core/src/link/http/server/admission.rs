//! What is checked about a request before anybody looks at its message.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;

use super::authorization::{is_for_metadata, shown};
use super::config::HttpServerConfig;
use crate::codec::http1::{Framing, RequestHead};
use crate::jsonrpc::{RpcError, code};
use crate::model::{Era, ProtocolVersion};
use crate::secret::Secret;

/// A request that is answered without asking the server.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: i64,
    pub(super) detail: Cow<'static, str>,
    /// What else is said: what would be allowed, or what is wanted first.
    pub(super) header: Option<Box<(&'static str, Cow<'static, str>)>>,
}

impl Refusal {
    pub(super) fn new(status: u16, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code: code::INVALID_REQUEST, detail: detail.into(), header: None }
    }

    #[cfg(feature = "auth")]
    pub(super) fn with_header(self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        Self { header: Some(Box::new((name, value.into()))), ..self }
    }

    pub(super) fn error(&self) -> RpcError {
        RpcError::new(self.code, String::from(&*self.detail))
    }
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Post,
    Get,
    Delete,
    /// What a protected server says of itself, to anybody.
    Metadata,
}

/// What is wanted, and the token that is shown for it.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) verb: Verb,
    pub(super) token: Option<Secret>,
}

/// Which era a request's headers are of, as far as they tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionHeader {
    Absent,
    Known(ProtocolVersion),
    Unknown,
}

/// Decides by the head alone. The order is: who asks from where, for what, with which token, how.
pub(super) fn admit(head: &RequestHead, config: &HttpServerConfig, most_bytes: usize) -> Result<Admitted, Refusal> {
    check_host(head, config)?;
    let (_, path) = split_target(&head.target);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if is_for_metadata(head, path, config)? {
        return Ok(Admitted { verb: Verb::Metadata, token: None });
    }
    check_origin(head, config)?;
    if path != config.path {
        return Err(Refusal::new(404, alloc::format!("there is nothing here; the endpoint is {}", config.path)));
    }
    let verb = match &*head.method {
        "POST" => Verb::Post,
        "GET" => Verb::Get,
        "DELETE" => Verb::Delete,
        _ => return Err(Refusal::new(405, "the endpoint takes POST, GET and DELETE")),
    };
    let token = shown(head, config)?;
    if matches!(head.framing, Framing::Length(length) if length > most_bytes as u64) {
        return Err(Refusal::new(413, alloc::format!("a message may have {most_bytes} bytes")));
    }
    let [json, events] = head.headers.acceptance(["application/json", "text/event-stream"]);
    match verb {
        Verb::Post if !head.headers.content_type_is("application/json") => {
            Err(Refusal::new(415, "the body must be application/json"))
        }
        Verb::Post
            if head.headers.get("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) =>
        {
            Err(Refusal::new(415, "the body must not be encoded; Content-Encoding is not supported"))
        }
        Verb::Post if !(json && events) => {
            Err(Refusal::new(406, "the client must accept both application/json and text/event-stream"))
        }
        Verb::Get if !events => Err(Refusal::new(406, "the client must accept text/event-stream")),
        verb => Ok(Admitted { verb, token }),
    }
}

fn check_host(head: &RequestHead, config: &HttpServerConfig) -> Result<(), Refusal> {
    let Some(allowed) = &config.allowed_hosts else { return Ok(()) };
    let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(without_port(name)));
    let host = head.headers.get("host").unwrap_or_default();
    match is_allowed(host) && split_target(&head.target).0.is_none_or(is_allowed) {
        true => Ok(()),
        false => Err(Refusal::new(403, "the Host is none that this server goes by")),
    }
}

fn check_origin(head: &RequestHead, config: &HttpServerConfig) -> Result<(), Refusal> {
    let refused =
        || Err(Refusal::new(403, "pages of this Origin may not call this server; it is not in allowed_origins"));
    let origin = match head.headers.only("origin") {
        Ok(None) => return Ok(()),
        Ok(Some(origin)) => origin,
        Err(_) => return refused(),
    };
    let allowed = match (&config.allowed_origins, &config.allowed_hosts) {
        (Some(origins), _) => origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)),
        (None, Some(hosts)) => origin
            .split_once("://")
            .is_some_and(|(_, host)| hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(without_port(host)))),
        // Where any name is good, a page whose own name was made to lead here (DNS rebinding) cannot be told from others.
        (None, None) => false,
    };
    if allowed { Ok(()) } else { refused() }
}

/// The host and the path of a target. A whole URL is as good as a path (RFC 9112 section 3.2.2), though only proxies
/// are meant to get one.
fn split_target(target: &str) -> (Option<&str>, &str) {
    let Some((_, rest)) = target.split_once("://").filter(|_| !target.starts_with('/')) else { return (None, target) };
    match rest.find(['/', '?']) {
        Some(at) => (Some(&rest[..at]), &rest[at..]),
        None => (Some(rest), "/"),
    }
}

/// `[::1]:80` is `[::1]`, `localhost:80` is `localhost`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

pub(super) fn version_header(head: &RequestHead) -> Result<VersionHeader, Refusal> {
    match head.headers.only("mcp-protocol-version") {
        Ok(None) => Ok(VersionHeader::Absent),
        Ok(Some(version)) => Ok(ProtocolVersion::parse(version).map_or(VersionHeader::Unknown, VersionHeader::Known)),
        Err(_) => Err(Refusal {
            status: 400,
            code: code::HEADER_MISMATCH,
            detail: "MCP-Protocol-Version is there twice".into(),
            header: None,
        }),
    }
}

impl VersionHeader {
    pub(super) fn is_modern(self) -> bool {
        matches!(self, Self::Known(version) if version.era() == Era::Modern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::http1::{Bounds, Frame, RequestDecoder};

    fn head(text: &str) -> RequestHead {
        let Ok((_, Some(Frame::Head(head)))) = RequestDecoder::new(Bounds::default()).next(text.as_bytes()) else {
            panic!("{text}")
        };
        head
    }

    fn status(lines: &str) -> u16 {
        let head = head(&alloc::format!("{lines}\r\n\r\n"));
        admit(&head, &HttpServerConfig::on_loopback(), 100).map_or_else(|refusal| refusal.status, |_| 200)
    }

    const POST: &str = "POST /mcp HTTP/1.1\r\nContent-Type: application/json; charset=utf-8\r\n\
        Accept: application/json, text/event-stream\r\n";

    #[test]
    fn hosts_and_origins() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]", "[::1]:8080"] {
            assert_eq!(status(&alloc::format!("{POST}Host: {host}")), 200, "{host}");
        }
        for host in ["evil.example.com", "localhost.evil.example", "127.0.0.2", "::1"] {
            assert_eq!(status(&alloc::format!("{POST}Host: {host}")), 403, "{host}");
        }
        for (origin, expected) in
            [("http://localhost:3000", 200), ("https://[::1]", 200), ("http://evil.example.com", 403), ("null", 403)]
        {
            assert_eq!(status(&alloc::format!("{POST}Host: localhost\r\nOrigin: {origin}")), expected, "{origin}");
        }
    }

    #[test]
    fn what_is_asked_for_and_how() {
        let with = |first: &str, rest: &str| status(&alloc::format!("{first} HTTP/1.1\r\nHost: localhost\r\n{rest}"));
        assert_eq!(with("GET /mcp", "Accept: text/event-stream"), 200);
        assert_eq!(with("GET /mcp?x=1", "Accept: */*"), 200);
        assert_eq!(with("GET /mcp", "Accept: application/json"), 406);
        assert_eq!(with("GET /mcp", "X: y"), 406);
        assert_eq!(with("GET /other", "Accept: text/event-stream"), 404);
        assert_eq!(with("PUT /mcp", "X: y"), 405);
        assert_eq!(with("DELETE /mcp", "X: y"), 200);
        assert_eq!(with("POST /mcp", "Content-Type: text/plain\r\nAccept: */*"), 415);
        let encoded = |coding: &str| {
            with(
                "POST /mcp",
                &alloc::format!("Content-Type: application/json\r\nAccept: */*\r\nContent-Encoding: {coding}"),
            )
        };
        assert_eq!((encoded("gzip"), encoded("identity, br"), encoded("Identity")), (415, 415, 200));
        assert_eq!(with("POST /mcp", "Content-Type: application/json\r\nAccept: application/json"), 406);
        assert_eq!(with("POST /mcp", "Content-Type: application/json\r\nAccept: */*\r\nContent-Length: 101"), 413);
        assert_eq!(with("POST /mcp", "Content-Type: application/json\r\nAccept: */*\r\nContent-Length: 100"), 200);
    }
}
