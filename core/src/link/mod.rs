//! A role bound to byte streams: these are the machines that adapters drive.

mod any;
#[cfg(feature = "http")]
pub mod http;
pub mod stdio;
mod stream;

pub use any::{AnyClient, AnyServer};
