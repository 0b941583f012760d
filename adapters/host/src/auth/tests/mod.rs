//! Stores with real files, and with real processes.

mod files;
mod processes;
pub(in crate::auth) mod scratch;
