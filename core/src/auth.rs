//! Authorization: OAuth 2.1 as a machine that does no I/O, what protects a server, and the guard on URLs.
//!
//! ```text
//! flow               Authorization: the client's states, and all transitions between them
//!  resource_metadata  where a server says who authorizes for it (RFC 9728)
//!  server_metadata    what an authorization server says of itself (RFC 8414, OpenID Connect)
//!  registration       how the client becomes known to it: given, by a document, or registered (RFC 7591)
//!  login              sending the user there, and what comes back: PKCE, state, iss
//!  token              requests to the token endpoint, and their answers
//!  device             logging in on another device (RFC 8628)
//! challenge          what a server wants to be shown: `WWW-Authenticate`
//! jws, dpop          signed statements, and proofs that a token is ours to use (RFC 9449)
//! store              what the host keeps between two runs, and how two processes share it
//! guard              which URLs that a server names may be fetched
//! resource           what protects a server: who may call it, and for what
//! ```

mod guard;
#[cfg(feature = "server")]
mod resource;
mod store;

#[cfg(feature = "server")]
pub use crate::server::{Principal, TokenRejected, VerifyReply};
pub use guard::{GuardPolicy, RefusalReason, UrlRefused, is_public};
#[cfg(feature = "server")]
pub use resource::{InvalidResource, ProtectedResource};
pub use store::{
    AuthRecord, AuthStore, IssuerRecord, Lease, MemoryStore, PendingLogin, Registration, StoreError, Stored, Swap,
    Tokens,
};

use crate::secret;
pub use crate::secret::Secret;
