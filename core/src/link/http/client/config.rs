//! How a client reaches its server over HTTP.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

#[cfg(feature = "auth")]
use crate::auth::AuthConfig;
use crate::codec::http1::{Framing, Headers, Unsendable, write_request};
use crate::entropy::Seed;
use crate::url::{Url, UrlError};

/// Where the server is, and how much of everything a client puts up with on the way there.
///
/// ```
/// use windlass::link::http::HttpClientConfig;
///
/// let config = HttpClientConfig::new("https://example.com/mcp")?.header("Authorization", "Bearer secret")?;
/// assert!(!format!("{config:?}").contains("secret"));
/// assert!(HttpClientConfig::new("https://example.com/mcp")?.header("Mcp-Method", "x").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpClientConfig {
    /// The address of the server.
    pub url: Url,
    /// Headers of the program's own, sent with every request.
    pub(super) headers: Headers,
    /// Whether to open a stream on which a legacy server may speak unasked. Most do not offer one, and say so.
    pub listen: bool,
    /// Whether the program answers [`ClientEvent::Challenged`](crate::client::ClientEvent::Challenged). If it does not,
    /// 401 and 403 are errors like any other.
    pub answers_challenges: bool,
    /// How long an answer to a challenge may take. Five minutes are enough for a person to log in.
    pub challenge_timeout: Duration,
    /// Redirects that one request follows, within its origin. One is usual, for a slash at the end.
    pub redirects: u32,
    /// Tries in a row to open a stream again that broke, without an event or ten seconds of quiet in between.
    pub reconnects: u32,
    /// How long to wait before the first of them, if the server does not say. What the server says is obeyed up to a day.
    /// As long as a stream that is opened again brings no message that is new, each wait is twice the one before, up to
    /// half a minute or what the server says.
    pub reconnect_after: Duration,
    /// What the waits are spread with, so that clients that lost a server together do not come back together: all but the
    /// first are up to a quarter longer, at random. Adapters draw one for each client; without one nothing is spread.
    pub seed: Option<Seed>,
    /// How long a notification or an answer may take to be delivered.
    pub message_timeout: Duration,
    /// How long a call is held back at the word of a server that is busy (429 or 503 with `Retry-After` in seconds) before
    /// it is made again, once, if that does no harm; one that asks for more, or for longer than the call may still take, is
    /// told to the program at once. Zero holds none back. 10 s are what a server takes to restart, and less than people
    /// wait for.
    pub retry_after: Duration,
    /// How long a server may take to say goodbye.
    pub close_timeout: Duration,
    /// Connections at a time. Each call that waits needs one, as does each subscription; beyond it calls wait for their
    /// turn. Proxies commonly allow a hundred or so for one client. The stream on which a legacy server speaks unasked comes
    /// on top, and so do a few for messages that calls may wait for.
    pub connections: usize,
    /// Connections kept open for later calls. With fewer than there are calls under way, those that are answered at the
    /// same moment lose their connections unless other calls wait, and the calls after them open new ones again and again.
    pub idle_connections: usize,
    /// How long a connection is kept without use. Servers close theirs after 5 to 75 seconds.
    pub idle_timeout: Duration,
    /// Headers of the program's own that are asked for with each request.
    pub(super) request_headers: Option<Arc<dyn RequestHeaders>>,
    /// How the client is authorized, if it has to be.
    #[cfg(feature = "auth")]
    pub(super) authorization: Option<AuthorizationSetup>,
}

/// What the authorization of a client is made from.
#[cfg(feature = "auth")]
#[derive(Clone)]
pub(super) struct AuthorizationSetup {
    pub(super) config: Arc<AuthConfig>,
    pub(super) seed: Seed,
    pub(super) unix_time_at_zero: Duration,
}

