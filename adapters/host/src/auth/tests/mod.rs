//! Stores with real files, and with real processes.

mod files;
mod processes;
mod scratch;
