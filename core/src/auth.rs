//! Authorization: OAuth 2.1 as a machine that does no I/O, what protects a server, and the guard on URLs.
//!
//! ```text
//! flow               Authorization: the client's states, and all transitions between them
//!  step               what it and whoever has the connections say to each other
//!  change             how it changes what is stored
//!  resource_metadata  where a server says who authorizes for it (RFC 9728)
//!  server_metadata    what an authorization server says of itself (RFC 8414, OpenID Connect)
//!  registration       how the client becomes known to it: given, by a document, or registered (RFC 7591)
//!  login              sending the user there, and what comes back: PKCE, state, iss
//!  token              requests to the token endpoint, and their answers
//!  device             logging in on another device (RFC 8628)
//! challenge          what a server wants to be shown: `WWW-Authenticate`
//! jws, dpop          signed statements, and proofs that a token is ours to use (RFC 9449)
//! es256              a signer that holds its key in memory
//! form, pkce         how requests are written, and what shows that it was us who asked (RFC 7636)
//! store              what the host keeps between two runs, and how two processes share it
//! guard              which URLs that a server names may be fetched
//! resource           what protects a server: who may call it, and for what
//! ```

mod challenge;
#[cfg(feature = "client")]
mod change;
#[cfg(feature = "client")]
mod config;
#[cfg(feature = "client")]
mod device;
#[cfg(feature = "client")]
mod dpop;
#[cfg(feature = "es256")]
mod es256;
#[cfg(feature = "client")]
mod flow;
#[cfg(feature = "client")]
mod form;
mod guard;
mod jws;
#[cfg(feature = "client")]
mod login;
#[cfg(feature = "client")]
mod pkce;
#[cfg(feature = "client")]
mod registration;
#[cfg(feature = "server")]
mod resource;
#[cfg(feature = "client")]
mod resource_metadata;
#[cfg(feature = "client")]
mod server_metadata;
#[cfg(feature = "client")]
mod step;
mod store;
#[cfg(feature = "client")]
mod token;

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

#[cfg(feature = "client")]
use crate::url::Url;

pub use crate::error::AuthError;
#[cfg(feature = "server")]
pub use crate::principal::{Principal, TokenRejected, VerifyReply};
pub use crate::secret::Secret;
pub use challenge::{AuthChallenge, parse_challenges};
#[cfg(feature = "client")]
pub use config::{AuthConfig, Grant, IdentityProvider, KnownClient};
#[cfg(feature = "es256")]
pub use es256::{Es256Signer, KeyError};
#[cfg(feature = "client")]
pub(crate) use flow::Authorization;
pub use guard::{GuardPolicy, RefusalReason, UrlRefused, is_public};
pub use jws::{SignError, Signer};
#[cfg(feature = "client")]
pub use login::{Denied, Redirected};
#[cfg(feature = "server")]
pub use resource::{InvalidResource, ProtectedResource};
#[cfg(feature = "client")]
pub(crate) use step::{AuthStep, Fetch, Fetched, Reaction};
pub use store::{
    AuthRecord, AuthStore, IssuerRecord, Lease, MemoryStore, PendingLogin, Registration, StoreError, Stored, Swap,
    Tokens,
};

/// What the user is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthPrompt {
    /// Log in on this page, in a browser. What the user comes back with goes to `finish_login`.
    Browser {
        /// The page. It is https, or of this machine where that is allowed; never hand it to a shell.
        url: String,
    },
    /// Log in on another device. Nothing has to be given back: it is asked for until the user is done.
    Device {
        /// Where to.
        url: String,
        /// The same with the code in it, for whoever can follow a link.
        complete_url: Option<String>,
        /// What to type there.
        user_code: String,
    },
}

impl AuthPrompt {
    /// The page.
    pub fn url(&self) -> &str {
        match self {
            Self::Browser { url } | Self::Device { url, .. } => url,
        }
    }
}

/// As a sentence for the user. What is in it comes from a server: it is not to steer a terminal.
impl fmt::Display for AuthPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser { url } => write!(f, "log in at {url}"),
            Self::Device { url, user_code, .. } => write!(f, "log in at {url} with the code {user_code}"),
        }
    }
}

/// Something to be done with an [`AuthStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreOperation {
    /// [`AuthStore::load`].
    Load {
        /// The MCP server.
        server: String,
    },
    /// [`AuthStore::swap`].
    Swap {
        /// The MCP server.
        server: String,
        /// The version that is replaced.
        expected: Option<u64>,
        /// What is kept from now on.
        record: Box<AuthRecord>,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreOutcome {
    /// Of [`StoreOperation::Load`].
    Loaded(Option<Stored>),
    /// Of [`StoreOperation::Swap`].
    Swapped(Swap),
}

impl StoreOperation {
    /// Does it, and waits for it.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    pub fn perform(&self, store: &mut dyn AuthStore) -> Result<StoreOutcome, StoreError> {
        match self {
            Self::Load { server } => store.load(server).map(StoreOutcome::Loaded),
            Self::Swap { server, expected, record } => {
                store.swap(server, *expected, Some(record)).map(StoreOutcome::Swapped)
            }
        }
    }
}

/// By what an MCP server is known in an [`AuthStore`]: its address, as it is sent.
///
/// ```
/// use windlass::auth::store_key;
/// use windlass::link::http::Url;
///
/// assert_eq!(store_key(&Url::parse("HTTPS://Example.com/#top")?), "https://example.com");
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
#[cfg(feature = "client")]
pub fn store_key(server: &Url) -> String {
    let text = server.as_str();
    String::from(text.strip_suffix('/').filter(|_| server.target() == "/").unwrap_or(text))
}

/// Scheme, host and port, as in the header `Origin`.
#[cfg(feature = "client")]
fn origin(url: &Url) -> String {
    let scheme = if url.is_secure() { "https://" } else { "http://" };
    [scheme, url.authority()].concat()
}
