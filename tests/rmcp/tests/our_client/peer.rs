//! The server to talk to.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use windlass::client::Negotiation;
use windlass_blocking::{Command, HttpTarget};
use windlass_tests::wires::{Speaker, Wire};

const WIRE: Wire = Wire { source: "rmcp", client: Speaker::Ours, server: Speaker::Foreign };

/// The same over HTTP.
const OVER_HTTP: Wire = Wire { source: "rmcp over http", ..WIRE };

/// Both eras, the modern one by finding out.
pub(crate) const ERAS: [Negotiation; 2] = [Negotiation::Automatic, Negotiation::Legacy];

/// rmcp's server, which speaks every revision.
pub(crate) fn rmcp_server() -> Command {
    let program = env!("CARGO_BIN_EXE_rmcp_server");
    let words = WIRE.tapped(&[program], program);
    Command::new(&words[0]).args(&words[1..])
}

/// rmcp's server over HTTP, for as long as this lives.
pub(crate) struct HttpServer {
    process: Child,
    url: String,
}

impl HttpServer {
    pub(crate) fn start(mode: &[&str]) -> Self {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rmcp_server"));
        let mut process = command.arg("--http").args(mode).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { process, url: OVER_HTTP.tapped_url(url.trim_end()) }
    }

    pub(crate) fn target(&self) -> HttpTarget {
        HttpTarget::new(&self.url).unwrap()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether there is such a process, dead or alive.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
