//! MCP over HTTP: one POST for each message, answered by JSON or by a stream of events.

pub mod server;

pub use server::{HttpServer, HttpServerConfig};
