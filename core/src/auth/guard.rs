//! Which URLs that a server names may be fetched.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use crate::url::{Url, redacted};

/// What is allowed beyond https to public addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardPolicy {
    /// Whether `http` will do, which anybody on the way can read and change.
    pub allow_http: bool,
    /// Whether addresses of this machine and of private networks may be reached: for local development alone.
    pub allow_private: bool,
    /// Hosts that endpoints may have beside the issuer's own.
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
    Invalid(crate::url::UrlError),
    /// It is not secured.
    NotHttps,
    /// Its host is an address that is not public, however it is written.
    NotPublic,
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
            RefusalReason::OtherHost { expected } => {
                write!(f, "its host is not {expected}; if that is right, allow it by name")
            }
        }
    }
}

impl core::error::Error for UrlRefused {}

impl GuardPolicy {
    /// Reads a URL that a server named, if it may be fetched. `host` is the one that it has to have, unless others are
    /// allowed; without one any public host will do.
    ///
    /// # Errors
    ///
    /// When it may not be.
    pub fn check(&self, url: &str, host: Option<&str>) -> Result<Url, UrlRefused> {
        let refuse = |reason| UrlRefused { url: redacted(url), reason };
        let parsed = Url::parse(url).map_err(|error| refuse(RefusalReason::Invalid(error)))?;
        if !parsed.is_secure() && !self.allow_http {
            return Err(refuse(RefusalReason::NotHttps));
        }
        if let Some(host) = host.filter(|host| !parsed.host().eq_ignore_ascii_case(host)) {
            if !self.allowed_hosts.iter().any(|allowed| parsed.host().eq_ignore_ascii_case(allowed)) {
                return Err(refuse(RefusalReason::OtherHost { expected: host.to_string() }));
            }
        }
        Ok(parsed)
    }
}

/// Whether an address can be anybody's: not this machine's, nor a private network's, nor reserved.
pub fn is_public(address: IpAddr) -> bool {
    !address.is_loopback()
}
