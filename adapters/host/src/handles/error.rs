//! What the handles of all adapters fail with.

use std::fmt;

use windlass::client::PageError;
use windlass::{CallError, CloseReason, RpcError, SendError};

/// Why a call on a handle has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The call was made and failed.
    Call(CallError),
    /// The call was not even sent.
    NotSent(SendError),
    /// A listing was given up.
    Pages(PageError),
}

impl Error {
    /// The error that the peer answered with, if that is what happened.
    pub fn remote(&self) -> Option<&RpcError> {
        match self {
            Self::Call(CallError::Remote(error)) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::NotSent(error) => error.fmt(f),
            Self::Pages(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        Self::NotSent(error)
    }
}

impl From<PageError> for Error {
    fn from(error: PageError) -> Self {
        Self::Pages(error)
    }
}

/// Why a client could not be connected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConnectError {
    /// What ended the attempt.
    pub reason: CloseReason,
    /// The last lines that the server wrote to its standard error.
    pub stderr: Vec<String>,
}

impl ConnectError {
    pub(crate) fn new(reason: CloseReason, stderr: Vec<String>) -> Self {
        Self { reason, stderr }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)?;
        if !self.stderr.is_empty() {
            write!(f, "; the server's last words on standard error were:")?;
            for line in &self.stderr {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConnectError {}

/// Why a server stopped, other than because its client was done.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The stream could not be had, or the runtime failed.
    Io(std::io::Error),
    /// The connection ended badly.
    Closed(CloseReason),
}

impl ServeError {
    /// What a server returns for the end of its connection.
    pub(crate) fn from_close(reason: CloseReason) -> Result<(), Self> {
        match reason {
            CloseReason::Requested | CloseReason::PeerClosed => Ok(()),
            reason => Err(Self::Closed(reason)),
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the server's stream failed: {error}"),
            Self::Closed(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<std::io::Error> for ServeError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
