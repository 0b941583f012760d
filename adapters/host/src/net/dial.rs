//! How to reach a server.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use windlass::link::http::{is_localhost, is_public, numeric_address};

use super::proxy::ProxySettings;
#[cfg(feature = "tls")]
use super::tls::TlsOptions;

/// How connections to HTTP servers are made: whom to trust, through which proxy, how long to try.
///
/// ```
/// use std::time::Duration;
/// use windlass_host::{DialOptions, ProxySettings};
///
/// let options = DialOptions::new()
///     .proxy(ProxySettings::from_environment())
///     .connect_timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
pub struct DialOptions {
    #[cfg(feature = "tls")]
    pub(super) tls: TlsOptions,
    pub(super) proxy: ProxySettings,
    pub(super) connect_timeout: Duration,
    pub(super) unix_socket: Option<PathBuf>,
    pub(super) resolver: Resolver,
}

/// What looks up a name, and waits meanwhile. The system does; tests have names of their own.
pub(super) type Resolver = fn(host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

impl DialOptions {
    /// Straight to the server, trusting whom the platform trusts, for half a minute.
    pub fn new() -> Self {
        Self {
            #[cfg(feature = "tls")]
            tls: TlsOptions::new(),
            proxy: ProxySettings::none(),
            // Long enough for a lost packet or two and a resolver that tries its second server.
            connect_timeout: Duration::from_secs(30),
            unix_socket: None,
            resolver: |host, port| Ok((host, port).to_socket_addrs()?.collect()),
        }
    }

    /// Whom to trust, and what to show.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(self, tls: TlsOptions) -> Self {
        Self { tls, ..self }
    }

    /// Which connections go through a proxy. None do unless this is called. A proxy looks names up itself: that hosts
    /// named by a server are reached at public addresses only is then up to it, unless they are addresses.
    #[must_use]
    pub fn proxy(self, proxy: ProxySettings) -> Self {
        Self { proxy, ..self }
    }

    /// How long it may take until a connection can be used: the lookup of its name, all its addresses, the proxy and
    /// the TLS handshake together. Half a minute unless this is called.
    #[must_use]
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout, ..self }
    }

    /// Reaches the server through a Unix socket. The host in its URL is then only what it is called by, in `Host` and
    /// in its certificate; proxies are not used. Hosts that the server has named, to be reached at public addresses only,
    /// are not reached through it: it leads to none.
    #[must_use]
    pub fn unix_socket(self, path: impl Into<PathBuf>) -> Self {
        Self { unix_socket: Some(path.into()), ..self }
    }
}

impl Default for DialOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// A name, or an address; an IPv6 address with or without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether the connection is secured.
    pub(crate) tls: bool,
    /// Whether it may lead to public addresses only: a server has named the host, not the program.
    pub(crate) public_only: bool,
}

impl Address {
    /// The host without brackets.
    pub(super) fn bare_host(&self) -> &str {
        bare(&self.host)
    }

    /// Whether nothing has to be looked up to know that it may not be reached.
    pub(super) fn is_forbidden(&self) -> bool {
        let known = known_addresses(&self.host).filter(|_| self.public_only);
        known.is_some_and(|addresses| !addresses.into_iter().any(is_public))
    }
}

/// As in a URL: `example.org:443`, `[::1]:443`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Authority(&self.host, self.port))
    }
}

/// A host and a port as in a URL.
pub(super) struct Authority<'a>(pub(super) &'a str, pub(super) u16);

impl fmt::Display for Authority<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = (bare(self.0), self.1);
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// A host without the brackets that an IPv6 address has in a URL.
pub(super) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// The addresses of a host that need no lookup: literals in every spelling, so that the system cannot read them otherwise
/// than whoever judged the URL; and the names of this machine (RFC 6761), which no resolver is to be trusted with.
pub(super) fn known_addresses(host: &str) -> Option<Vec<IpAddr>> {
    if let Some(address) = numeric_address(bare(host)) {
        return Some(vec![address]);
    }
    // A server may listen on one of the two only, and which one differs between platforms.
    is_localhost(host).then(|| vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()])
}

/// Whether a connection to `host` does not leave this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    is_localhost(host) || numeric_address(bare(host)).is_some_and(|address| address.to_canonical().is_loopback())
}
