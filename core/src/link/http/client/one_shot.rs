//! One call, without a handshake before it.

use serde::Serialize;

use super::config::{HeaderError, HttpClientConfig};
use super::machine::HttpClient;
#[cfg(feature = "auth")]
use crate::auth::{AuthError, Redirected, StoreError, StoreOutcome};
#[cfg(feature = "auth")]
use crate::client::StoreReply;
use crate::client::{CallOptions, ChallengeReply, ClientConfig, ClientEvent, InputReply, InputResponse};
use crate::codec::http1::Headers;
use crate::error::{ConnError, Refused};
use crate::jsonrpc::RpcError;
use crate::machine::{ConnId, Machine, Output, Sealed};
use crate::model::ProtocolVersion;
use crate::time::Instant;

/// One call over HTTP to a server whose revision is known: one POST, one answer, and then it closes of itself.
///
/// Modern servers are made for this. A legacy server can be called so if it keeps no sessions. What the server offers is
/// not known, and neither are its tools, so arguments are not mirrored as headers unless the server complains.
///
/// The events are [`ClientEvent::Completed`], whatever comes before it, and [`ClientEvent::Closed`].
///
/// ```
/// use windlass::client::{CallOptions, ClientConfig};
/// use windlass::link::http::{HttpClientConfig, HttpOneShot};
/// use windlass::model::{Implementation, ProtocolVersion};
/// use windlass::{Instant, JsonText, Machine, Output};
///
/// let http = HttpClientConfig::new("http://localhost:3000/mcp")?;
/// let config = ClientConfig::new(Implementation::new("doc", "1"));
/// let params = JsonText::parse(r#"{"name":"now"}"#)?;
/// let options = CallOptions::new();
/// let call = ("tools/call", &params, &options);
/// let mut shot = HttpOneShot::new(config, http, ProtocolVersion::LATEST, call, (), Instant::ZERO)?;
/// let Output::Open { conn, .. } = shot.poll() else { panic!("a connection comes first") };
/// assert!(String::from_utf8_lossy(shot.write_buf(conn)).contains("Mcp-Name: now\r\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HttpOneShot<T> {
    client: HttpClient<T>,
}

impl<T> HttpOneShot<T> {
    /// A call of a method with its parameters and options, in a revision that the server is known to speak.
    pub fn new<P: Serialize + ?Sized>(
        config: ClientConfig,
        http: HttpClientConfig,
        version: ProtocolVersion,
        call: (&str, &P, &CallOptions),
        token: T,
        now: Instant,
    ) -> Result<Self, Refused<T>> {
        HttpClient::for_one_call(config, http, version, call, token, now).map(|client| Self { client })
    }

    /// Answers a request for input.
    pub fn respond(&mut self, reply: InputReply, answer: Result<InputResponse, RpcError>, now: Instant) {
        self.client.respond(reply, answer, now);
    }

    /// Answers a challenge; see [`HttpClient::answer_challenge`].
    pub fn answer_challenge(
        &mut self,
        reply: ChallengeReply,
        headers: Option<&Headers>,
        now: Instant,
    ) -> Result<(), HeaderError> {
        self.client.answer_challenge(reply, headers, now)
    }

    /// What the wall clock says, since 1970; see [`HttpClient::set_unix_time`].
    #[cfg(feature = "auth")]
    pub fn set_unix_time(&mut self, unix_time: core::time::Duration, now: Instant) {
        self.client.set_unix_time(unix_time, now);
    }

    /// What came of a [`ClientEvent::Store`].
    #[cfg(feature = "auth")]
    pub fn stored(&mut self, reply: StoreReply, outcome: Result<StoreOutcome, StoreError>, now: Instant) {
        self.client.stored(reply, outcome, now);
    }

    /// What came of a [`ClientEvent::Prompt`]; see [`HttpClient::finish_login`].
    #[cfg(feature = "auth")]
    pub fn finish_login(&mut self, outcome: Result<Redirected, AuthError>, now: Instant) {
        self.client.finish_login(outcome, now);
    }

    /// Gives the call up.
    pub fn close(&mut self, now: Instant) {
        self.client.close(now);
    }

    /// Whether nothing is open.
    pub fn is_idle(&self) -> bool {
        self.client.is_idle()
    }
}

impl<T> Sealed for HttpOneShot<T> {}

impl<T> Machine for HttpOneShot<T> {
    type Event<'a>
        = ClientEvent<'a, T>
    where
        Self: 'a;

    fn read_buf(&mut self, conn: ConnId) -> &mut [u8] {
        self.client.read_buf(conn)
    }

    fn reads(&mut self, conn: ConnId) -> bool {
        self.client.reads(conn)
    }

    fn read_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.client.read_done(conn, count, now);
    }

    fn read_eof(&mut self, conn: ConnId, now: Instant) {
        self.client.read_eof(conn, now);
    }

    fn write_buf(&self, conn: ConnId) -> &[u8] {
        self.client.write_buf(conn)
    }

    fn next_to_move(&mut self) -> Option<ConnId> {
        self.client.next_to_move()
    }

    fn is_over(&self) -> bool {
        self.client.is_over()
    }

    fn write_done(&mut self, conn: ConnId, count: usize, now: Instant) {
        self.client.write_done(conn, count, now);
    }

    fn conn_failed(&mut self, conn: ConnId, why: ConnError, now: Instant) {
        self.client.conn_failed(conn, why, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.client.handle_timeout(now);
    }

    fn poll(&mut self) -> Output<ClientEvent<'_, T>> {
        self.client.poll()
    }
}
