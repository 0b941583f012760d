//! Bytes to frames and back, knowing nothing of JSON-RPC.

pub mod ndjson;
