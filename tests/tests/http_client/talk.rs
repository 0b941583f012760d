//! A client that is driven by bytes, against a server that says what the test tells it to.
//!
//! Everything is written down as it happens: `>` what the client sends, `<` what the server says, `!` what the program
//! is told, `+` and `x` connections that are opened and closed, `@` the time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use windlass::client::{CallId, CallOptions, ChallengeReply, ClientConfig, ClientEvent, InputReply, Update};
use windlass::codec::http1::{Bounds, Frame, RequestDecoder, RequestHead};
use windlass::link::http::{HttpClient, HttpClientConfig};
use windlass::model::{Implementation, Method};
use windlass::{CallError, ConnError, ConnErrorKind, ConnId, Instant, Json, Machine, Output, SendError, Target};
use windlass_sim::assert_transcript_file;
use windlass_tests::wires::http::HttpRecording;
use windlass_tests::wires::{self, Direction};

pub(crate) const URL: &str = "http://server:3000/mcp";

/// So long that what a server says is about the request, and not about a connection that it has kept for long enough.
pub(crate) const THOUGHT: Duration = Duration::from_secs(1);

/// A request that the client made, and the connection that it came on.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) conn: u32,
    pub(crate) head: RequestHead,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.only(name).expect("no header is sent twice")
    }

    /// The method of the message in the body.
    pub(crate) fn says(&self) -> String {
        let message: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        message["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn id(&self) -> i64 {
        let message: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        message["id"].as_i64().unwrap_or_default()
    }

    /// A message of the server's that answers this request.
    pub(crate) fn result(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id())
    }

    pub(crate) fn error(&self, code: i64, message: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"{message}"}}}}"#, self.id())
    }
}

struct Wire {
    name: u32,
    id: ConnId,
    decoder: RequestDecoder,
    unread: Vec<u8>,
    head: Option<RequestHead>,
    body: Vec<u8>,
}

pub(crate) struct Talk {
    pub(crate) client: HttpClient<u32>,
    pub(crate) now: Instant,
    /// How many bytes the client reads at a time.
    pub(crate) chunk: usize,
    wires: BTreeMap<u32, Wire>,
    opened: u32,
    requests: VecDeque<Request>,
    pub(crate) transcript: String,
    said_at: Instant,
    calls: u32,
    pub(crate) outcomes: BTreeMap<u32, Result<Json, CallError>>,
    pub(crate) inputs: Vec<InputReply>,
    pub(crate) challenges: Vec<ChallengeReply>,
    pub(crate) deadline: Option<Instant>,
    /// Targets that cannot be reached any more.
    pub(crate) unreachable: bool,
    /// The server reads nothing.
    pub(crate) deaf: bool,
    recording: Option<HttpRecording>,
}

/// The server is a text of the test.
const WIRE: wires::Wire =
    wires::Wire { source: "http client", client: wires::Speaker::Ours, server: wires::Speaker::Raw };

pub(crate) fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("c", "1"))
}

pub(crate) fn http() -> HttpClientConfig {
    HttpClientConfig::new(URL).unwrap()
}

/// For clients that do not want to hear what a legacy server says unasked.
pub(crate) fn without_listener() -> HttpClientConfig {
    let mut http = http();
    http.listen = false;
    http
}

impl Talk {
    pub(crate) fn new(config: ClientConfig, http: HttpClientConfig) -> Self {
        let mut talk = Self {
            client: HttpClient::new(config, http, Instant::ZERO),
            now: Instant::ZERO,
            chunk: usize::MAX,
            wires: BTreeMap::new(),
            opened: 0,
            requests: VecDeque::new(),
            transcript: String::new(),
            said_at: Instant::ZERO,
            calls: 0,
            outcomes: BTreeMap::new(),
            inputs: Vec::new(),
            challenges: Vec::new(),
            deadline: None,
            unreachable: false,
            deaf: false,
            recording: WIRE.http_recording(),
        };
        talk.run();
        talk
    }

    /// The next request that the client made.
    #[track_caller]
    pub(crate) fn request(&mut self) -> Request {
        let request = self.requests.pop_front();
        request.unwrap_or_else(|| panic!("there is no request:\n{}", self.transcript))
    }

    /// The request with this method, whichever connection it came on.
    #[track_caller]
    pub(crate) fn request_for(&mut self, method: &str) -> Request {
        let found = self.requests.iter().position(|request| request.says() == method);
        found.and_then(|at| self.requests.remove(at)).unwrap_or_else(|| panic!("no {method}:\n{}", self.transcript))
    }

