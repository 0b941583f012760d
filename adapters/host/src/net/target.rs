//! Where a client finds its server.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "auth")]
use windlass::auth::AuthConfig;
use windlass::link::http::{HeaderError, HttpClientConfig, Url, UrlError};

#[cfg(feature = "tls")]
use super::TlsOptions;
use super::carrier::Carrier;
use super::{DialOptions, ProxySettings, Wake};
use crate::Clock;
#[cfg(feature = "auth")]
use crate::auth::SharedStore;

/// A server that is reached over HTTP.
///
/// ```
/// use windlass_host::HttpTarget;
///
/// let target = HttpTarget::new("https://example.com/mcp")?.with_header("X-Team", "blue")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HttpTarget {
    pub(crate) config: HttpClientConfig,
    pub(crate) dial: DialOptions,
    pub(crate) carrier: Option<NewCarrier>,
    #[cfg(feature = "auth")]
    pub(crate) authorization: Option<Authorization>,
}

/// How a client is authorized, and where what was granted is kept.
#[cfg(feature = "auth")]
#[derive(Clone, Debug)]
pub(crate) struct Authorization {
    pub(crate) config: AuthConfig,
    pub(crate) store: SharedStore,
}

/// Makes a carrier for one client.
#[derive(Clone)]
pub(crate) struct NewCarrier(pub(crate) Arc<dyn Fn(Clock, Wake) -> Box<dyn Carrier> + Send + Sync>);

impl fmt::Debug for NewCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewCarrier")
    }
}

impl HttpTarget {
    /// The server at a URL, through the proxy that the environment names, if any.
    ///
    /// # Errors
    ///
    /// When it is no URL that a client can use.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        let dial = DialOptions::new().proxy(ProxySettings::from_environment());
        Ok(Self {
            config: HttpClientConfig::new(url)?,
            dial,
            carrier: None,
            #[cfg(feature = "auth")]
            authorization: None,
        })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        self.config.url.as_str()
    }

    /// Sends a header with every request: a token, for one.
    ///
    /// # Errors
    ///
    /// When it cannot be a header, or is one that the client sends itself.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, HeaderError> {
        self.config = self.config.header(name, value)?;
        Ok(self)
    }

    /// Asks for headers with each request, by its method and address: tokens that do not last, signatures. The function is
    /// called where the connection is driven: do not block in it.
    #[must_use]
    pub fn with_request_headers(
        mut self,
        headers: impl Fn(&str, &Url) -> Vec<(String, String)> + Send + Sync + 'static,
    ) -> Self {
        self.config = self.config.request_headers(Arc::new(headers));
        self
    }

    /// Has the client authorized by OAuth when the server wants that, and keeps what is granted in `store`.
    ///
    /// ```
    /// use windlass_host::HttpTarget;
    /// use windlass_host::auth::{AuthConfig, FileStore, Grant};
    ///
    /// let config = AuthConfig::new(Grant::code("http://127.0.0.1:7777/callback"));
    /// # let folder = std::env::temp_dir().join("windlass-target-example");
    /// let target = HttpTarget::new("https://example.com/mcp")?.with_authorization(config, FileStore::new(folder));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "auth")]
    #[must_use]
    pub fn with_authorization(mut self, config: AuthConfig, store: impl Into<SharedStore>) -> Self {
        self.authorization = Some(Authorization { config, store: store.into() });
        self
    }

    /// Where what was granted is kept.
    #[cfg(feature = "auth")]
    pub(crate) fn store(&self) -> Option<SharedStore> {
        self.authorization.as_ref().map(|authorization| authorization.store.clone())
    }

    /// Changes how the client behaves.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut HttpClientConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Changes whom to trust and what to show on secured connections. The proxy and all else stay as they are.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: TlsOptions) -> Self {
        self.dial = self.dial.tls(tls);
        self
    }

    /// Changes how connections are made: whom to trust, which proxy, how long to try. It takes the place of all that
    /// was said before, and of the proxies that the environment names; `with_tls` keeps them.
    #[must_use]
    pub fn dial(mut self, dial: DialOptions) -> Self {
        self.dial = dial;
        self
    }

    /// Has requests made by another HTTP library, in place of connections of ours: proxies, trust and timeouts of
    /// connections are then its own affair, and [`dial`](Self::dial) changes nothing.
    ///
    /// `carrier` is called once for every client, with the clock by which to say when something came, and with what is
    /// to be called, from any thread, when something has come.
    #[must_use]
    pub fn through(
        mut self,
        carrier: impl Fn(Clock, Arc<dyn Fn() + Send + Sync>) -> Box<dyn Carrier> + Send + Sync + 'static,
    ) -> Self {
        self.carrier = Some(NewCarrier(Arc::new(carrier)));
        self
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn other_trust_keeps_the_proxy() {
        let proxy = ProxySettings::through("http://proxy.example:3128").unwrap();
        let dial = DialOptions::new().proxy(proxy).connect_timeout(Duration::from_secs(7));
        let target = HttpTarget::new("https://example.com/mcp").unwrap().dial(dial);
        let before = format!("{:?}", (&target.dial.proxy, target.dial.connect_timeout));
        let target = target.with_tls(TlsOptions::new().danger_accept_any_certificate());
        assert_eq!(format!("{:?}", (&target.dial.proxy, target.dial.connect_timeout)), before);
        assert!(before.contains("proxy.example") && before.contains("7s"), "{before}");
        let trusts_anybody = format!("{:?}", TlsOptions::new().danger_accept_any_certificate());
        assert_eq!(format!("{:?}", target.dial.tls), trusts_anybody);
        assert_ne!(format!("{:?}", TlsOptions::new()), trusts_anybody);
    }
}
