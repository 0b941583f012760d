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
//! es256              a signer that holds its key in memory
//! form, pkce         how requests are written, and what shows that it was us who asked (RFC 7636)
//! store              what the host keeps between two runs, and how two processes share it
//! guard              which URLs that a server names may be fetched
//! secret             text that is not printed
//! ```

mod challenge;
#[cfg(feature = "client")]
#[cfg_attr(not(test), expect(dead_code, reason = "the flow is to use it"))]
mod dpop;
#[cfg(feature = "es256")]
mod es256;
#[cfg(feature = "client")]
#[cfg_attr(not(test), expect(dead_code, reason = "the flow is to use it"))]
mod form;
mod guard;
mod jws;
#[cfg(feature = "client")]
#[cfg_attr(not(test), expect(dead_code, reason = "the flow is to use it"))]
mod pkce;
mod secret;
mod store;

pub use challenge::{AuthChallenge, parse_challenges};
#[cfg(feature = "es256")]
pub use es256::{Es256Signer, KeyError};
pub use guard::{GuardPolicy, RefusalReason, UrlRefused, is_public};
pub use jws::{SignError, Signer};
pub use secret::Secret;
pub use store::{
    AuthRecord, AuthStore, IssuerRecord, Lease, MemoryStore, PendingLogin, Registration, StoreError, Stored, Swap,
    Tokens,
};