    pub(crate) fn is_open(&self, conn: u32) -> bool {
        self.wires.contains_key(&conn)
    }

    /// The connection of this name. What is said on one that the client has closed is heard by nobody, and shows nothing.
    #[track_caller]
    fn open(&self, conn: u32) -> ConnId {
        let Some(wire) = self.wires.get(&conn) else { panic!("connection {conn} is closed:\n{}", self.transcript) };
        wire.id
    }

    pub(crate) fn requests_left(&self) -> usize {
        self.requests.len()
    }

    #[track_caller]
    pub(crate) fn no_request(&mut self) {
        assert!(self.requests.is_empty(), "there is a request:\n{}", self.transcript);
    }

    #[track_caller]
    pub(crate) fn json(&mut self, request: &Request, status: u16, body: &str) {
        self.say(request, status, "Content-Type: application/json\r\n", Some(body));
    }

    #[track_caller]
    pub(crate) fn plain(&mut self, request: &Request, status: u16, body: &str) {
        self.say(request, status, "", Some(body));
    }

    /// A response; without a body it is a stream that goes on.
    #[track_caller]
    pub(crate) fn say(&mut self, request: &Request, status: u16, headers: &str, body: Option<&str>) {
        let shown: Vec<_> = headers.split("\r\n").filter(|line| !line.is_empty()).collect();
        self.note(&format!("< {} {status} {}", request.conn, shown.join(", ")));
        let head = match body {
            Some(body) => {
                if !body.is_empty() {
                    self.note(&format!("<   {body}"));
                }
                format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
            }
            None => format!("HTTP/1.1 {status} X\r\n{headers}Transfer-Encoding: chunked\r\n\r\n"),
        };
        self.raw(request.conn, head.as_bytes());
    }

    /// Begins a stream of events.
    #[track_caller]
    pub(crate) fn stream(&mut self, request: &Request) {
        self.say(request, 200, "Content-Type: text/event-stream\r\n", None);
    }

    /// Some lines of a stream of events.
    #[track_caller]
    pub(crate) fn lines(&mut self, request: &Request, lines: &str) {
        self.note(&format!("<   {}", lines.trim_end().replace('\n', "\\n")));
        self.raw(request.conn, format!("{:x}\r\n{lines}\r\n", lines.len()).as_bytes());
    }

    #[track_caller]
    pub(crate) fn event(&mut self, request: &Request, message: &str) {
        self.lines(request, &format!("data: {message}\n\n"));
    }

    /// The stream is complete.
    #[track_caller]
    pub(crate) fn end(&mut self, request: &Request) {
        self.note(&format!("< {} end", request.conn));
        self.raw(request.conn, b"0\r\n\r\n");
    }

    /// The server closes the connection.
    #[track_caller]
    pub(crate) fn cut(&mut self, request: &Request) {
        self.note(&format!("< {} eof", request.conn));
        if let Some(recording) = &mut self.recording {
            recording.end(request.conn, Direction::ToClient).expect("the wire can be recorded");
        }
        self.client.read_eof(self.open(request.conn), self.now);
        self.run();
    }

    #[track_caller]
    pub(crate) fn breaks(&mut self, conn: u32, detail: &str) {
        self.note(&format!("< {conn} breaks: {detail}"));
        self.client.conn_failed(self.open(conn), ConnError::new(ConnErrorKind::Broken, detail), self.now);
        self.run();
    }

    /// Bytes of the server's; the client may close the connection before it has read all of them.
    #[track_caller]
    pub(crate) fn raw(&mut self, conn: u32, mut bytes: &[u8]) {
        self.open(conn);
        while let (false, Some(wire)) = (bytes.is_empty(), self.wires.get(&conn)) {
            let id = wire.id;
            assert!(self.client.reads(id), "the client stopped reading");
            let room = self.client.read_buf(id);
            let count = room.len().min(bytes.len()).min(self.chunk);
            assert!(count > 0, "the client stopped reading");
            room[..count].copy_from_slice(&bytes[..count]);
            record(&mut self.recording, conn, Direction::ToClient, &bytes[..count]);
            bytes = &bytes[count..];
            self.client.read_done(id, count, self.now);
            self.run();
        }
        self.run();
    }

    pub(crate) fn call<M: Method>(&mut self, params: &M::Params) -> (u32, CallId) {
        self.call_with::<M>(params, &CallOptions::new())
    }

