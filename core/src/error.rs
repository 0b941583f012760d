//! Errors, by whose fault they are: the peer's, the caller's, the transport's.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::jsonrpc::RpcError;
use crate::model::ProtocolVersion;

#[cfg(feature = "auth")]
mod authorization;
#[cfg(feature = "auth")]
pub use authorization::AuthError;

/// Why a call has no result. Each call completes exactly once, with a result or with one of these.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered with an error.
    Remote(RpcError),
    /// The peer did not answer in time. It was told that the call is off.
    TimedOut {
        /// How long the call waited.
        after: Duration,
    },
    /// The caller cancelled the call. The peer was told.
    Cancelled,
    /// The peer's answer is not one that the protocol allows here.
    InvalidResponse(String),
    /// The request cannot be sent as it is: its parameters hold what this transport cannot carry.
    Unsendable(String),
    /// The server asked for input and the program's own handler failed to give it.
    InputFailed(RpcError),
    /// The server kept asking for input beyond [`Limits::input_rounds`](crate::Limits::input_rounds).
    TooManyRounds {
        /// How many rounds were answered.
        rounds: u32,
    },
    /// The server answered with a status of HTTP that is no success.
    Http(Box<HttpFailure>),
    /// The server wants authorization, and there is none to be had.
    #[cfg(feature = "auth")]
    Authorization(Box<AuthError>),
    /// The server's stream ended before the answer came. Whether the call was carried out is unknown.
    NoResponse {
        /// The id of the request.
        id: i64,
        /// What became of the stream.
        detail: String,
    },
    /// The server has forgotten the session, or speaks another revision now. It was initialised again, but this call was
    /// not made again: it might do something twice, or has no counterpart there.
    SessionLost,
    /// The request could not be sent, or its answer not received. Other calls are not affected.
    Transport(ConnError),
    /// The connection went away first.
    Closed(CloseReason),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(error) => write!(f, "the peer answered with an error: {error}"),
            Self::TimedOut { after } => {
                write!(f, "the peer did not answer within {after:?}; raise the call's idle time-out, or its total one, if it needs longer")
            }
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::InvalidResponse(detail) => write!(f, "the peer broke the protocol: {detail}"),
            Self::Unsendable(detail) => write!(f, "the request was not sent: {detail}"),
            Self::InputFailed(error) => write!(f, "the handler for the server's input request failed: {error}"),
            Self::TooManyRounds { rounds } => {
                write!(f, "the server still asked for input after {rounds} rounds; the call was given up")
            }
            Self::Http(failure) => write!(f, "{failure}"),
            #[cfg(feature = "auth")]
            Self::Authorization(error) => write!(f, "{error}"),
            Self::NoResponse { id, detail } => write!(
                f,
                "no response received for request ID {id}: {detail}; whether the server carried it out is unknown"
            ),
            Self::SessionLost => f.write_str(
                "the server has forgotten the session, or speaks another revision now; it was initialised again, but the call was not repeated, as it is not known to be safe to repeat",
            ),
            Self::Transport(error) => write!(f, "{error}"),
            Self::Closed(reason) => write!(f, "{reason}"),
        }
    }
}

impl core::error::Error for CallError {}

/// A response of HTTP that is no success, with what helps to do something about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpFailure {
    /// The status.
    pub status: u16,
    /// The first part of the body, if it is text.
    pub body: String,
    /// The `WWW-Authenticate` headers: which authorization the server wants.
    pub www_authenticate: Vec<String>,
    /// The `Mcp-Auth-Server` header: where some servers say that authorization is to be had.
    pub auth_server: Option<String>,
    /// The `Retry-After` header, as it came.
    pub retry_after: Option<String>,
    /// Where a redirect led that was not followed, without what may be secret in it.
    pub location: Option<String>,
    /// Whether there is a `DPoP-Nonce` header, by which the next proof is to be made.
    pub dpop_nonce: bool,
}

impl HttpFailure {
    /// Bytes of a body that are kept: an error message of any sensible length, or the title of an HTML page.
    pub const EXCERPT: usize = 2048;

    /// A failure with this status, of which nothing more is known.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            body: String::new(),
            www_authenticate: Vec::new(),
            auth_server: None,
            retry_after: None,
            location: None,
            dpop_nonce: false,
        }
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answered with HTTP status {}", self.status)?;
        #[cfg(feature = "http")]
        let phrase = crate::codec::http1::reason_phrase(self.status);
        #[cfg(not(feature = "http"))]
        let phrase = "";
        if !phrase.is_empty() {
            write!(f, " {phrase}")?;
        }
        if let Some(location) = &self.location {
            write!(
                f,
                " to {location}, which is not followed: only the same origin is, a few times, with the same method"
            )?;
        }
        match self.status {
            401 => f.write_str("; it wants to be given credentials")?,
            403 => f.write_str("; the credentials do not allow this")?,
            408 | 429 | 503 => match &self.retry_after {
                Some(after) => write!(f, "; it asks to be tried again after {after}")?,
                None => f.write_str("; try again later")?,
            },
            _ => {}
        }
        if self.body.is_empty() { Ok(()) } else { write!(f, ": {}", self.body) }
    }
}

impl core::error::Error for HttpFailure {}

