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

#[cfg(feature = "auth")]
impl ConnectError {
    /// Why there is no authorization, if that is what is missing.
    pub fn authorization(&self) -> Option<&windlass::auth::AuthError> {
        match &self.reason {
            CloseReason::Negotiation(windlass::NegotiationError::Authorization(error)) => Some(error),
            _ => None,
        }
    }

    /// The page on which the user has to log in, if that is what is missing. What comes back from it goes into the next
    /// connection, in this process or in another one: [`AuthConfig::finish`](windlass::auth::AuthConfig::finish).
    pub fn login_url(&self) -> Option<&str> {
        match self.authorization()? {
            windlass::auth::AuthError::LoginNeeded { url } => Some(url),
            _ => None,
        }
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
