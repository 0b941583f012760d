//! A server over HTTP, written by hand, that behaves until it is asked not to.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_tests::hand_written::{Request, answer, read_request, respond};

/// What a server does instead of answering. It has the connection and the id of the request; the connection is closed
/// when it returns.
pub(crate) type Ugliness = fn(&TcpStream, &Value);

/// A server of the legacy era with two tools: `echo` says its text, `ugly` is answered in an ugly way.
pub(crate) struct HandWritten {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    ugliness: Ugliness,
    /// Whether it is ugly from the start.
    always: bool,
    stopped: AtomicBool,
    begun: AtomicUsize,
    ended: AtomicUsize,
    echoed: AtomicUsize,
    closed: AtomicUsize,
}

impl HandWritten {
    /// Is ugly to those who call `ugly`. It closes a connection without a word behind `echo` if the text begins with
    /// `close`.
    pub(crate) fn start(ugliness: Ugliness) -> Self {
        Self::start_either(ugliness, false)
    }

    /// Is ugly to everybody.
    pub(crate) fn always(ugliness: Ugliness) -> Self {
        Self::start_either(ugliness, true)
    }

    fn start_either(ugliness: Ugliness, always: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let [begun, ended, echoed, closed] = Default::default();
        let state = State { ugliness, always, stopped: AtomicBool::new(false), begun, ended, echoed, closed };
        let state = Arc::new(state);
        let serving = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (state, stream) = (serving.clone(), stream.unwrap());
                std::thread::spawn(move || {
                    let _ = state.converse(&stream);
                    // What was read last must not be held open by a clone.
                    drop(stream);
                    state.closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// How often it began to be ugly, and how often that was over.
    pub(crate) fn uglinesses(&self) -> (usize, usize) {
        (self.state.begun.load(Ordering::SeqCst), self.state.ended.load(Ordering::SeqCst))
    }

    /// How often it echoed.
    pub(crate) fn echoed(&self) -> usize {
        self.state.echoed.load(Ordering::SeqCst)
    }

    /// How many connections it has closed.
    pub(crate) fn closed(&self) -> usize {
        self.state.closed.load(Ordering::SeqCst)
    }
}

impl Drop for HandWritten {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        while let Some(Request { verb, message, .. }) = read_request(&mut reader)? {
            let name = message["params"]["name"].as_str().unwrap_or_default();
            if self.always || name == "ugly" {
                self.begun.fetch_add(1, Ordering::SeqCst);
                (self.ugliness)(stream, &message["id"]);
                self.ended.fetch_add(1, Ordering::SeqCst);
                return Ok(());
            }
            let text = message["params"]["arguments"]["text"].as_str().unwrap_or_default();
            let result = match (&*verb, message["method"].as_str().unwrap_or_default()) {
                ("POST", "initialize") => json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "by hand", "version": "0"},
                }),
                ("POST", "tools/call") => {
                    self.echoed.fetch_add(1, Ordering::SeqCst);
                    json!({"content": [{"type": "text", "text": text}]})
                }
                ("POST", _) if !message["id"].is_null() => json!({}),
                ("POST", _) => {
                    respond(stream, "202 Accepted", "", "")?;
                    continue;
                }
                _ => {
                    respond(stream, "405 Method Not Allowed", "", "")?;
                    continue;
                }
            };
            answer(stream, &message["id"], result)?;
            if text.starts_with("close") {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Says something; that nobody listens any more is no reason to fail. Returns whether somebody does.
pub(crate) fn say(mut stream: &TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}

/// The same text again and again, for as long as somebody listens.
pub(crate) fn say_forever(stream: &TcpStream, text: &str) {
    while say(stream, text) {}
}

/// Says nothing more until the client has hung up.
pub(crate) fn stall(mut stream: &TcpStream) {
    let mut part = [0; 1024];
    while stream.read(&mut part).is_ok_and(|count| count > 0) {}
}

/// Breaks the connection off, as a crash does.
pub(crate) fn reset(stream: &TcpStream) {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
}

/// Ends what is said, and waits until it is heard.
pub(crate) fn hang_up(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    stall(stream);
}
