//! A role bound to byte streams: these are the machines that adapters drive.

#[cfg(feature = "client")]
#[macro_use]
mod client_methods;

mod any;
#[cfg(feature = "http")]
pub mod http;
mod line_stream;
pub mod stdio;

#[cfg(feature = "client")]
pub use any::AnyClient;
#[cfg(feature = "server")]
pub use any::AnyServer;
