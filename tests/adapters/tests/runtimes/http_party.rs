//! A server over HTTP that is a process of its own, and clients of it that talk by hand.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::peers::OVER_HTTP;

/// Far beyond what any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server over HTTP.
pub(crate) struct HttpParty {
    child: Child,
    /// Where clients of ours reach it, whose words are recorded.
    url: String,
    /// Where it is itself.
    own_url: String,
}

impl HttpParty {
    /// Starts a server that behaves in a `mode` of its program.
    pub(crate) fn start(party: &str, mode: &str) -> Self {
        let mut child = Command::new(party)
            .args(["serve_http", mode])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
        let own_url = url.trim().to_owned();
        Self { child, url: OVER_HTTP.tapped_url(&own_url), own_url }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The most memory that it ever had.
    pub(crate) fn peak_kilobytes(&self) -> u64 {
        windlass_adapter_tests::memory::peak_kilobytes(&self.child.id().to_string()).unwrap()
    }

    /// How many sockets it has open, and how many threads. Runtimes open other descriptors for themselves whenever they
    /// come to need them, and a socket that has two is one.
    pub(crate) fn belongings(&self) -> (usize, usize) {
        let list = |what| std::fs::read_dir(format!("/proc/{}/{what}", self.child.id())).unwrap();
        // One that is closed meanwhile is not open.
        let links = list("fd").filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let sockets: BTreeSet<_> = links.filter(|link| link.to_string_lossy().starts_with("socket:")).collect();
        (sockets.len(), list("task").count())
    }

    /// Connects by hand.
    pub(crate) fn dial(&self) -> TcpStream {
        let address = self.own_url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for HttpParty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends something; that the server has hung up is no reason to fail.
pub(crate) fn send(mut stream: &TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}

/// Reads until `wanted` has come, and returns all that came; fails if the connection ends before.
pub(crate) fn hear(mut stream: &TcpStream, wanted: &str) -> String {
    let (mut heard, mut part) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&heard).contains(wanted) {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{wanted:?} is not in {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// The same for what comes after very much else, which is not kept.
pub(crate) fn hear_at_length(mut stream: &TcpStream, wanted: &str) {
    let (mut heard, mut part) = (Vec::new(), vec![0; 1 << 16]);
    while !String::from_utf8_lossy(&heard).contains(wanted) {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{wanted:?} does not come");
        heard.drain(..heard.len().saturating_sub(wanted.len()));
        heard.extend_from_slice(&part[..count]);
    }
}

/// Everything until the server hangs up.
pub(crate) fn hear_to_end(mut stream: &TcpStream) -> String {
    let (mut heard, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => heard.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("the server does not hang up: {error}"),
        }
    }
    String::from_utf8_lossy(&heard).into_owned()
}
