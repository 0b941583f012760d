//! The server to talk to.

use std::path::Path;

use windlass::client::Negotiation;
use windlass_blocking::Command;
use windlass_tests::wires::{Speaker, Wire};

const WIRE: Wire = Wire { source: "rmcp", client: Speaker::Ours, server: Speaker::Foreign };

/// Both eras, the modern one by finding out.
pub(crate) const ERAS: [Negotiation; 2] = [Negotiation::Automatic, Negotiation::Legacy];

/// rmcp's server, which speaks every revision.
pub(crate) fn rmcp_server() -> Command {
    let program = env!("CARGO_BIN_EXE_rmcp_server");
    let words = WIRE.tapped(&[program], program);
    Command::new(&words[0]).args(&words[1..])
}

/// Whether there is such a process, dead or alive.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
