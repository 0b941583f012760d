//! What happens on a connection, for whoever watches: logs, metrics, traces.
//!
//! The engine knows no clock and no log. It tells an [`Observer`] of what happens, as it happens; where nobody watches that
//! costs a comparison, and nothing is put together or remembered. What is told holds no contents, so that no secret gets
//! into a log by it: URIs come without user info and the values of their query, and the id of a session shows itself only to
//! who asks for it by name.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use crate::json::{JsonText, pick};
use crate::jsonrpc::{Id, MalformedKind, RpcError};
use crate::machine::ConnId;
use crate::model::ProtocolVersion;
use crate::secret::redacted_behind;

/// Watches connections. It is called from inside the machine: it takes note and returns.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use windlass::client::ClientConfig;
/// use windlass::link::stdio::StdioClient;
/// use windlass::model::Implementation;
/// use windlass::{Instant, Machine, Observation, Observer, Output};
///
/// #[derive(Default)]
/// struct Log(Mutex<Vec<String>>);
///
/// impl Observer for Log {
///     fn observe(&self, observation: &Observation<'_>) {
///         self.0.lock().unwrap().push(format!("{observation:?}"));
///     }
/// }
///
/// let log = Arc::new(Log::default());
/// let mut config = ClientConfig::new(Implementation::new("doc", "1"));
/// config.observer = log.clone().into();
/// let mut client: StdioClient<()> = StdioClient::new(config, Instant::ZERO);
/// assert!(matches!(client.poll(), Output::Open { .. }));
/// assert!(log.0.lock().unwrap()[0].contains("server/discover"));
/// ```
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, observation: &Observation<'_>);
}

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A byte stream is opened, or a client has come in on it.
    Opened(ConnId),
    /// A byte stream is closed.
    Closed(ConnId),
    /// The two sides have agreed on a revision.
    ///
    /// A client tells it in both eras, again when it negotiates again. A server tells it of each legacy client: modern ones
    /// negotiate nothing, each of their requests says which revision it is in, and none is remembered.
    Negotiated(ProtocolVersion),
    /// A message goes out or has come in.
    Message(Passed<'a>),
    /// A request has its answer, or will have none.
    Finished(Finished<'a>),
    /// A request is made again.
    Retry {
        /// Its new id.
        id: i64,
        /// What is asked for.
        method: &'a str,
    },
    /// A stream that broke is opened again.
    Reconnect {
        /// How long that waits.
        after: Duration,
        /// Which try it is, from 1, since the stream last brought something.
        attempt: u32,
    },
    /// Something was refused, or given up, because there would have been too much of it.
    LimitHit {
        /// The field of [`Limits`](crate::Limits) that says how much is allowed.
        limit: &'static str,
    },
    /// Something went wrong that is no answer.
    Failed {
        /// During what.
        phase: Phase,
        /// What happened.
        error: &'a dyn Failure,
    },
}

/// What can be printed of an error.
pub trait Failure: fmt::Display + fmt::Debug {}

impl<E: fmt::Display + fmt::Debug> Failure for E {}

/// A message that passed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Passed<'a> {
    /// Which way it went.
    pub direction: Direction,
    /// What it is.
    pub kind: MessageKind,
    /// The method; none for a response.
    pub method: Option<&'a str>,
    /// What ties a response to its request.
    pub id: Option<&'a Id>,
    /// How long it is.
    pub bytes: usize,
}

/// A request that is over.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Finished<'a> {
    /// Whose request it was: ours, or the peer's.
    pub direction: Direction,
    /// Its id.
    pub id: &'a Id,
    /// What was asked for.
    pub method: &'a str,
    /// What it was about: the name of a tool or a prompt, the URI of a resource. Of a URI neither user info nor the values of
    /// its query are told.
    pub name: Option<&'a str>,
    /// The session that it was made in, if it has an id: legacy ones over HTTP have.
    pub session: Option<SessionId<'a>>,
    /// How long it took.
    pub latency: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// The id of a session. Who knows it can speak in the session where nothing else protects it, so it is not shown unless it
/// is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionId<'a>(pub(crate) &'a str);

impl<'a> SessionId<'a> {
    /// The id, to find what belongs together.
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

impl fmt::Debug for SessionId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(…)")
    }
}

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From here to the peer.
    Outgoing,
    /// From the peer.
    Incoming,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A request.
    Request,
    /// A notification.
    Notification,
    /// A response with a result.
    Result,
    /// A response with an error.
    Error,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// A result.
    Result,
    /// The result of a tool that says of itself that it failed.
    ToolError,
    /// An error with this code.
    Error(i64),
    /// Nothing in time.
    TimedOut,
    /// Whoever asked does not want to know any more.
    Cancelled,
    /// Nothing that could be used: the exchange failed, or the answer is not one.
    Failed,
    /// Nothing, because the connection is over.
    Closed,
}

impl Outcome {
    pub(crate) fn of(outcome: &Result<JsonText<'_>, RpcError>) -> Self {
        match outcome {
            Err(error) => Self::Error(error.code),
            Ok(result) => match pick(*result, ["isError"]) {
                Ok([Some(failed)]) if failed.as_str() == "true" => Self::ToolError,
                _ => Self::Result,
            },
        }
    }
}

/// During what something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Agreeing on a revision.
    Negotiation,
    /// Reading what the peer sent.
    Reading,
    /// Carrying a message.
    Transport,
}

/// Who watches, if anybody does.
#[derive(Clone, Default)]
pub struct Observed(Option<Arc<dyn Observer>>);

impl Observed {
    /// Tells of what happened, which is put together only if somebody watches.
    pub(crate) fn tell<'a>(&self, observation: impl FnOnce() -> Observation<'a>) {
        if let Some(observer) = &self.0 {
            observer.observe(&observation());
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.0.is_some()
    }
}

impl<O: Observer + 'static> From<Arc<O>> for Observed {
    fn from(observer: Arc<O>) -> Self {
        Self(Some(observer))
    }
}

impl From<Arc<dyn Observer>> for Observed {
    fn from(observer: Arc<dyn Observer>) -> Self {
        Self(Some(observer))
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_watched() { "watched" } else { "not watched" })
    }
}

/// A URI without what may be a secret: user name and password, the values of the query, and the fragment. Any text is taken.
pub(crate) fn redacted_uri(uri: &str) -> String {
    let start = uri.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = uri.split_at(start);
    let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    redacted_behind(authority.rfind('@'), scheme, rest)
}

/// The limit that a message went beyond, if that is what is wrong with it.
pub(crate) fn limit_of(kind: MalformedKind) -> Option<&'static str> {
    match kind {
        MalformedKind::TooDeep => Some("nesting"),
        MalformedKind::TooManyValues => Some("message_values"),
        MalformedKind::TooLong => Some("message_bytes"),
        MalformedKind::BatchTooLong => Some("batch_entries"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_told_without_secrets() {
        for (uri, shown) in [
            ("file:///notes/today.md", "file:///notes/today.md"),
            ("file:///home/me@work/x", "file:///home/me@work/x"),
            ("file:///secret?token=1#part", "file:///secret?token=…"),
            ("db://me:secret@host/table?key=secret&on", "db://…@host/table?key=…&…"),
            ("screen", "screen"),
            ("mailto:me@example.com", "…@example.com"),
            ("", ""),
        ] {
            assert_eq!(redacted_uri(uri), shown, "{uri}");
        }
    }
}
