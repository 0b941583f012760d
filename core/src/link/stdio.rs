//! MCP over one byte stream with a message per line: a child's stdin and stdout, our own, a Unix socket, TCP.

mod client;
mod server;

pub use client::StdioClient;
pub use server::StdioServer;