    pub(crate) fn call_with<M: Method>(&mut self, params: &M::Params, options: &CallOptions) -> (u32, CallId) {
        let call = self.try_call::<M>(params, options);
        call.unwrap_or_else(|why| panic!("the call is refused: {why}\n{}", self.transcript))
    }

    pub(crate) fn try_call<M: Method>(
        &mut self,
        params: &M::Params,
        options: &CallOptions,
    ) -> Result<(u32, CallId), SendError> {
        self.calls += 1;
        let call = self.client.call::<M>(params, options, self.calls, self.now)?;
        self.run();
        Ok((self.calls, call))
    }

    /// Lets time go by, stopping wherever the client wants to be woken.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(deadline) = self.deadline.filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.client.handle_timeout(self.now);
            self.run();
        }
        self.now = end;
    }

    /// Moves everything that can be moved.
    pub(crate) fn run(&mut self) {
        loop {
            self.poll();
            let mut wrote = false;
            let names: Vec<_> = self.wires.keys().copied().collect();
            for name in names {
                wrote |= self.write(name);
            }
            if !wrote {
                return;
            }
        }
    }

    fn write(&mut self, name: u32) -> bool {
        let Some(wire) = self.wires.get_mut(&name) else { return false };
        let bytes = self.client.write_buf(wire.id).to_vec();
        if bytes.is_empty() || self.deaf {
            return false;
        }
        record(&mut self.recording, name, Direction::ToServer, &bytes);
        self.client.write_done(wire.id, bytes.len(), self.now);
        wire.unread.extend_from_slice(&bytes);
        let mut complete = Vec::new();
        loop {
            let (consumed, frame) = wire.decoder.next(&wire.unread).expect("the client speaks HTTP");
            match frame {
                Some(Frame::Head(head)) => wire.head = Some(head),
                Some(Frame::Body(range)) => wire.body.extend_from_slice(&wire.unread[range]),
                Some(Frame::End) => {
                    let body = String::from_utf8(std::mem::take(&mut wire.body)).expect("UTF-8");
                    complete.push(Request { conn: name, head: wire.head.take().unwrap(), body });
                }
                None => break,
            }
            wire.unread.drain(..consumed);
        }
        for request in complete {
            self.note(&shown(&request));
            if !request.body.is_empty() {
                self.note(&format!(">   {}", request.body));
            }
            self.requests.push_back(request);
        }
        true
    }

    fn poll(&mut self) {
        for _ in 0..10_000 {
            let said = match self.client.poll() {
                Output::Open { conn, target: Target::Http(target) } => {
                    assert_eq!((&target.host[..], target.port, target.tls), ("server", 3000, false));
                    self.opened += 1;
                    let name = self.opened;
                    let decoder = RequestDecoder::new(Bounds::default());
                    let wire = Wire { name, id: conn, decoder, unread: Vec::new(), head: None, body: Vec::new() };
                    self.wires.insert(name, wire);
                    if self.unreachable {
                        let why = ConnError::new(ConnErrorKind::NotOpened, "connection refused");
                        self.client.conn_failed(conn, why, self.now);
                    }
                    format!("+ {name}")
                }
                Output::Open { .. } => panic!("an HTTP client opens HTTP connections"),
                Output::Close(conn) => {
                    let name = self.wires.values().find(|wire| wire.id == conn).map(|wire| wire.name);
                    let name = name.expect("only what is open is closed");
                    self.wires.remove(&name);
                    self.requests.retain(|request| request.conn != name);
                    format!("x {name}")
                }
                Output::Idle { deadline } => {
                    self.deadline = deadline;
                    return;
                }
                Output::Event(event) => {
                    let text = told(&event);
                    match event {
                        ClientEvent::Completed { token, outcome, .. } => {
                            let twice = self.outcomes.insert(token, outcome.map(|result| result.to_json()));
                            assert!(twice.is_none(), "a call completes once");
                        }
                        ClientEvent::Input { reply, .. } => self.inputs.push(reply),
                        ClientEvent::Challenged { reply, .. } => self.challenges.push(reply),
                        _ => {}
                    }
                    format!("! {text}")
                }
            };
            self.note(&said);
        }
        panic!("the client does not come to rest:\n{}", self.transcript);
    }

    fn note(&mut self, line: &str) {
        if self.now != self.said_at {
            self.said_at = self.now;
            writeln!(self.transcript, "@ {:?}", self.now).unwrap();
        }
        writeln!(self.transcript, "{line}").unwrap();
    }

    /// How a call ended.
    #[track_caller]
    pub(crate) fn outcome(&self, call: u32) -> &Result<Json, CallError> {
        self.outcomes.get(&call).unwrap_or_else(|| panic!("call {call} is open:\n{}", self.transcript))
    }

    #[track_caller]
    pub(crate) fn failed(&self, call: u32) -> String {
        match self.outcome(call) {
            Err(error) => error.to_string(),
            Ok(result) => panic!("call {call} has a result: {result}\n{}", self.transcript),
        }
    }

    #[track_caller]
    pub(crate) fn tells(&self, part: &str) {
        assert!(self.transcript.contains(part), "nobody says {part:?}:\n{}", self.transcript);
    }

    pub(crate) fn close(&mut self) {
        self.client.close(self.now);
        self.run();
    }

    /// Closes, sees that nothing is left, and compares the transcript with the file of that name.
    #[track_caller]
    pub(crate) fn close_and_expect(mut self, name: &str) {
        self.close_down();
        let path = format!("{}/tests/http_client/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        assert_transcript_file(&self.transcript, path);
    }

    /// Closes and sees that nothing is left.
    #[track_caller]
    pub(crate) fn close_down(&mut self) {
        self.close();
        while let Some(delete) = self.requests.pop_front() {
            self.plain(&delete, 200, "");
        }
        self.nothing_left();
    }

    #[track_caller]
    pub(crate) fn nothing_left(&mut self) {
        assert!(self.transcript.lines().last().is_some_and(|line| line.starts_with("! closed")), "{}", self.transcript);
        assert!(self.client.is_idle(), "{}", self.transcript);
        assert!(self.wires.is_empty() && self.deadline.is_none(), "{:?}\n{}", self.deadline, self.transcript);
    }
}

