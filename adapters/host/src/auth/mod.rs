//! Authorization on a hosted platform.
//!
//! | module | what |
//! |---|---|
//! | `verify` | [`Verifier`]: whoever says whose a token is, for servers |
//! | `jwt` | [`JwtVerifier`] (feature `jwt`): tokens that are signed |
//! | `jwks` | the keys that they are signed by: given, or fetched and kept |
//! | `introspection` | [`IntrospectionVerifier`] (feature `jwt`): tokens that only their issuer can read |
//! | `fetch` | one exchange with a server of the host's choice, for those |

#[cfg(all(unix, feature = "jwt"))]
mod fetch;
#[cfg(all(unix, feature = "jwt"))]
mod introspection;
#[cfg(all(unix, feature = "jwt"))]
mod jwks;
#[cfg(all(unix, feature = "jwt"))]
mod jwt;
#[cfg(feature = "server")]
mod verify;

#[cfg(all(unix, feature = "jwt"))]
pub use fetch::FetchOptions;
#[cfg(all(unix, feature = "jwt"))]
pub use introspection::IntrospectionVerifier;
#[cfg(all(unix, feature = "jwt"))]
pub use jwks::InvalidKeys;
#[cfg(all(unix, feature = "jwt"))]
pub use jwt::{Algorithm, JwtVerifier};
#[cfg(feature = "server")]
pub use verify::Verifier;
