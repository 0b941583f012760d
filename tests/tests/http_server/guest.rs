//! A server in memory and the clients that talk to it.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass::auth::{Principal, TokenRejected, VerifyReply};
use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::model::{CallToolResult, ElicitFormParams, Implementation, Resource, Tool};
use windlass::server::{Asking, Registry, Reply, ReplyTo, ServerConfig, ServerEvent};
use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Json, Machine, Output, RequestKey, RpcError, Seed};
use windlass_tests::wires::http::HttpRecording;
use windlass_tests::wires::{Direction, Speaker, Wire};

/// What every request of the modern era says of its client.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Says whose a token is.
type Verifier = fn(&str) -> Result<Principal, TokenRejected>;

pub(crate) struct House {
    pub(crate) server: HttpServer<(), &'static str>,
    pub(crate) now: Instant,
    /// Handlers of the tool `slow`, which answer when they are told to.
    pub(crate) slow: Vec<ReplyTo>,
    pub(crate) cancelled: Vec<RequestKey>,
    /// The notifications that came.
    pub(crate) told: Vec<String>,
    pub(crate) closed: bool,
    /// Who says whose a token is. If there is nobody, it waits to be told.
    pub(crate) verifier: Option<Verifier>,
    pub(crate) verifying: Vec<(VerifyReply, String)>,
    /// How many tokens were asked about.
    pub(crate) verified: usize,
    /// On whose behalf handlers were run.
    pub(crate) principals: Vec<Option<Principal>>,
    /// What each connection has written so far.
    written: BTreeMap<ConnId, Vec<u8>>,
    pub(crate) gone: Vec<ConnId>,
    /// Those whose clients have hung up, and whether something was written to them since, to which their systems object.
    hung_up: BTreeMap<ConnId, bool>,
    /// How many bytes go at once.
    pub(crate) chunk: usize,
    /// Whether clients take what is written to them.
    pub(crate) reads: bool,
    recording: Option<HttpRecording>,
}

/// The clients are texts of the test.
const WIRE: Wire = Wire { source: "http server", client: Speaker::Raw, server: Speaker::Ours };

