//! Which connections go through a proxy.
//!
//! There are many readings of the variables that say so; this one agrees with curl where that is well defined:
//!
//! | variable | for |
//! |---|---|
//! | `http_proxy`, `HTTP_PROXY` | `http://` servers |
//! | `https_proxy`, `HTTPS_PROXY` | `https://` servers |
//! | `all_proxy`, `ALL_PROXY` | both, where there is none of the above |
//! | `no_proxy`, `NO_PROXY` | hosts that are reached without one |
//!
//! In lower case they win. Empty ones are none.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass::link::http::numeric_address;

use super::dial::{Address, Authority, bare, is_loopback};

/// Which connections go through an HTTP proxy.
///
/// Every connection through a proxy is a tunnel (`CONNECT`), to `http://` servers too: nothing about it has to be known
/// where requests are made, and the proxy sees none of them. A proxy that allows tunnels to port 443 only, as some do,
/// refuses them for `http://` servers.
///
/// Servers on this machine are reached directly, unless [`including_loopback`](Self::including_loopback) is called.
///
/// ```
/// use windlass_host::ProxySettings;
///
/// let settings = ProxySettings::through("http://user:secret@proxy.example:3128")?.except("internal.example, .test");
/// assert!(!format!("{settings:?}").contains("secret"));
/// # Ok::<(), windlass_host::InvalidProxy>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ProxySettings {
    http: Option<Result<Proxy, InvalidProxy>>,
    https: Option<Result<Proxy, InvalidProxy>>,
    exceptions: Vec<Exception>,
    loopback: bool,
}

impl ProxySettings {
    /// No proxy at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// As the environment says. A proxy that cannot be used fails the connections that would need it, not this call.
    pub fn from_environment() -> Self {
        Self::from_variables(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// As these variables say.
    pub fn from_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables: BTreeMap<String, String> =
            variables.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect();
        let find = |names: &[&'static str]| {
            names.iter().find_map(|name| variables.get(*name).map(|value| (*name, value.trim())))
        };
        let proxy = |names: &[&'static str]| {
            find(names)
                .or_else(|| find(&["all_proxy", "ALL_PROXY"]))
                .map(|(name, url)| Proxy::parse(url).map_err(|why| InvalidProxy { source: name, ..why }))
        };
        // Under CGI the header `Proxy` of a request becomes `HTTP_PROXY`: anybody could set it (httpoxy).
        let http: &[&str] = match variables.contains_key("REQUEST_METHOD") {
            true => &["http_proxy"],
            false => &["http_proxy", "HTTP_PROXY"],
        };
        let settings = Self {
            http: proxy(http),
            https: proxy(&["https_proxy", "HTTPS_PROXY"]),
            exceptions: Vec::new(),
            loopback: false,
        };
        settings.except(find(&["no_proxy", "NO_PROXY"]).map_or("", |(_, list)| list))
    }

    /// Everything through this proxy: `http://host:port`, with `user:password@` before the host if it wants to know.
    ///
    /// # Errors
    ///
    /// When this is no URL of an HTTP proxy.
    pub fn through(url: &str) -> Result<Self, InvalidProxy> {
        let proxy = Proxy::parse(url)?;
        Ok(Self { http: Some(Ok(proxy.clone())), https: Some(Ok(proxy)), exceptions: Vec::new(), loopback: false })
    }

    /// Except for these: names with all names below them, addresses, each with a port if only that is meant, separated
    /// by commas or blanks; `*` for everything.
    #[must_use]
    pub fn except(mut self, list: &str) -> Self {
        let entries = list.split(|letter: char| letter == ',' || letter.is_whitespace());
        self.exceptions.extend(entries.filter(|entry| !entry.is_empty()).map(Exception::parse));
        self
    }

    /// Connections to this machine go through the proxy as well.
    #[must_use]
    pub fn including_loopback(self) -> Self {
        Self { loopback: true, ..self }
    }

    /// The proxy for a connection, if it has one.
    pub(super) fn for_address(&self, address: &Address) -> Option<&Result<Proxy, InvalidProxy>> {
        let direct = (!self.loopback && is_loopback(&address.host))
            || self.exceptions.iter().any(|exception| exception.covers(address));
        let proxy = if address.tls { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !direct)
    }
}

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// The value of `Proxy-Authorization`.
    pub(super) authorization: Option<String>,
}

