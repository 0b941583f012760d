//! Why there is no authorization.

use alloc::string::String;
use core::fmt;

/// Why a client is not authorized, by whose fault. None of them holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthError {
    /// The user has to log in, and nobody here can ask for it. What is needed to go on is stored: send the user to this
    /// page, and connect again with what comes back.
    LoginNeeded {
        /// The page.
        url: String,
    },
    /// The user has to log in, and that is not to be asked for: only what is stored is used.
    NothingStored,
    /// The user, or the authorization server in the user's name, said no.
    Denied {
        /// The code of the error (RFC 6749, 4.1.2.1).
        error: String,
        /// What it says about it.
        description: String,
    },
    /// What the user came back with belongs to no login that is under way: it is too late, was used already, or was never
    /// asked for.
    UnknownLogin,
    /// What the user came back with is from another authorization server than the one that was asked (RFC 9207).
    OtherIssuer {
        /// The one that was asked.
        expected: String,
        /// The one that answered, if it says so.
        found: Option<String>,
    },
    /// The token endpoint refused.
    TokenRefused {
        /// The code of the error (RFC 6749, 5.2).
        error: String,
        /// What it says about it.
        description: String,
    },
    /// The server still wants more after everything that it asked for was granted, or asked for too often.
    InsufficientScope {
        /// What it asks for.
        scope: String,
    },
    /// The token that the program gave is refused, or the one that was just had.
    TokenNotAccepted,
    /// What a server says about authorization cannot be used.
    Unusable {
        /// Where it says so.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server that is needed for authorization could not be reached, or is not well.
    Unavailable {
        /// Which.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A URL that a server named is not fetched.
    UrlRefused(String),
    /// The authorization server does not know this client, and there is no way to become known.
    NoClient {
        /// Which authorization server.
        issuer: String,
    },
    /// What is stored could not be read or written.
    Store(String),
    /// Something could not be signed.
    Signing(String),
    /// The user did not come back in time.
    TimedOut,
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoginNeeded { url } => write!(f, "the server wants the user to log in, at {url}"),
            Self::NothingStored => {
                f.write_str("the server wants the user to log in, and nothing that is stored will do; log in first")
            }
            Self::Denied { error, description } => {
                write!(f, "the login was refused: {error}")?;
                detail(f, description)
            }
            Self::UnknownLogin => f.write_str(
                "the answer belongs to no login that is under way: it is too late, or was used already; log in again",
            ),
            Self::OtherIssuer { expected, found: Some(found) } => {
                write!(f, "the login was answered by {found} instead of {expected}; it is not believed")
            }
            Self::OtherIssuer { expected, found: None } => {
                write!(f, "the login was answered without saying that it is by {expected}; it is not believed")
            }
            Self::TokenRefused { error, description } => {
                write!(f, "the authorization server gives no token: {error}")?;
                detail(f, description)
            }
            Self::InsufficientScope { scope } => {
                write!(f, "the server wants more to be allowed than was granted: {scope}")
            }
            Self::TokenNotAccepted => f.write_str("the server does not accept the token; get another one"),
            Self::Unusable { url, reason } => write!(f, "what {url} says about authorization cannot be used: {reason}"),
            Self::Unavailable { url, reason } => {
                write!(f, "{url} is needed for authorization and does not answer as it should: {reason}")
            }
            Self::UrlRefused(why) => f.write_str(why),
            Self::NoClient { issuer } => write!(
                f,
                "{issuer} does not know this client and does not let it register; give a client id that it knows"
            ),
            Self::Store(why) => write!(f, "stored credentials cannot be used: {why}"),
            Self::Signing(why) => write!(f, "the proof of who asks could not be signed: {why}"),
            Self::TimedOut => f.write_str("nobody logged in in time"),
        }
    }
}

fn detail(f: &mut fmt::Formatter<'_>, description: &str) -> fmt::Result {
    if description.is_empty() { Ok(()) } else { write!(f, " ({description})") }
}

impl core::error::Error for AuthError {}
