//! Which URLs that a server names may be fetched.
//!
//! A server says where its metadata, its authorization server and their endpoints are. A client that fetched whatever it is
//! told to would ask, in the server's place, machines that only the client can reach: itself, its router, the service where
//! a cloud keeps secrets. So a URL is judged by its text here, before anything is done with it; and what its name resolves
//! to is judged by whoever connects, because a name may lead anywhere (`HttpTarget::public_only`).
//!
//! Hosts are read as the adapters read them for dialling: by [`numeric_address`] and [`is_localhost`].

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

pub use crate::address::is_public;
use crate::address::{is_below, is_localhost, numeric_address, without_root};
use crate::url::{Url, UrlError, redacted};

#[cfg(test)]
mod tests;

/// What is allowed beyond https to public addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardPolicy {
    /// Whether `http` will do, which anybody on the way can read and change.
    pub allow_http: bool,
    /// Whether addresses of this machine and of private networks may be reached, and names that only those have: for local
    /// development alone, or where the authorization server is in a network of one's own.
    pub allow_private: bool,
    /// Hosts that endpoints may have beside the issuer's own. Capitals make no difference, nor does a dot at the end.
    pub allowed_hosts: Vec<String>,
}

/// A URL that is not fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UrlRefused {
    /// The URL, without what may be secret in it.
    pub url: String,
    /// Why not.
    pub reason: RefusalReason,
}

/// Why a URL is not fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It is none.
    Invalid(UrlError),
    /// It is not secured.
    NotHttps,
    /// Its host is an address that is not public, however it is written, or a name that only this machine or a private
    /// network has.
    NotPublic,
    /// Its host looks like a number, and is none or not the same one to everybody; or a part of its name is missing.
    Unclear,
    /// Its host is neither the one that it should be nor allowed.
    OtherHost {
        /// The one that it should be.
        expected: String,
    },
}

impl fmt::Display for UrlRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not fetched: ", self.url)?;
        match &self.reason {
            RefusalReason::Invalid(error) => write!(f, "{error}"),
            RefusalReason::NotHttps => f.write_str("it is not https; for local development allow http"),
            RefusalReason::NotPublic => {
                f.write_str("its host is no public address; for local development allow private addresses")
            }
            RefusalReason::Unclear => f.write_str("its host is neither a name nor an address that all read alike"),
            RefusalReason::OtherHost { expected } => {
                write!(f, "its host is not {expected}; if that is right, allow it by name")
            }
        }
    }
}

impl core::error::Error for UrlRefused {}

/// Domains whose names only this machine or a private network has, beside `localhost`: by RFC 6762 (multicast DNS), by the
/// resolution of ICANN of 2024, by RFC 8375 (homes), and by the files of hosts that systems come with. Whatever else networks
/// call themselves (`corp`, `lan`) is found out when it is looked up; these are known before, also by whoever asks a proxy,
/// which looks names up where the client cannot see it.
const PRIVATE_DOMAINS: [&str; 4] = ["local", "internal", "home.arpa", "localdomain"];

/// Characters of a URL that is shown. The reason for its refusal should not be lost behind it.
const SHOWN: usize = 500;

impl GuardPolicy {
    /// Reads a URL that a server named, if it may be fetched. `host` is the one that it has to have, unless others are
    /// allowed; without one any public host will do.
    ///
    /// A name may still lead to an address that is not public. Requests for the URL have to be made with
    /// `HttpRequest::public_only` unless private addresses are allowed.
    ///
    /// # Errors
    ///
    /// When it may not be.
    ///
    /// ```
    /// use windlass::auth::{GuardPolicy, RefusalReason};
    ///
    /// let guard = GuardPolicy::default();
    /// assert!(guard.check("https://as.example/token", Some("as.example")).is_ok());
    /// for url in ["https://169.254.169.254/", "https://0x7f.1/", "https://[::ffff:10.0.0.1]/", "https://localhost./"] {
    ///     assert_eq!(guard.check(url, None).unwrap_err().reason, RefusalReason::NotPublic);
    /// }
    /// ```
    pub fn check(&self, url: &str, host: Option<&str>) -> Result<Url, UrlRefused> {
        let refuse = |reason| UrlRefused { url: shown(url), reason };
        let parsed = Url::parse(url).map_err(|error| refuse(RefusalReason::Invalid(error)))?;
        if has_odd_letters(parsed.target()) {
            return Err(refuse(RefusalReason::Invalid(UrlError::Path)));
        }
        if !parsed.is_secure() && !self.allow_http {
            return Err(refuse(RefusalReason::NotHttps));
        }
        if !self.allow_private && !may_be_public(parsed.host()) {
            return Err(refuse(RefusalReason::NotPublic));
        }
        if is_unclear(parsed.host()) {
            return Err(refuse(RefusalReason::Unclear));
        }
        if let Some(host) = host.filter(|host| !is_same_host(parsed.host(), host)) {
            if !self.allowed_hosts.iter().any(|allowed| is_same_host(parsed.host(), allowed)) {
                return Err(refuse(RefusalReason::OtherHost { expected: host.to_string() }));
            }
        }
        Ok(parsed)
    }
}

/// Whether a text has letters that RFC 3986 allows in no URL; whatever it is handed to may take them for more than letters.
pub(super) fn has_odd_letters(text: &str) -> bool {
    text.contains(['"', '<', '>', '\\', '^', '`', '{', '|', '}'])
}

/// A page that a server named, on its own host, and that is not shown to anybody.
#[cfg(feature = "client")]
pub(super) fn odd_page(url: &str) -> UrlRefused {
    UrlRefused { url: shown(url), reason: RefusalReason::Invalid(UrlError::Path) }
}

/// Whether a host is a public address, or a name that may have one.
fn may_be_public(host: &str) -> bool {
    if let Some(address) = numeric_address(host) {
        return is_public(address);
    }
    let name = without_root(host);
    // A name without a dot is looked up among those of the network, or of this machine: no domain at the top has an address.
    name.contains('.') && !is_localhost(name) && !PRIVATE_DOMAINS.iter().any(|domain| is_below(name, domain))
}

/// Whether others might read a host otherwise than we do, as a proxy that is asked for it.
fn is_unclear(host: &str) -> bool {
    if host.contains(':') {
        return false;
    }
    let mut labels = without_root(host).split('.');
    match numeric_address(host) {
        // Octal to the one, decimal to the other.
        Some(_) => labels.any(|number| matches!(number.as_bytes(), [b'0', b'0'..=b'9', ..])),
        // No domain at the top begins with a digit: it is one more way to write a number.
        None => {
            labels.clone().any(str::is_empty)
                || labels.next_back().is_some_and(|top| top.as_bytes()[0].is_ascii_digit())
        }
    }
}

/// Whether two hosts are the same, as they are written: capitals make no difference, nor does the dot of the root, nor do
/// brackets.
fn is_same_host(host: &str, other: &str) -> bool {
    fn bare(host: &str) -> &str {
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(without_root(host))
    }
    bare(host).eq_ignore_ascii_case(bare(other))
}

/// A URL that is none of ours, as it may be shown.
fn shown(url: &str) -> String {
    let visible = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    redacted(url).chars().take(SHOWN).map(visible).collect()
}
