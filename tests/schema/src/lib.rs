//! Holds what Windlass writes against the official schemas, which lie beside the project in `../shared/spec/schema`.
//!
//! `run` does all of it: `tap` records real wires, `frames` validates every frame that our side put on a wire, and
//! `official_examples` reads the official examples and writes them again.

pub mod check;
pub mod conversation;
mod corrections;
pub mod schemas;
pub mod sessions;
pub mod transcript;
