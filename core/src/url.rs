//! Addresses: as much of a URL as a client needs to find its server and to stay with it.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv6Addr;
use core::ops::Range;

use crate::secret::redacted_behind;

/// The address of an HTTP resource: `http` or `https`, a host, a port, a path with its query.
///
/// ```
/// use windlass::link::http::Url;
///
/// let url = Url::parse("https://example.com/mcp?tenant=7#top")?;
/// assert_eq!((url.host(), url.port(), url.is_secure()), ("example.com", 443, true));
/// assert_eq!((url.target(), url.authority()), ("/mcp?tenant=7", "example.com"));
/// assert_eq!(url.as_str(), "https://example.com/mcp?tenant=7");
/// assert!(Url::parse("https://user:secret@example.com/").is_err());
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    text: Arc<str>,
    secure: bool,
    /// Without the brackets of an IPv6 address.
    host: Range<usize>,
    /// The host with its brackets, and the port if it was written.
    authority: Range<usize>,
    port: u16,
}

/// Why a text is no address that a client can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// It begins with neither `http://` nor `https://`.
    Scheme,
    /// It holds a user name or a password. They would end up in logs; a header is the place for them.
    Credentials,
    /// The host is missing, or holds what a host cannot hold. Names beyond ASCII are written in Punycode.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// The path or query holds blanks, control characters or text beyond ASCII, which have to be percent-encoded.
    Path,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "the URL does not begin with http:// or https://",
            Self::Credentials => "the URL holds a user name or password; send credentials in a header instead",
            Self::Host => "the URL has no host, or one with characters that a host cannot have",
            Self::Port => "the port in the URL is not a number from 1 to 65535",
            Self::Path => "the path of the URL has characters that must be percent-encoded",
        })
    }
}

impl core::error::Error for UrlError {}

impl Url {
    /// Reads an address. A fragment is dropped: it is never sent.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.trim_ascii();
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let secure = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ => return Err(UrlError::Scheme),
        };
        let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        if target.starts_with('\\') {
            return Err(UrlError::Host);
        }
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Path);
        }
        let (host, port) = split_authority(authority)?;
        let scheme = if secure { "https://" } else { "http://" };
        let slash = if target.starts_with('/') { "" } else { "/" };
        let text = [scheme, &authority.to_ascii_lowercase(), slash, target].concat();
        let start = scheme.len();
        Ok(Self {
            text: text.into(),
            secure,
            host: start + host.start..start + host.end,
            authority: start..start + authority.len(),
            port: port.unwrap_or(if secure { 443 } else { 80 }),
        })
    }

    /// Whether the connection is to be encrypted.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host, to connect to: a name or an address, an IPv6 one without brackets.
    pub fn host(&self) -> &str {
        &self.text[self.host.clone()]
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host and, if it was written, the port: what goes into the `Host` header.
    pub fn authority(&self) -> &str {
        &self.text[self.authority.clone()]
    }

    /// The path and the query, as they go into a request line.
    pub fn target(&self) -> &str {
        &self.text[self.authority.end..]
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether both are of the same scheme, host and port, so that what one may know the other may.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (self.secure, self.host(), self.port) == (other.secure, other.host(), other.port)
    }

    /// The address that `reference` means when it is found in a resource of this address.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        let reference = reference.trim_ascii();
        let reference = reference.split_once('#').map_or(reference, |(before, _)| before);
        let scheme_end = reference.find(':').filter(|&at| reference.find(['/', '?']).is_none_or(|other| at < other));
        if scheme_end.is_some() {
            return Self::parse(reference);
        }
        let origin = &self.text[..self.authority.end];
        if reference.starts_with("//") {
            let scheme = if self.secure { "https:" } else { "http:" };
            return Self::parse(&[scheme, reference].concat());
        }
        let path = self.target().split('?').next().unwrap_or("/");
        let joined = match reference.as_bytes().first() {
            None => self.target().to_string(),
            Some(b'?') => [path, reference].concat(),
            Some(b'/') => without_dots(reference),
            Some(_) => {
                let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
                without_dots(&[folder, reference].concat())
            }
        };
        Self::parse(&[origin, &joined].concat())
    }
}

/// For logs, so without what may be a secret.
impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(&self.text))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A URL as it may be shown to people and in logs: without a user name and password, and without the values of its
/// query, either of which may be secrets. Any text is taken, also one that is no URL.
///
/// ```
/// use windlass::link::http::redacted;
///
/// assert_eq!(redacted("https://me:secret@example.com/mcp?key=secret&on"), "https://…@example.com/mcp?key=…&…");
/// ```
pub fn redacted(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = url.split_at(start);
    let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    // A password may hold what ends the authority if it is not encoded; what is no URL is taken for that.
    let credentials_end = match authority.rfind('@') {
        None if Url::parse(url).is_err() => rest.rfind('@'),
        end => end,
    };
    redacted_behind(credentials_end, scheme, rest)
}

