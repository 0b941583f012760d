//! What the fuzz targets share.
//!
//! Each target has a bug planted, which is there with `CANARY=1` in the environment: a fuzzer that does not find it finds
//! no other either. `tests/fuzz/run --canaries` lets all of them look for theirs.

pub mod client;
pub mod cuts;
pub mod http1;
pub mod rig;
pub mod server;
pub mod tape;

use std::sync::LazyLock;

/// Whether the planted bugs are there.
pub fn canary() -> bool {
    static PLANTED: LazyLock<bool> = LazyLock::new(|| std::env::var_os("CANARY").is_some());
    *PLANTED
}
