//! The client's authorization, against a deterministic world: an MCP server of either era, authorization servers that check
//! whatever they are sent, users, and a store that several clients share.
//!
//! In all of it one thing is seen to: a secret is in bytes to its own host, and nowhere else.

mod issuer;
mod proofs;
mod resource;
mod secrets;
mod world;

mod code;
mod discovery;
mod faults;
mod grants;
mod hostile;
mod refreshing;
mod registering;
mod scopes;
mod sharing;