impl House {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut HttpServerConfig)) -> Self {
        Self::with_both(|_, http| change(http))
    }

    pub(crate) fn with_both(change: impl FnOnce(&mut ServerConfig, &mut HttpServerConfig)) -> Self {
        let mut config = ServerConfig::new(Implementation::new("house", "1"));
        let mut http = HttpServerConfig::on_loopback();
        change(&mut config, &mut http);
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("echo"), "echo");
        registry.add_tool(Tool::without_arguments("slow"), "slow");
        registry.add_tool(Tool::without_arguments("ask"), "ask");
        let schema = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"size":{"type":"integer","x-mcp-header":"Size"}}}"#;
        registry.add_tool(Tool::new("mirrored", Json::parse(schema).unwrap()), "echo");
        registry.add_resource(Resource::new("test://one", "one"), "resource");
        let now = Instant::ZERO;
        Self {
            server: HttpServer::new(config, http, registry, &Seed::from_number(7), now),
            now,
            slow: Vec::new(),
            cancelled: Vec::new(),
            told: Vec::new(),
            closed: false,
            verifier: None,
            verifying: Vec::new(),
            verified: 0,
            principals: Vec::new(),
            written: BTreeMap::new(),
            gone: Vec::new(),
            hung_up: BTreeMap::new(),
            chunk: usize::MAX,
            reads: true,
            recording: WIRE.http_recording(),
        }
    }

    pub(crate) fn connect(&mut self) -> ConnId {
        let conn = self.server.accept(self.now);
        self.written.insert(conn, Vec::new());
        self.settle();
        conn
    }

    pub(crate) fn connect_from(&mut self, client: [u8; 4]) -> ConnId {
        let conn = self.server.accept_from(Some(client.into()), self.now);
        self.written.insert(conn, Vec::new());
        self.settle();
        conn
    }

    /// Writes bytes to a connection, as many at once as fit; returns what the server does not read.
    pub(crate) fn write<'a>(&mut self, conn: ConnId, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while !rest.is_empty() {
            let reads = self.server.reads(conn);
            let space = self.server.read_buf(conn);
            assert_eq!(reads, !space.is_empty(), "a driver is told whether there is room");
            let count = rest.len().min(space.len()).min(self.chunk);
            if count == 0 {
                return rest;
            }
            space[..count].copy_from_slice(&rest[..count]);
            self.record(conn, Direction::ToServer, &rest[..count]);
            self.server.read_done(conn, count, self.now);
            rest = &rest[count..];
            self.settle();
        }
        rest
    }

    /// The client is gone.
    pub(crate) fn hang_up(&mut self, conn: ConnId) {
        self.hung_up.insert(conn, false);
        self.stop_sending(conn);
    }

    /// The client sends nothing more, and may listen.
    pub(crate) fn stop_sending(&mut self, conn: ConnId) {
        self.server.read_eof(conn, self.now);
        self.settle();
    }

    pub(crate) fn wait(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.server.handle_timeout(self.now);
        self.settle();
    }

    /// Lets the server do what it can. Nothing is written to a client that does not read.
    pub(crate) fn settle(&mut self) {
        loop {
            match self.server.poll() {
                Output::Event(event) => {
                    if let ServerEvent::Invoke { invocation, .. } = &event {
                        self.principals.push(invocation.principal.as_deref().cloned());
                    }
                    let answer = match event {
                        ServerEvent::Verify { reply, token } => {
                            self.verified += 1;
                            match self.verifier {
                                Some(verify) => self.server.verified(reply, verify(token.expose()), self.now),
                                None => self.verifying.push((reply, token.expose().to_owned())),
                            }
                            continue;
                        }
                        ServerEvent::Invoke { reply, handler: "echo", .. } => reply,
                        ServerEvent::Invoke { reply, handler: "ask", invocation } => {
                            let mut asking = Asking::new(&invocation);
                            let _ = asking.elicit("name", ElicitFormParams::new("Who are you?"));
                            self.server.respond(reply, Ok(Reply::InputRequired(asking.into_needs())), self.now);
                            continue;
                        }
                        ServerEvent::Invoke { reply, .. } => {
                            self.slow.push(reply);
                            continue;
                        }
                        ServerEvent::Cancelled(key) => {
                            self.cancelled.push(key);
                            continue;
                        }
                        ServerEvent::Notification { method, .. } => {
                            self.told.push(method.into_owned());
                            continue;
                        }
                        ServerEvent::Closed(_) => {
                            self.closed = true;
                            continue;
                        }
                        _ => continue,
                    };
                    self.server.respond(answer, Ok(Reply::Tool(CallToolResult::text("echo"))), self.now);
                }
                Output::Close(conn) => self.gone.push(conn),
                Output::Open { .. } => panic!("a server opens nothing"),
                Output::Idle { .. } => {
                    if !self.flush() {
                        return;
                    }
                }
            }
        }
    }

    fn flush(&mut self) -> bool {
        let mut progress = false;
        if !self.reads {
            return false;
        }
        while let Some(conn) = self.server.next_to_move() {
            match self.hung_up.get_mut(&conn) {
                Some(true) => {
                    let why = ConnError::new(ConnErrorKind::Broken, "the other side is gone");
                    self.server.conn_failed(conn, why, self.now);
                    progress = true;
                    continue;
                }
                Some(objects) => *objects = true,
                None => {}
            }
            let bytes = self.server.write_buf(conn).to_vec();
            self.record(conn, Direction::ToClient, &bytes);
            self.server.write_done(conn, bytes.len(), self.now);
            self.written.entry(conn).or_default().extend_from_slice(&bytes);
            progress |= !bytes.is_empty();
        }
        let hidden = |conn: &&ConnId| !self.server.write_buf(**conn).is_empty();
        assert_eq!(self.written.keys().find(hidden), None, "the driver is told of everything that waits");
        progress
    }

    fn record(&mut self, conn: ConnId, direction: Direction, bytes: &[u8]) {
        if let Some(recording) = &mut self.recording {
            recording.take(conn.number(), direction, bytes).expect("the wire can be recorded");
        }
    }

    /// What a client has got since it last looked.
    pub(crate) fn read(&mut self, conn: ConnId) -> String {
        String::from_utf8(std::mem::take(self.written.get_mut(&conn).unwrap())).unwrap()
    }

    /// How much waits for a client.
    pub(crate) fn unwritten(&self, conn: ConnId) -> usize {
        self.server.write_buf(conn).len()
    }

    pub(crate) fn is_open(&self, conn: ConnId) -> bool {
        !self.gone.contains(&conn)
    }

    /// The oldest handler that waits gives its answer.
    pub(crate) fn answer_slow(&mut self) {
        let reply = self.slow.remove(0);
        self.server.respond(reply, Ok(Reply::Tool(CallToolResult::text("done"))), self.now);
        self.settle();
    }

    pub(crate) fn fail_slow(&mut self) {
        let reply = self.slow.remove(0);
        self.server.respond(reply, Err(RpcError::internal("no")), self.now);
        self.settle();
    }

    /// A POST on a connection of its own, and what comes of it.
    pub(crate) fn post(&mut self, headers: &str, body: &str) -> String {
        let conn = self.connect();
        self.write(conn, post(headers, body).as_bytes());
        self.read(conn)
    }

    /// A modern call of a tool on a connection of its own, and what comes of it.
    pub(crate) fn call(&mut self, tool: &str) -> String {
        let (headers, body) = modern(1, "tools/call", &format!(r#""name":"{tool}""#));
        self.post(&headers, &body)
    }

    /// Begins a legacy session and returns its id.
    pub(crate) fn initialize(&mut self, version: &str) -> String {
        let answer = self.post("", &initialize(version));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let id = header(&answer, "Mcp-Session-Id").unwrap_or_else(|| panic!("{answer}"));
        let told = self
            .post(&format!("Mcp-Session-Id: {id}\r\n"), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert!(told.starts_with("HTTP/1.1 202 "), "{told}");
        id
    }
}

pub(crate) fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"guest","version":"1"}}}}}}"#
    )
}

