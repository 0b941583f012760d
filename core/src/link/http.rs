//! MCP over HTTP: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05 for clients.

mod client;
pub(crate) mod mirror;
mod url;

pub use client::{
    ExchangeId, ExchangeOutput, Exchanges, HeaderError, HttpClient, HttpClientConfig, HttpOneShot, HttpRequest,
};
pub use url::{Url, UrlError};
