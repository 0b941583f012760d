//! MCP over HTTP: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05 for clients.

pub(crate) mod mirror;
pub mod server;
mod url;

pub use server::{HttpServer, HttpServerConfig};
pub use url::{Url, UrlError};
