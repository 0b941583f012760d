//! Why there is no client.

use std::fmt;

use windlass::CloseReason;

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
