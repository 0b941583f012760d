//! A role bound to byte streams: these are the machines that adapters drive.

mod any;
pub mod http;
pub mod stdio;
mod stream;

pub use any::AnyServer;