/// Why a call, a notification or an answer was not even sent: the caller can do something about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SendError {
    /// Too many calls are open, or too many bytes wait to be written. Try again when some have completed.
    Full,
    /// The connection is not negotiated yet. Wait for the `Ready` event.
    NotReady,
    /// The connection is closed.
    Closed,
    /// The peer did not declare the capability that this needs.
    NotSupported {
        /// What was to be sent.
        method: String,
        /// What the peer would have to declare.
        capability: &'static str,
    },
    /// The protocol revision that was negotiated does not have this.
    NotInRevision {
        /// What was to be sent.
        method: String,
        /// What was negotiated.
        version: ProtocolVersion,
    },
    /// The parameters do not serialise as a JSON object.
    Unencodable(String),
    /// The parameters are not what the protocol allows.
    Invalid(String),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("too much is in flight; wait until some calls have completed"),
            Self::NotReady => f.write_str("the connection is not ready yet; wait for it to be negotiated"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::NotSupported { method, capability } => {
                write!(f, "{method} needs the peer's capability `{capability}`, which it did not declare")
            }
            Self::NotInRevision { method, version } => write!(f, "protocol version {version} has no {method}"),
            Self::Unencodable(detail) => write!(f, "the parameters cannot be sent: {detail}"),
            Self::Invalid(detail) => write!(f, "the parameters are not what the protocol allows: {detail}"),
        }
    }
}

impl core::error::Error for SendError {}

/// A call that was not sent, with the caller's token given back.
#[derive(Debug)]
pub struct Refused<T> {
    /// Why.
    pub why: SendError,
    /// The token that went in.
    pub token: T,
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<T: fmt::Debug> core::error::Error for Refused<T> {}

impl<T> From<Refused<T>> for SendError {
    fn from(refused: Refused<T>) -> Self {
        refused.why
    }
}

impl<T> Refused<T> {
    pub(crate) fn new(why: SendError, token: T) -> Self {
        Self { why, token }
    }
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed it.
    Requested,
    /// The peer ended the stream.
    PeerClosed,
    /// The peer stopped reading while too many bytes waited for it.
    PeerStoppedReading,
    /// The peer did not answer keep-alive pings.
    KeepAliveFailed {
        /// How many in a row.
        missed: u32,
    },
    /// The transport failed.
    Transport(ConnError),
    /// The two sides found no way to talk.
    Negotiation(NegotiationError),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("the connection was closed by this side"),
            Self::PeerClosed => f.write_str("the peer closed the connection"),
            Self::PeerStoppedReading => f.write_str("the peer stopped reading what was sent to it"),
            Self::KeepAliveFailed { missed } => write!(f, "the peer did not answer {missed} keep-alive pings in a row"),
            Self::Transport(error) => write!(f, "{error}"),
            Self::Negotiation(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for CloseReason {}

/// A byte stream that could not be opened, or broke.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnError {
    /// What kind of failure.
    pub kind: ConnErrorKind,
    /// What the platform said.
    pub detail: String,
}

/// How a byte stream can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnErrorKind {
    /// It could not be opened: no such program, connection refused.
    NotOpened,
    /// It broke while in use.
    Broken,
}

impl ConnError {
    /// An error of the given kind, with what the platform said about it.
    pub fn new(kind: ConnErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl fmt::Display for ConnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ConnErrorKind::NotOpened => write!(f, "the peer could not be reached: {}", self.detail),
            ConnErrorKind::Broken => write!(f, "the connection broke: {}", self.detail),
        }
    }
}

impl core::error::Error for ConnError {}

/// Why a client and a server found no common ground.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NegotiationError {
    /// The server speaks none of the revisions that this client may use.
    NoCommonVersion {
        /// What the server offered.
        offered: Vec<String>,
    },
    /// The server does not speak the modern era, and this client may use no other.
    NotModern,
    /// The server answered the handshake with an error.
    Refused(RpcError),
    /// The server did not answer the handshake in time.
    TimedOut {
        /// How long the client waited.
        after: Duration,
    },
    /// The server ended the stream during the handshake.
    ClosedEarly,
    /// The server's answer to the handshake could not be understood.
    InvalidAnswer(String),
    /// The server answered the handshake with a status of HTTP that is no success.
    Http(Box<HttpFailure>),
    /// The server wants authorization, and there is none to be had.
    #[cfg(feature = "auth")]
    Authorization(Box<AuthError>),
}

impl fmt::Display for NegotiationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonVersion { offered } => {
                write!(f, "the server speaks protocol versions {offered:?}, of which this client may use none")
            }
            Self::NotModern => {
                f.write_str("the server does not speak the modern protocol that this client is pinned to")
            }
            Self::Refused(error) => write!(f, "the server refused the handshake: {error}"),
            Self::TimedOut { after } => write!(
                f,
                "the server did not answer the handshake within {after:?}; is it an MCP server that speaks on its stdout?"
            ),
            Self::ClosedEarly => f.write_str(
                "the server closed the connection during the handshake; is it an MCP server, and does it start at all?",
            ),
            Self::InvalidAnswer(detail) => {
                write!(f, "the server's answer to the handshake is not understood: {detail}")
            }
            Self::Http(failure) => write!(f, "the handshake failed: {failure}"),
            #[cfg(feature = "auth")]
            Self::Authorization(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for NegotiationError {}
