//! A role bound to byte streams: these are the machines that adapters drive.

#[macro_use]
mod client_methods;

mod any;
#[cfg(feature = "http")]
pub mod http;
pub mod stdio;
mod stream;

pub use any::{AnyClient, AnyServer};
