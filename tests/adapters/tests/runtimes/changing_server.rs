//! A server over HTTP, written by hand, that is restarted in another era behind the same address.

use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_tests::hand_written::{Request, answer, read_request, respond, respond_json};

/// A server of one era at a time with two tools: `look`, which is safe to repeat, and `act`, which is not.
pub(crate) struct ChangingServer {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    current: Mutex<Current>,
    acts: AtomicUsize,
}

/// What a restart changes.
struct Current {
    modern: bool,
    /// How often it was started; the session's id says which start it is of.
    starts: usize,
    open: Vec<TcpStream>,
    stopped: bool,
}

impl ChangingServer {
    pub(crate) fn start(modern: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let current = Mutex::new(Current { modern, starts: 1, open: Vec::new(), stopped: false });
        let state = Arc::new(State { current, acts: AtomicUsize::new(0) });
        let serving = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let mut current = serving.current.lock().unwrap();
                if current.stopped {
                    return;
                }
                current.open.push(stream.try_clone().unwrap());
                drop(current);
                let state = serving.clone();
                std::thread::spawn(move || state.converse(&stream));
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Forgets its sessions, hangs up on everybody, and goes on in this era.
    pub(crate) fn restart(&self, modern: bool) {
        let mut current = self.state.current.lock().unwrap();
        current.modern = modern;
        current.starts += 1;
        for stream in current.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// How often it acted.
    pub(crate) fn acts(&self) -> usize {
        self.state.acts.load(Ordering::SeqCst)
    }
}

impl Drop for ChangingServer {
    fn drop(&mut self) {
        self.restart(true);
        self.state.current.lock().unwrap().stopped = true;
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader)? {
            let (modern, session) = {
                let current = self.current.lock().unwrap();
                (current.modern, format!("start-{}", current.starts))
            };
            if modern { self.answer_modern(stream, &request) } else { self.answer_legacy(stream, &request, &session) }?;
        }
        Ok(())
    }

    fn answer_modern(&self, stream: &TcpStream, request: &Request) -> io::Result<()> {
        let message = &request.message;
        let is_modern = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        match message["method"].as_str().unwrap_or_default() {
            // It knows nothing of sessions.
            _ if request.header("Mcp-Session-Id").is_some() => respond(stream, "404 Not Found", "", ""),
            _ if !is_modern => refuse(stream, &message["id"], -32020, "MCP-Protocol-Version is missing"),
            "server/discover" => {
                let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
                answer(stream, &message["id"], result)
            }
            method => self.answer(stream, method, message),
        }
    }

    fn answer_legacy(&self, stream: &TcpStream, request: &Request, current: &str) -> io::Result<()> {
        let message = &request.message;
        match (message["method"].as_str().unwrap_or_default(), request.header("Mcp-Session-Id")) {
            _ if request.verb != "POST" => respond(stream, "405 Method Not Allowed", "", ""),
            ("initialize", _) => {
                let result = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "by hand", "version": "0"},
                });
                let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                respond_json(stream, "200 OK", &format!("Mcp-Session-Id: {current}\r\n"), &body)
            }
            (_, None) => refuse(stream, &Value::Null, -32000, "Mcp-Session-Id is missing; send initialize first"),
            (_, Some(session)) if session != current => respond(stream, "404 Not Found", "", ""),
            (method, _) => self.answer(stream, method, message),
        }
    }

    fn answer(&self, stream: &TcpStream, method: &str, message: &Value) -> io::Result<()> {
        let result = match (method, message["params"]["name"].as_str()) {
            ("tools/list", _) => json!({"tools": [
                {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
                {"name": "act", "inputSchema": {"type": "object"}},
            ]}),
            ("tools/call", Some(name)) => {
                self.acts.fetch_add(usize::from(name == "act"), Ordering::SeqCst);
                json!({"content": [{"type": "text", "text": name}]})
            }
            _ if message["id"].is_null() => return respond(stream, "202 Accepted", "", ""),
            _ => json!({}),
        };
        answer(stream, &message["id"], result)
    }
}

fn refuse(stream: &TcpStream, id: &Value, code: i64, why: &str) -> io::Result<()> {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
    respond_json(stream, "400 Bad Request", "", &body)
}