impl HttpClientConfig {
    /// A client of the server at `url`.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        Ok(Self {
            url: Url::parse(url)?,
            headers: Headers::new(),
            listen: true,
            answers_challenges: false,
            challenge_timeout: Duration::from_secs(300),
            redirects: 3,
            reconnects: 5,
            reconnect_after: Duration::from_secs(1),
            seed: None,
            message_timeout: Duration::from_secs(30),
            retry_after: Duration::from_secs(10),
            close_timeout: Duration::from_secs(2),
            connections: 64,
            idle_connections: 64,
            idle_timeout: Duration::from_secs(30),
            request_headers: None,
            #[cfg(feature = "auth")]
            authorization: None,
        })
    }

    /// Asks for headers with each request: tokens that do not last, signatures, the span of a trace. They take the place of
    /// their namesakes.
    #[must_use]
    pub fn request_headers(mut self, source: Arc<dyn RequestHeaders>) -> Self {
        self.request_headers = Some(source);
        self
    }

    /// Has the client authorized by OAuth when the server wants that. What is drawn at random is drawn from `seed`, and
    /// `unix_time_at_zero` is the wall clock at [`Instant::ZERO`](crate::Instant::ZERO), since 1970.
    ///
    /// The program then answers [`ClientEvent::Store`](crate::client::ClientEvent::Store), and
    /// [`ClientEvent::Prompt`](crate::client::ClientEvent::Prompt) if it said that it does.
    #[cfg(feature = "auth")]
    #[must_use]
    pub fn authorization(mut self, config: AuthConfig, seed: Seed, unix_time_at_zero: Duration) -> Self {
        self.authorization = Some(AuthorizationSetup { config: Arc::new(config), seed, unix_time_at_zero });
        self
    }

    /// Sends a header with every request: credentials, a tenant, a user agent.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, HeaderError> {
        check_header(name, value)?;
        self.headers.push(name, value);
        Ok(self)
    }
}

/// Where headers come from that are another's for each request. A function is one.
///
/// ```
/// use std::sync::Arc;
/// use windlass::link::http::{HttpClientConfig, Url};
///
/// let signed = |method: &str, url: &Url| vec![("X-Signature".to_string(), format!("{method} {}", url.target()))];
/// let config = HttpClientConfig::new("https://example.com/mcp")?.request_headers(Arc::new(signed));
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
pub trait RequestHeaders: Send + Sync {
    /// The headers of a request that is about to be made. It is called where the connection is driven: do not wait in it.
    fn headers(&self, method: &str, url: &Url) -> Vec<(String, String)>;
}

impl<F: Fn(&str, &Url) -> Vec<(String, String)> + Send + Sync> RequestHeaders for F {
    fn headers(&self, method: &str, url: &Url) -> Vec<(String, String)> {
        self(method, url)
    }
}

impl fmt::Debug for HttpClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientConfig")
            .field("url", &self.url)
            .field("headers", &Names(&self.headers))
            .field("listen", &self.listen)
            .field("answers_challenges", &self.answers_challenges)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// Headers without their values: any of them may be a secret.
pub(super) struct Names<'a>(pub(super) &'a Headers);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Why a header cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// Its name or value holds what a header cannot hold.
    Unsendable(Unsendable),
    /// The protocol itself sends it.
    Reserved,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsendable(why) => write!(f, "{why}"),
            Self::Reserved => f.write_str("this header is sent by the client itself"),
        }
    }
}

impl core::error::Error for HeaderError {}

/// Whether the program may send this header.
pub(super) fn check_header(name: &str, value: &str) -> Result<(), HeaderError> {
    const OURS: [&str; 8] = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "content-type",
        "accept",
        "last-event-id",
        "accept-encoding",
    ];
    let ours = OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name));
    if ours || name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("mcp-")) {
        return Err(HeaderError::Reserved);
    }
    is_sendable(name, value).map_err(HeaderError::Unsendable)
}

/// Whether a header can stand in a head.
pub(super) fn is_sendable(name: &str, value: &str) -> Result<(), Unsendable> {
    write_request(&mut alloc::vec::Vec::new(), "GET", "/", [("Host", "h"), (name, value)], Framing::Empty)
}