impl Proxy {
    fn parse(url: &str) -> Result<Self, InvalidProxy> {
        let refuse = |detail: &'static str| Err(InvalidProxy { source: "the proxy's URL", detail });
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        if !scheme.eq_ignore_ascii_case("http") {
            return refuse("only proxies of the form http://host:port are supported");
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (credentials, host_and_port) = match authority.rsplit_once('@') {
            Some((credentials, rest)) => (Some(credentials), rest),
            None => (None, authority),
        };
        let (host, port) = match split_port(host_and_port) {
            (host, None) => (host, Ok(80)),
            (host, Some(port)) => (host, port.parse()),
        };
        let Ok(port) = port else { return refuse("its port is not a number up to 65535") };
        if host.is_empty() {
            return refuse("it has no host");
        }
        let authorization = match credentials {
            None => None,
            Some(credentials) => {
                let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
                match (percent_decode(user), percent_decode(password)) {
                    (Some(user), Some(password)) => {
                        let pair = [user.as_slice(), b":", &password].concat();
                        Some(format!("Basic {}", STANDARD.encode(pair)))
                    }
                    _ => return refuse("its credentials have a % that encodes nothing"),
                }
            }
        };
        Ok(Self { host: bare(host).to_owned(), port, authorization })
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Authority(&self.host, self.port).fmt(f)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("authorization", &self.authorization.as_ref().map(|_| "(hidden)"))
            .finish()
    }
}

/// Why a proxy cannot be used. It does not show the proxy's URL, which may have a password in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidProxy {
    /// Where its URL comes from.
    source: &'static str,
    detail: &'static str,
}

impl fmt::Display for InvalidProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy cannot be used: {} ({})", self.detail, self.source)
    }
}

impl std::error::Error for InvalidProxy {}

/// An entry of `NO_PROXY`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    Everything,
    Address(IpAddr, Option<u16>),
    /// A name in lower case, and all names below it.
    Name(String, Option<u16>),
}

impl Exception {
    fn parse(entry: &str) -> Self {
        if entry == "*" {
            return Self::Everything;
        }
        // An IPv6 address without brackets is all colons, and no port.
        if let Ok(address) = entry.parse() {
            return Self::Address(address, None);
        }
        let (host, port) = match split_port(entry) {
            (host, Some(port)) => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => (entry, None),
            },
            (host, None) => (host, None),
        };
        match bare(host).parse() {
            Ok(address) => Self::Address(address, port),
            Err(_) => {
                let name = host.strip_prefix('*').unwrap_or(host);
                Self::Name(plain_name(name.trim_start_matches('.')), port)
            }
        }
    }

    fn covers(&self, address: &Address) -> bool {
        let same_port = |port: &Option<u16>| port.is_none_or(|port| port == address.port);
        match self {
            Self::Everything => true,
            Self::Address(exempt, port) => {
                numeric_address(address.bare_host()).is_some_and(|host| host.to_canonical() == exempt.to_canonical())
                    && same_port(port)
            }
            Self::Name(exempt, port) => {
                // The end of an address is not what is above it.
                if numeric_address(address.bare_host()).is_some() {
                    return false;
                }
                let host = plain_name(&address.host);
                let below =
                    host.strip_suffix(exempt.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                !exempt.is_empty() && below && same_port(port)
            }
        }
    }
}

/// A name as it is compared: the dot of the root says nothing, nor do capitals.
fn plain_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Splits `host:port`; the colons in brackets are of the host.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    }
}

fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    Some(decoded)
}