/// Where the host is in an authority, and the port behind it.
fn split_authority(authority: &str) -> Result<(Range<usize>, Option<u16>), UrlError> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let end = inner.find(']').ok_or(UrlError::Host)?;
            // What is no address would be taken for a name by whoever looks it up.
            inner[..end].parse::<Ipv6Addr>().map_err(|_| UrlError::Host)?;
            (1..1 + end, &inner[end + 1..])
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
            if end == 0 || !authority[..end].bytes().all(valid) {
                return Err(UrlError::Host);
            }
            (0..end, &authority[end..])
        }
    };
    let port = match rest.strip_prefix(':') {
        // A colon without a port is allowed, and means the usual one.
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok().filter(|port| *port > 0).ok_or(UrlError::Port)?)
        }
        Some(_) => return Err(UrlError::Port),
        None if rest.is_empty() => None,
        None => return Err(UrlError::Host),
    };
    Ok((host, port))
}

/// Resolves `.` and `..` in a path, as RFC 3986 section 5.2.4 has it. The query is left alone.
fn without_dots(target: &str) -> String {
    let (path, query) = match target.find('?') {
        Some(at) => target.split_at(at),
        None => (target, ""),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    ["/", &kept.join("/"), query].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (text, host, port, target, authority) in [
            ("http://localhost:3000", "localhost", 3000, "/", "localhost:3000"),
            ("HTTPS://Example.COM/Mcp", "example.com", 443, "/Mcp", "example.com"),
            ("http://[::1]:80/x", "::1", 80, "/x", "[::1]:80"),
            ("https://[2001:DB8::1]/", "2001:db8::1", 443, "/", "[2001:db8::1]"),
            (" http://a?q=1#f ", "a", 80, "/?q=1", "a"),
            ("http://a:/b", "a", 80, "/b", "a:"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.host(), url.port(), url.target(), url.authority()), (host, port, target, authority));
            assert_eq!(Url::parse(url.as_str()), Ok(url));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, why) in [
            ("example.com/mcp", UrlError::Scheme),
            ("file:///etc/passwd", UrlError::Scheme),
            ("httpx://a", UrlError::Scheme),
            ("http://u:p@a/", UrlError::Credentials),
            ("http://a@b", UrlError::Credentials),
            ("http:///x", UrlError::Host),
            ("http://[::1/", UrlError::Host),
            ("http://[localhost]/", UrlError::Host),
            ("http://[::1]x/", UrlError::Host),
            ("http://[]/", UrlError::Host),
            ("http://[1:2]/", UrlError::Host),
            ("http://[127.0.0.1]/", UrlError::Host),
            ("http://[::127.1]/", UrlError::Host),
            ("http://[fe80::1%25eth0]/", UrlError::Host),
            ("http://[fe80::1%eth0]/", UrlError::Host),
            ("http://ex ample/", UrlError::Host),
            ("http://a\\b", UrlError::Host),
            ("http://müller/", UrlError::Host),
            ("http://a:0/", UrlError::Port),
            ("http://a:65536/", UrlError::Port),
            ("http://a:+1/", UrlError::Port),
            ("http://a/b c", UrlError::Path),
            ("http://a/\r\nX: y", UrlError::Path),
            ("http://a/ü", UrlError::Path),
        ] {
            assert_eq!(Url::parse(text), Err(why), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for (url, shown) in [
            ("https://example.com/mcp", "https://example.com/mcp"),
            ("https://example.com/@scope/mcp", "https://example.com/@scope/mcp"),
            ("http://u:p@h/x?k=v#f", "http://…@h/x?k=…"),
            ("http://u:p/w@h/x", "http://…@h/x"),
            ("http://u:p?w@h/x", "http://…@h/x"),
            ("http://u:p#w@h", "http://…@h"),
            ("u:p@h", "…@h"),
            ("https://h/?token", "https://h/?…"),
            ("https://h/?a=b=c&d=&e", "https://h/?a=…&d=…&…"),
            ("https://h?a=b", "https://h?a=…"),
            ("", ""),
        ] {
            assert_eq!(redacted(url), shown, "{url}");
        }
        let url = Url::parse("https://h/?key=secret").unwrap();
        assert!(!alloc::format!("{url:?}").contains("secret") && url.as_str().contains("secret"));
    }

    #[test]
    fn references_are_resolved() {
        let base = Url::parse("http://h:8/a/b/sse?x=1").unwrap();
        for (reference, resolved) in [
            ("messages?s=1", "http://h:8/a/b/messages?s=1"),
            ("/messages?s=1", "http://h:8/messages?s=1"),
            ("?s=1", "http://h:8/a/b/sse?s=1"),
            ("", "http://h:8/a/b/sse?x=1"),
            ("../m", "http://h:8/a/m"),
            ("../../../m/./n/..", "http://h:8/m/"),
            ("http://other/x", "http://other/x"),
            ("//other/x", "http://other/x"),
            ("/m?u=http://z", "http://h:8/m?u=http://z"),
        ] {
            assert_eq!(base.join(reference).unwrap().as_str(), resolved, "{reference}");
        }
        assert_eq!(base.join("javascript:alert(1)"), Err(UrlError::Scheme));
        assert!(base.is_same_origin(&base.join("/x").unwrap()));
        assert!(!base.is_same_origin(&base.join("https://h:8/").unwrap()));
        assert!(!base.is_same_origin(&base.join("http://h/").unwrap()));
    }
}
