//! MCP over HTTP: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05 for clients.
//!
//! [`HttpClient`] is a machine like any other, with more than one stream. What it asks of an adapter beyond
//! [`Machine`](crate::Machine):
//!
//! - [`Output::Open`](crate::Output::Open) with [`Target::Http`](crate::Target::Http) is a connection beside those that
//!   are open. Look the host up, connect, and if `tls` says so, shake hands for that host; then move bytes. What is to be
//!   written waits until then. A failure of any of this is
//!   [`conn_failed`](crate::Machine::conn_failed) with [`NotOpened`](crate::ConnErrorKind::NotOpened).
//! - [`Output::Close`](crate::Output::Close) may come at any time, for a connection that is still being opened too: it is
//!   how calls are cancelled and how what takes too long is given up. There is nothing left to write then.
//! - The end of a connection and its failure are not the end of anything else: the machine opens others.
//! - Every exchange has a deadline of its own, from opening the connection to the end of the response, so an adapter needs
//!   none; only the subscriptions and the stream for what comes unasked may be silent for as long as they like.
//!
//! A program that has an HTTP library of its own makes whole requests instead of connections: see
//! [`HttpClient::delegating`].

#[cfg(feature = "client")]
mod client;
pub(crate) mod mirror;
#[cfg(feature = "server")]
pub mod server;

pub use crate::address::{is_localhost, is_public, numeric_address};
pub use crate::url::{Url, UrlError, redacted};
#[cfg(feature = "client")]
pub use client::{HeaderError, HttpClient, HttpClientConfig, HttpExchanges, HttpOneShot, HttpRequest, RequestHeaders};
#[cfg(feature = "server")]
pub use server::{HttpServer, HttpServerConfig};
