//! Where clients connect.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass::link::http::HttpServerConfig;

use super::connection::SocketConnection;
use super::tls::ServerTls;
use crate::io::{Listener, Pollable};
use crate::wait::{Held, Shutdown};

/// A socket on which an HTTP server's clients connect.
///
/// ```
/// use windlass_host::HttpListener;
///
/// let listener = HttpListener::bind("127.0.0.1:0")?;
/// assert!(listener.is_loopback());
/// assert!(listener.url("/mcp").starts_with("http://127.0.0.1:"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct HttpListener {
    listener: Listener,
    tls: Option<ServerTls>,
    /// Whoever waits for the end of the server waits for its listener to be gone. It is dropped last.
    _held: Option<Held>,
}

impl HttpListener {
    /// How long to wait when the system has no descriptor for another client.
    pub(crate) const PAUSE: Duration = Duration::from_millis(100);

    /// Listens on an address: `127.0.0.1:8080`, or port 0 for any that is free.
    ///
    /// # Errors
    ///
    /// When the address is taken or is not one of this machine's.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        // A server that is started again must not wait for the connections of the last one to be forgotten; the
        // standard library sets SO_REUSEADDR for that.
        Self::from_std(TcpListener::bind(address)?)
    }

    /// Listens on a Unix socket, for clients of the same user. A file that a server left behind is replaced.
    ///
    /// # Errors
    ///
    /// When another server listens there, or the file cannot be made.
    pub fn bind_unix(path: impl AsRef<Path>) -> io::Result<Self> {
        Listener::unix(path.as_ref()).map(Self::new)
    }

    /// Takes over a socket that listens already, as one that a service manager passed on.
    ///
    /// # Errors
    ///
    /// When it is not a socket that can be waited for.
    pub fn from_std(listener: TcpListener) -> io::Result<Self> {
        Listener::tcp(listener).map(Self::new)
    }

    fn new(listener: Listener) -> Self {
        Self { listener, tls: None, _held: None }
    }

    /// Secures the connections: `https`.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(self, tls: ServerTls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// The address that clients connect to; none for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.place().ok()
    }

    /// A URL by which programs on this machine reach `path` here. For a Unix socket, which no URL can name, `unix:` and
    /// its file.
    pub fn url(&self, path: &str) -> String {
        let slash = if path.starts_with('/') { "" } else { "/" };
        match self.listener.place() {
            Ok(mut address) => {
                // Where every address is listened on, none is named by it.
                if address.ip().is_unspecified() {
                    address.set_ip(match address.ip() {
                        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                    });
                }
                let scheme = if self.tls.is_some() { "https" } else { "http" };
                format!("{scheme}://{address}{slash}{path}")
            }
            Err(file) => format!("unix:{}", file.display()),
        }
    }

    /// Whether only programs on this machine can connect.
    pub fn is_loopback(&self) -> bool {
        self.local_addr().is_none_or(|address| address.ip().to_canonical().is_loopback())
    }

    /// How to behave towards clients who come in here: on the loopback interface only its names are good.
    pub(crate) fn suitable_config(&self) -> HttpServerConfig {
        match self.is_loopback() {
            true => HttpServerConfig::on_loopback(),
            false => HttpServerConfig::new(),
        }
    }

    /// The end of a server is not told before this is closed.
    pub(crate) fn held_by(self, shutdown: &Arc<Shutdown>) -> Self {
        Self { _held: Some(shutdown.hold()), ..self }
    }

    /// What to wait for, until it is readable.
    pub(crate) fn pollable(&self) -> &Pollable {
        self.listener.pollable()
    }

    /// The next client that has connected.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is none. Anything else, such as too many open files, is likely to come again at once: wait
    /// for a [pause](Self::PAUSE).
    pub(crate) fn accept(&self) -> io::Result<SocketConnection> {
        loop {
            // A client that is gone before it was seen is of no interest; the next one is.
            match self.listener.accept() {
                Ok(Ok((stream, client))) => {
                    if let Ok(connection) = SocketConnection::accepted(stream, client, self.tls.as_ref()) {
                        return Ok(connection);
                    }
                }
                Ok(Err(_)) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Where it listens: `http://127.0.0.1:8080`.
impl fmt::Display for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url("/").trim_end_matches('/'))
    }
}