fn record(recording: &mut Option<HttpRecording>, connection: u32, direction: Direction, bytes: &[u8]) {
    if let Some(recording) = recording {
        recording.take(connection, direction, bytes).expect("the wire can be recorded");
    }
}

pub(crate) const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}},"ttlMs":0,"cacheScope":"private"}"#;

pub(crate) fn initialize_result(version: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}},"resources":{{"subscribe":true}},"prompts":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}"#
    )
}

/// A request without what all of them say.
fn shown(request: &Request) -> String {
    const USUAL: [(&str, &str); 6] = [
        ("host", "server:3000"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("accept-encoding", "identity"),
        ("user-agent", concat!("windlass/", env!("CARGO_PKG_VERSION"))),
        ("content-length", ""),
    ];
    let mut text = format!("> {} {} {}", request.conn, request.head.method, request.head.target);
    for (name, value) in request.head.headers.iter() {
        let name = name.to_ascii_lowercase();
        let usual = USUAL.iter().any(|(usual, content)| *usual == name && (content.is_empty() || *content == value));
        if !usual && name != "user-agent" {
            write!(text, " {name}={value:?}").unwrap();
        }
    }
    text
}

fn told(event: &ClientEvent<'_, u32>) -> String {
    match event {
        ClientEvent::Ready(peer) => format!("ready: {}", peer.version),
        ClientEvent::Completed { token, outcome: Ok(result), .. } => format!("call {token} completed {result}"),
        ClientEvent::Completed { token, outcome: Err(error), .. } => format!("call {token} failed: {error}"),
        ClientEvent::Update { token, update: Update::Progress(progress), .. } => format!("call {token} at {progress}"),
        ClientEvent::Update { token, update: Update::Subscribed(filter), .. } => {
            format!("call {token} subscribed to {}", serde_json::to_string(filter).unwrap())
        }
        ClientEvent::Update { token, update: Update::Notification { method, params }, .. } => {
            format!("call {token} told {method} {}", params.map_or("", |params| params.as_str()))
        }
        ClientEvent::Input { request, .. } => format!("input wanted by {}", request.method()),
        ClientEvent::InputCancelled(_) => "input is not needed any more".into(),
        ClientEvent::Notification { method, params } => {
            format!("told {method} {}", params.map_or("", |params| params.as_str()))
        }
        ClientEvent::Malformed(malformed) => format!("malformed: {malformed}"),
        ClientEvent::Reinitialized(peer) => format!("reinitialized: {}", peer.version),
        ClientEvent::ToolLeftOut { name, reason } => format!("left out {name}: {reason}"),
        ClientEvent::Challenged { challenge, .. } => format!("challenged: {:?}", challenge.www_authenticate),
        ClientEvent::NotDelivered(error) => format!("not delivered: {error}"),
        ClientEvent::Closed(reason) => format!("closed: {reason}"),
        other => format!("{other:?}"),
    }
}
