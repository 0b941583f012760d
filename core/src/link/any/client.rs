//! A client on either link.

#[cfg(feature = "http")]
use alloc::boxed::Box;
#[cfg(feature = "http")]
use alloc::sync::Arc;

#[cfg(feature = "auth")]
use crate::auth::{AuthError, Redirected, StoreError, StoreOutcome};
#[cfg(feature = "http")]
use crate::client::ChallengeReply;
#[cfg(feature = "auth")]
use crate::client::StoreReply;
use crate::client::{Client, ClientEvent};
#[cfg(feature = "http")]
use crate::codec::http1::Headers;
#[cfg(feature = "http")]
use crate::link::http::{HeaderError, HttpClient, HttpExchanges, HttpRequest};
use crate::link::stdio::StdioClient;
#[cfg(feature = "http")]
use crate::machine::ConnId;
use crate::machine::{Machine, Output, Sealed};
use crate::time::Instant;

/// A client on a stream of its own, or over HTTP.
///
/// ```
/// use windlass::client::ClientConfig;
/// use windlass::link::AnyClient;
/// use windlass::link::stdio::StdioClient;
/// use windlass::model::Implementation;
/// use windlass::{Instant, Machine, Output};
///
/// let stdio = StdioClient::<()>::new(ClientConfig::new(Implementation::new("doc", "1")), Instant::ZERO);
/// let mut client = AnyClient::from(stdio);
/// assert!(matches!(client.poll(), Output::Open { .. }));
/// ```
#[allow(clippy::large_enum_variant, reason = "there is one for each connection, and the small one has no box to cross")]
pub enum AnyClient<T> {
    /// On a byte stream.
    Stdio(StdioClient<T>),
    /// Over HTTP.
    #[cfg(feature = "http")]
    Http(Box<HttpClient<T>>),
}

impl<T> From<StdioClient<T>> for AnyClient<T> {
    fn from(client: StdioClient<T>) -> Self {
        Self::Stdio(client)
    }
}

#[cfg(feature = "http")]
impl<T> From<HttpClient<T>> for AnyClient<T> {
    fn from(client: HttpClient<T>) -> Self {
        Self::Http(Box::new(client))
    }
}

impl<T> AnyClient<T> {
    client_methods!();

    /// Answers a challenge; see [`HttpClient::answer_challenge`]. On other streams there are none.
    #[cfg(feature = "http")]
    pub fn answer_challenge(
        &mut self,
        reply: ChallengeReply,
        headers: Option<&Headers>,
        now: Instant,
    ) -> Result<(), HeaderError> {
        match self {
            Self::Stdio(_) => Ok(()),
            Self::Http(client) => client.answer_challenge(reply, headers, now),
        }
    }

    /// What the wall clock says, since 1970; see [`HttpClient::set_unix_time`].
    #[cfg(feature = "auth")]
    pub fn set_unix_time(&mut self, unix_time: core::time::Duration, now: Instant) {
        if let Self::Http(client) = self {
            client.set_unix_time(unix_time, now);
        }
    }

    /// What came of a [`ClientEvent::Store`]; see [`HttpClient::stored`].
    #[cfg(feature = "auth")]
    pub fn stored(&mut self, reply: StoreReply, outcome: Result<StoreOutcome, StoreError>, now: Instant) {
        if let Self::Http(client) = self {
            client.stored(reply, outcome, now);
        }
    }

    /// What came of a [`ClientEvent::Prompt`]; see [`HttpClient::finish_login`].
    #[cfg(feature = "auth")]
    pub fn finish_login(&mut self, outcome: Result<Redirected, AuthError>, now: Instant) {
        if let Self::Http(client) = self {
            client.finish_login(outcome, now);
        }
    }

    /// The role, to do something at a time.
    fn at(&mut self, now: Instant) -> &mut Client<T> {
        either!(self, client => client.at(now))
    }

    fn role(&self) -> &Client<T> {
        either!(self, client => client.role())
    }

    /// Whether nothing is open.
    pub fn is_idle(&self) -> bool {
        either!(self, client => client.is_idle())
    }
}

/// On a stream of its own there are no exchanges.
#[cfg(feature = "http")]
impl<T> HttpExchanges for AnyClient<T> {
    fn request(&self, exchange: ConnId) -> Option<Arc<HttpRequest>> {
        if let Self::Http(client) = self { client.request(exchange) } else { None }
    }

    fn response(&mut self, exchange: ConnId, status: u16, headers: &Headers, now: Instant) {
        if let Self::Http(client) = self {
            client.response(exchange, status, headers, now);
        }
    }

    fn body(&mut self, exchange: ConnId, bytes: &[u8], now: Instant) {
        if let Self::Http(client) = self {
            client.body(exchange, bytes, now);
        }
    }
}

impl<T> Sealed for AnyClient<T> {}

impl<T> Machine for AnyClient<T> {
    type Event<'a>
        = ClientEvent<'a, T>
    where
        Self: 'a;

    moves_either!();

    fn poll(&mut self) -> Output<ClientEvent<'_, T>> {
        either!(self, client => client.poll())
    }
}
