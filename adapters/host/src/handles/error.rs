//! What calls on the handles of all adapters fail with.

use std::fmt;

#[cfg(feature = "client")]
use windlass::client::PageError;
use windlass::{CallError, RpcError, SendError};

/// Why a call on a handle has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The call was made and failed.
    Call(CallError),
    /// The call was not even sent.
    NotSent(SendError),
    /// A listing was given up.
    #[cfg(feature = "client")]
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

#[cfg(all(feature = "client", feature = "auth"))]
impl Error {
    /// Why there is no authorization, if that is what is missing.
    pub fn authorization(&self) -> Option<&windlass::auth::AuthError> {
        match self {
            Self::Call(CallError::Authorization(error)) => Some(error),
            _ => None,
        }
    }

    /// The page on which the user has to log in, if that is what is missing: for the first time, or to be allowed more.
    pub fn login_url(&self) -> Option<&str> {
        match self.authorization()? {
            windlass::auth::AuthError::LoginNeeded { url } => Some(url),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::NotSent(error) => error.fmt(f),
            #[cfg(feature = "client")]
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

#[cfg(feature = "client")]
impl From<PageError> for Error {
    fn from(error: PageError) -> Self {
        Self::Pages(error)
    }
}
