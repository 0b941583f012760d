//! A role bound to byte streams: these are the machines that adapters drive.

pub mod http;
pub mod stdio;
mod stream;
