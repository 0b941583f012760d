//! MCP over HTTP: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05 for clients.

pub(crate) mod mirror;
mod url;

pub use url::{Url, UrlError};
