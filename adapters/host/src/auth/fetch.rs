//! One exchange with a server of the host's own choice, for whoever may wait: keys are fetched by it, and tokens asked about.
//!
//! What is asked for comes from the program's configuration, so it is trusted: no guard looks at it. What is answered is
//! bounded in size and time, and redirects are not followed.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use windlass::codec::http1::{Bounds, Frame, Framing, ResponseDecoder, write_request};
use windlass::link::http::Url;

use crate::net::TlsError;

/// Bytes of one read.
const READ_BYTES: usize = 16 * 1024;

/// How keys are fetched and tokens asked about.
#[derive(Clone)]
pub struct FetchOptions {
    /// How long an exchange may take in all, but for the lookup of a name, which the system bounds. It has to fit into the
    /// time that a verification may take, which is ten seconds by default.
    timeout: Duration,
    extra_roots: Vec<CertificateDer<'static>>,
    tls: Arc<OnceLock<Result<Arc<ClientConfig>, String>>>,
}

impl FetchOptions {
    /// Trusts whom the platform trusts, for eight seconds.
    pub fn new() -> Self {
        Self { timeout: Duration::from_secs(8), extra_roots: Vec::new(), tls: Arc::default() }
    }

    /// How long an exchange may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Trusts these certificate authorities as well.
    ///
    /// # Errors
    ///
    /// When there is no certificate in the text.
    pub fn extra_ca_pem(mut self, pem: &[u8]) -> Result<Self, TlsError> {
        self.extra_roots.extend(crate::net::certificates(pem, "the CA")?);
        self.tls = Arc::default();
        Ok(self)
    }

    fn client_config(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(|| self.build()).clone()
    }

    fn build(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for root in &self.extra_roots {
            roots.add(root.clone()).map_err(|error| format!("the CA cannot be used: {error}"))?;
        }
        let builder = ClientConfig::builder_with_provider(crate::net::provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for FetchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots = self.extra_roots.len();
        f.debug_struct("FetchOptions").field("timeout", &self.timeout).field("extra_roots", &roots).finish()
    }
}

/// What is asked.
pub(super) struct Exchange<'a> {
    pub(super) url: &'a Url,
    /// What is sent, with its type; it is fetched without.
    pub(super) body: Option<(&'a str, &'a [u8])>,
    pub(super) authorization: Option<&'a str>,
    /// How long the answer may be.
    pub(super) most_bytes: usize,
}

impl Exchange<'_> {
    /// The body of the answer, if that is 200. The error says what went wrong in the words of whoever runs the server.
    pub(super) fn perform(&self, options: &FetchOptions) -> Result<Vec<u8>, String> {
        let deadline = Deadline(Instant::now() + options.timeout);
        let socket = self.connect(deadline).map_err(|error| format!("cannot connect: {error}"))?;
        let socket = Timed { socket, deadline };
        match self.url.is_secure() {
            false => self.converse(socket),
            true => {
                let name = ServerName::try_from(self.url.host().to_owned())
                    .map_err(|_| "this cannot be the name of a server".to_owned())?;
                let tls = ClientConnection::new(options.client_config()?, name).map_err(|error| error.to_string())?;
                self.converse(StreamOwned::new(tls, socket))
            }
        }
    }

    fn connect(&self, deadline: Deadline) -> io::Result<TcpStream> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (self.url.host(), self.url.port()).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, deadline.left()?) {
                Ok(socket) => return Ok(socket),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn converse(&self, mut stream: impl Read + Write) -> Result<Vec<u8>, String> {
        let (method, framing) = match self.body {
            None => ("GET", Framing::Empty),
            Some((_, body)) => ("POST", Framing::Length(body.len() as u64)),
        };
        let fixed = [("Host", self.url.authority()), ("Accept", "application/json"), ("Connection", "close")];
        let kind = self.body.map(|(kind, _)| ("Content-Type", kind));
        let authorization = self.authorization.map(|it| ("Authorization", it));
        let headers = fixed.into_iter().chain(kind).chain(authorization);
        let mut request = Vec::new();
        write_request(&mut request, method, self.url.target(), headers, framing).map_err(|error| error.to_string())?;
        request.extend_from_slice(self.body.map_or(&[], |(_, body)| body));
        stream.write_all(&request).and_then(|()| stream.flush()).map_err(|error| error.to_string())?;
        self.read_answer(stream, method)
    }

    fn read_answer(&self, mut stream: impl Read, method: &str) -> Result<Vec<u8>, String> {
        let mut decoder = ResponseDecoder::new(Bounds::default());
        decoder.expect(method);
        let (mut unread, mut body) = (Vec::new(), Vec::new());
        loop {
            loop {
                let (consumed, frame) = decoder.next(&unread).map_err(|fault| fault.to_string())?;
                match frame {
                    Some(Frame::Head(head)) if head.status != 200 => {
                        return Err(format!("it answered {}", head.status));
                    }
                    Some(Frame::Head(_)) => {}
                    Some(Frame::Body(part)) => {
                        if body.len() + part.len() > self.most_bytes {
                            return Err(format!("the answer has more than {} bytes", self.most_bytes));
                        }
                        body.extend_from_slice(&unread[part]);
                    }
                    Some(Frame::End) => return Ok(body),
                    None => {
                        unread.drain(..consumed);
                        break;
                    }
                }
                unread.drain(..consumed);
            }
            let start = unread.len();
            unread.resize(start + READ_BYTES, 0);
            let count = match stream.read(&mut unread[start..]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    unread.truncate(start);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err("it took too long".into()),
                Err(error) => return Err(error.to_string()),
            };
            unread.truncate(start + count);
            if count == 0 {
                return match decoder.finish().map_err(|fault| fault.to_string())? {
                    Some(Frame::End) => Ok(body),
                    _ => Err("the connection ended without an answer".into()),
                };
            }
        }
    }
}

/// The moment until which everything has to be done.
#[derive(Clone, Copy)]
struct Deadline(Instant);

impl Deadline {
    fn left(self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long")) } else { Ok(left) }
    }
}

/// A socket that waits until the deadline and no longer, however little comes at a time.
struct Timed {
    socket: TcpStream,
    deadline: Deadline,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.deadline.left()?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.deadline.left()?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
