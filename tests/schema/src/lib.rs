//! Holds what Windlass writes against the official schemas, which lie beside the project in `../shared/spec/schema`.
//!
//! `run` does all of it: `frames` validates every frame that our side put on a wire, in the recordings that the tests
//! leave where `WINDLASS_WIRES` is set and elsewhere, and `official_examples` reads the official examples and writes
//! them again.

pub mod check;
pub mod conversation;
mod corrections;
pub mod examiner;
pub mod http;
pub mod recording;
pub mod schemas;
pub mod self_check;
pub mod sessions;
pub mod shape;
pub mod transcript;