pub(crate) fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The header that names a session.
pub(crate) fn session(id: &str) -> String {
    format!("Mcp-Session-Id: {id}\r\n")
}

/// A GET of a session, with more headers.
pub(crate) fn get(id: &str, more: &str) -> String {
    format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {id}\r\n{more}\r\n")
}

/// A modern request with the headers that repeat it.
pub(crate) fn modern(id: u32, method: &str, params: &str) -> (String, String) {
    let name = serde_json::from_str::<serde_json::Value>(&format!("{{{params}}}")).unwrap();
    let name = name.get("name").or(name.get("uri")).and_then(|name| name.as_str()).map(ToOwned::to_owned);
    let comma = if params.is_empty() { "" } else { "," };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{META}{comma}{params}}}}}"#);
    let mut headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
    if let Some(name) = name {
        headers += &format!("Mcp-Name: {name}\r\n");
    }
    (headers, body)
}

pub(crate) fn header(answer: &str, name: &str) -> Option<String> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no status in {answer:?}"))
}

/// The body of an answer, chunks joined.
pub(crate) fn body(answer: &str) -> String {
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    if !head.contains("Transfer-Encoding: chunked") {
        return rest.to_owned();
    }
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body += &after[..size];
        rest = &after[size + 2..];
    }
    body
}

/// The messages in a stream of events.
pub(crate) fn messages(events: &str) -> Vec<String> {
    events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| !data.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The ids in a stream of events.
pub(crate) fn ids(events: &str) -> Vec<String> {
    events.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}
