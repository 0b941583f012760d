//! MCP over HTTP: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05 for clients.

mod client;
pub(crate) mod mirror;
pub mod server;
mod url;

pub use client::{
    ExchangeId, ExchangeOutput, Exchanges, HeaderError, HttpClient, HttpClientConfig, HttpOneShot, HttpRequest,
};
pub use server::{HttpServer, HttpServerConfig};
pub use url::{Url, UrlError};
