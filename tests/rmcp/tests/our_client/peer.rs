//! The server to talk to.

use std::path::Path;

use windlass::client::Negotiation;
use windlass_blocking::Command;

/// Both eras, the modern one by finding out.
pub(crate) const ERAS: [Negotiation; 2] = [Negotiation::Automatic, Negotiation::Legacy];

/// rmcp's server, which speaks every revision.
pub(crate) fn rmcp_server() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rmcp_server"))
}

/// Whether there is such a process, dead or alive.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
