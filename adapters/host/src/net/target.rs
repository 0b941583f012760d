//! Where a client finds its server.

use windlass::link::http::{HeaderError, HttpClientConfig, UrlError};

use super::{DialOptions, ProxySettings};

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
}

impl HttpTarget {
    /// The server at a URL, through the proxy that the environment names, if any.
    ///
    /// # Errors
    ///
    /// When it is no URL that a client can use.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        let dial = DialOptions::new().proxy(ProxySettings::from_environment());
        Ok(Self { config: HttpClientConfig::new(url)?, dial })
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

    /// Changes how the client behaves.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut HttpClientConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Changes how connections are made: whom to trust, which proxy, how long to try.
    #[must_use]
    pub fn dial(mut self, dial: DialOptions) -> Self {
        self.dial = dial;
        self
    }
}
