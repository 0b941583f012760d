//! Bytes to frames and back, knowing nothing of JSON-RPC.

#[cfg(feature = "http")]
pub mod http1;
pub mod ndjson;
#[cfg(feature = "http")]
pub mod sse;
