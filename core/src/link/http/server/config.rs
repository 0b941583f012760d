//! What an HTTP server is configured with.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

#[cfg(feature = "auth")]
use crate::auth::ProtectedResource;
use crate::codec::http1;

/// How a server behaves towards the clients that reach it over HTTP.
///
/// ```
/// use windlass::link::http::HttpServerConfig;
///
/// let config = HttpServerConfig::on_loopback();
/// assert!(config.allowed_hosts.is_some(), "a page in a browser cannot reach it under another name");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpServerConfig {
    /// The path of the endpoint.
    pub path: String,
    /// The names that a client may call the server by in `Host`, without ports; `None` for any. A name that somebody
    /// else's DNS points here (rebinding) is then of no use to a page in a browser.
    pub allowed_hosts: Option<Vec<String>>,
    /// The origins whose pages may call the server, as browsers write them; requests without `Origin` are not from
    /// pages. `None` for those on the allowed hosts; if all hosts are allowed, that is for none.
    pub allowed_origins: Option<Vec<String>>,
    /// Who may call at all, if not everybody: those who have a token for it.
    #[cfg(feature = "auth")]
    pub authorization: Option<ProtectedResource>,
    /// Whether answers are JSON as long as nothing else has to be said first. Otherwise they are always streams.
    pub json_answers: bool,
    /// After this long without an answer a stream is begun, so that heartbeats keep proxies from giving up.
    pub stream_after: Duration,
    /// How often a quiet stream shows that it lives. Proxies commonly give up after 30 or 60 seconds.
    pub heartbeat: Duration,
    /// How long a client should wait before it resumes a stream that broke (2025-11-25).
    pub retry: Duration,
    /// Bytes of memory for all clients together: what they send, what waits for them, what is kept for them. When it is
    /// used up, clients that need much are not read until there is room, are refused with 503 and `Retry-After`, or, if
    /// they neither send nor take anything, are closed; an eighth is left to small requests and answers. What handlers
    /// hold is not counted, nor what the allocator keeps for later: that of glibc gives back the room of large messages
    /// only if it is started with `MALLOC_MMAP_THRESHOLD_=1048576` in the environment, and without it may keep several
    /// times as much on servers with handlers on threads.
    pub memory_bytes: usize,
    /// Connections at a time. Beyond it those that have been idle for longest make room, of the client with the most
    /// first; if none is idle, new ones are closed at once.
    pub connections: usize,
    /// Legacy sessions at a time. Beyond it those that have been idle for longest make room, of the client with the most
    /// first; if none is idle, `initialize` is answered with 503.
    pub sessions: usize,
    /// Legacy sessions at a time whose clients have not been heard of since `initialize`. Beyond it the oldest make room.
    /// Real clients come back at once, so a few are enough for very many.
    pub fresh_sessions: usize,
    /// How long a client may take to come back after `initialize`.
    pub fresh_session_timeout: Duration,
    /// How long a legacy session may be idle, with no connection open, before it ends.
    pub session_idle: Duration,
    /// How long a client may take to send the head of a request; that of the first one from when it connected, with the
    /// handshake of TLS if there is one.
    pub head_timeout: Duration,
    /// How long a client may take to send the body of a request.
    pub body_timeout: Duration,
    /// How long a connection may wait for its next request, after the first.
    pub keep_alive: Duration,
    /// How long a client may take nothing, or next to nothing, of what is written to it.
    pub write_timeout: Duration,
    /// Bytes that wait for a client that reads too slowly, above which its connection is closed.
    pub write_bytes: usize,
    /// Events of one stream that are kept for a client that resumes it.
    pub replay_events: usize,
    /// Bytes of events of one stream that are kept.
    pub replay_bytes: usize,
    /// Finished streams of one session that can still be resumed.
    pub replay_streams: usize,
    /// Bytes of events that are kept for the clients of all sessions together. Finished streams are forgotten beyond it.
    pub replay_total_bytes: usize,
    /// How long open requests may go on when the server closes.
    pub drain: Duration,
    /// What a request's head may cost.
    pub head: http1::Bounds,
}

impl HttpServerConfig {
    /// A server that any host name may reach: behind a proxy, or with names of its own to be set in
    /// [`allowed_hosts`](Self::allowed_hosts).
    pub fn new() -> Self {
        Self {
            path: "/mcp".into(),
            allowed_hosts: None,
            allowed_origins: None,
            #[cfg(feature = "auth")]
            authorization: None,
            json_answers: true,
            stream_after: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            memory_bytes: 256 * 1024 * 1024,
            connections: 20_000,
            sessions: 10_000,
            fresh_sessions: 1_000,
            fresh_session_timeout: Duration::from_secs(60),
            session_idle: Duration::from_secs(30 * 60),
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(60),
            keep_alive: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            write_bytes: 32 * 1024 * 1024,
            replay_events: 256,
            replay_bytes: 1024 * 1024,
            replay_streams: 16,
            replay_total_bytes: 64 * 1024 * 1024,
            drain: Duration::from_secs(5),
            head: http1::Bounds::default(),
        }
    }

    /// A server on this machine for this machine: only the names of the loopback interface reach it.
    pub fn on_loopback() -> Self {
        let names = ["localhost", "127.0.0.1", "[::1]"];
        Self { allowed_hosts: Some(names.iter().map(ToString::to_string).collect()), ..Self::new() }
    }
}

impl Default for HttpServerConfig {
    fn default() -> Self {
        Self::on_loopback()
    }
}
