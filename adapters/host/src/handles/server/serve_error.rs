//! Why a server stopped.

use std::fmt;

use windlass::CloseReason;

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
