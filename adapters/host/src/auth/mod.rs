//! Authorization on a hosted platform: where what was granted is kept, where users come back to, and who says whose a token is.
//!
//! | module | what |
//! |---|---|
//! | `file_store` | [`FileStore`]: a file for each MCP server, in a folder that is the user's alone |
//! | `loopback` | [`LoopbackRedirect`]: where a browser on this machine is sent back to |
//! | `keychain_store` | `KeychainStore` (feature `keyring`): the same in the keychain of the system |
//! | `shared_store` | [`SharedStore`]: a handle on any of them |
//! | `check` | [`check_store`]: what every store has to do, for the tests of those who write one |
//! | `envelope` | how a record is written, with its server and its version |
//! | `file_name` | what the file of a server is called |
//! | `folder` | a private folder, its files and its locks, on Unix and on Windows |
//! | `verify` | [`Verifier`]: whoever says whose a token is, for servers |
//! | `jwt` | [`JwtVerifier`] (feature `jwt`): tokens that are signed |
//! | `jwks` | the keys that they are signed by: given, or fetched and kept |
//! | `introspection` | [`IntrospectionVerifier`] (feature `jwt`): tokens that only their issuer can read |
//! | `fetch` | one exchange with a server of the host's choice, for those |
//!
//! Stores wait: for a disk, for another process, for a user who unlocks a keychain. Nothing here knows a machine or a
//! driver.

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

mod check;
mod envelope;
mod file_name;
mod file_store;
mod folder;
#[cfg(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows)))]
mod keychain_store;
#[cfg(feature = "client")]
mod loopback;
mod shared_store;
#[cfg(all(test, unix))]
mod tests;

pub use check::check_store;
#[cfg(all(unix, feature = "jwt"))]
pub use fetch::FetchOptions;
pub use file_store::{FileStore, Kept};
#[cfg(all(unix, feature = "jwt"))]
pub use introspection::IntrospectionVerifier;
#[cfg(all(unix, feature = "jwt"))]
pub use jwks::InvalidKeys;
#[cfg(all(unix, feature = "jwt"))]
pub use jwt::{Algorithm, JwtVerifier};
#[cfg(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows)))]
pub use keychain_store::KeychainStore;
#[cfg(feature = "client")]
pub use loopback::LoopbackRedirect;
pub use shared_store::SharedStore;
#[cfg(feature = "server")]
pub use verify::Verifier;
pub use windlass::auth::*;
