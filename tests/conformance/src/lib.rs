//! The two programs that the official conformance suite of the Model Context Protocol talks with.
//!
//! - `conformance-server --runtime R --listen 127.0.0.1:PORT` serves what the suite's scenarios ask for, over HTTP, and
//!   prints its URL.
//! - `conformance-client --runtime R URL` does what one scenario of the suite expects from a client.
//!
//! Each has all runtimes inside: one text, compiled once for each. `run` installs the suite and lets it talk with both
//! on every runtime. Nothing of it happens in `cargo test`, which has no suite.

pub mod arguments;
