//! Where what was granted is kept: the stores that authorization asks for. Read in this order:
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
//!
//! Stores wait: for a disk, for another process, for a user who unlocks a keychain. Nothing here knows a machine or a
//! driver.

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
pub use file_store::{FileStore, Kept};
#[cfg(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows)))]
pub use keychain_store::KeychainStore;
#[cfg(feature = "client")]
pub use loopback::LoopbackRedirect;
pub use shared_store::SharedStore;
pub use windlass::auth::*;
