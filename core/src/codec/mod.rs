//! Bytes to frames and back, knowing nothing of JSON-RPC.

pub mod http1;
pub mod ndjson;
pub mod sse;
