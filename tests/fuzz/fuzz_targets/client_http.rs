//! A client over HTTP, with a server, a network and a program that do anything at any time: every call ends once, nothing is
//! left behind, and whatever the client sends is a request with a message in it.
//!
//! The first byte of the tape configures the role, the second one its way over HTTP. Beside the letters of a client's
//! program, each step is about one of the requests that are open: `A` answers it as it should be, `O` begins a stream of
//! events, `W` is an event out of a table and `M` one with a text of the tape's, `Y` ends the stream; `P` answers with a
//! status out of a table, `H` with bytes of the tape's; `E` and `F` end and break its connection. `U` says whether the server
//! can be reached.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use windlass::client::{ClientEvent, Update};
use windlass::codec::http1::{self, Frame, RequestDecoder, RequestHead};
use windlass::jsonrpc::{Id, Message, Parsed, parse};
use windlass::link::http::{HttpClient, HttpClientConfig};
use windlass::{ConnId, Instant, Limits};
use windlass_fuzz::client::{Client, Inhabited, Program, config, finish, play};
use windlass_fuzz::rig::{Bounds, Rig, World};
use windlass_fuzz::tape::{Step, steps};

const LETTERS: &[u8] = b"CSXNRIQTJKDZAAOWWMYPHEFU";

fuzz_target!(|tape: &[u8]| {
    let &[choice, way, ref tape @ ..] = tape else { return };
    let config = config(choice);
    let mut http = HttpClientConfig::new("http://server:3000/mcp").expect("a URL");
    http.answers_challenges = way & 1 != 0;
    http.listen = way & 2 == 0;
    http.connections = 3;
    http.idle_connections = usize::from(way >> 2 & 3);
    http.reconnects = 3;
    // A head has to fit; a call that is retried has its inputs with it; beside the streams for calls there is a
    // reserve of eight for messages that calls may wait for, one to listen, and those that are kept.
    let bounds =
        Bounds { read: 64 * 1024 + 1, write: 16 * 1024, streams: http.connections + 8 + 1 + http.idle_connections };
    let mut rig = Rig::new(HttpClient::new(config, http, Instant::ZERO).into(), bounds);
    let mut world = Server::new();
    rig.settle(&mut world);
    for step in steps(tape, LETTERS) {
        match step.letter {
            b'A' | b'O' | b'W' | b'M' | b'Y' | b'P' | b'H' | b'E' | b'F' => serve(&step, &mut rig, &mut world),
            b'U' => world.unreachable = step.number() % 2 == 1,
            _ => play(&step, &mut rig, &mut world),
        }
    }
    finish(rig, world);
});

/// Does something about one of the requests.
fn serve(step: &Step<'_>, rig: &mut Rig<Client>, world: &mut Server) {
    if world.requests.is_empty() {
        return;
    }
    let (number, text) = step.split();
    let at = number as usize % world.requests.len();
    let more = number as usize / world.requests.len();
    let request = &world.requests[at];
    let conn = request.conn;
    let (bytes, done) = match step.letter {
        b'A' => (request.right_answer(), true),
        b'O' => {
            ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".into(), false)
        }
        b'W' => (chunk(EVENTS[more % EVENTS.len()].replace("{id}", &request.id.to_string()).as_bytes()), false),
        b'M' => (chunk(&[b"data: ", text, b"\n\n"].concat()), false),
        b'Y' => ("0\r\n\r\n".into(), true),
        b'P' => (ANSWERS[more % ANSWERS.len()].replace("{id}", &request.id.to_string()).into_bytes(), true),
        b'H' => (text.to_vec(), false),
        b'E' => return rig.end(conn, world),
        _ => return rig.fail(conn, world),
    };
    if done {
        world.requests.remove(at);
    }
    rig.feed(conn, &bytes, world);
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    http1::write_chunk(&mut out, bytes);
    out
}

/// What a server might say in a stream.
const EVENTS: [&str; 14] = [
    "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[]}}\n\n",
    "id: 7\nretry: 100\ndata:\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
    "id: e{id}\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":{id},\"progress\":1}}\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}},\"requestState\":\"s\"}}\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":{id}}}}\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{\"code\":-32020,\"message\":\"m\"}}\n\n",
    "event: endpoint\ndata: /messages\n\n",
    ": alive\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":3}\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"r\"}}\n\n",
    "retry: 99999999999\ndata: nonsense\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"file:///0\"}}\n\n",
];

/// What a server might answer.
const ANSWERS: [&str; 16] = [
    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 405 No\r\nContent-Length: 2\r\n\r\nno",
    "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 307 X\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 308 X\r\nLocation: http://elsewhere/mcp\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 500 X\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
    "HTTP/1.1 408 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 101 Switching\r\n\r\n",
    "HTTP/1.1 400 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4e\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32020,\"message\":\"headers differ\"}}\r\n0\r\n\r\n",
    "HTTP/1.1 429 X\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
];

/// A request that the client made.
struct Request {
    conn: ConnId,
    method: String,
    says: String,
    id: i64,
}

impl Request {
    fn right_answer(&self) -> Vec<u8> {
        if self.method != "POST" {
            let accepted = if self.method == "GET" { ANSWERS[2] } else { ANSWERS[0] };
            return accepted.into();
        }
        let (headers, result) = match &*self.says {
            "" | "notifications/initialized" | "notifications/roots/list_changed" => return ANSWERS[0].into(),
            "server/discover" => (
                "",
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}},"ttlMs":0,"cacheScope":"private"}"#,
            ),
            "initialize" => (
                "Mcp-Session-Id: s1\r\n",
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}},"serverInfo":{"name":"s","version":"1"}}"#,
            ),
            "tools/list" => (
                "",
                r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}},"annotations":{"idempotentHint":true}}]}"#,
            ),
            _ => ("", r#"{"content":[],"resultType":"complete"}"#),
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id);
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .into()
    }
}

/// A server that reads what comes.
struct Server {
    program: Program,
    wires: BTreeMap<ConnId, Wire>,
    requests: Vec<Request>,
    unreachable: bool,
}

struct Wire {
    decoder: RequestDecoder,
    unread: Vec<u8>,
    head: Option<RequestHead>,
    body: Vec<u8>,
}

impl Server {
    fn new() -> Self {
        Self { program: Program::new(forgets), wires: BTreeMap::new(), requests: Vec::new(), unreachable: false }
    }
}

impl World<Client> for Server {
    fn told(&mut self, event: ClientEvent<'_, u32>) -> bool {
        self.program.told(event)
    }

    fn act(&mut self, _: &mut Client, _: Instant) {}

    fn opened(&mut self, conn: ConnId) -> bool {
        let decoder = RequestDecoder::new(http1::Bounds::default());
        self.wires.insert(conn, Wire { decoder, unread: Vec::new(), head: None, body: Vec::new() });
        !self.unreachable
    }

    fn wrote(&mut self, conn: ConnId, bytes: &[u8]) {
        let wire = self.wires.get_mut(&conn).expect("it was opened");
        wire.unread.extend_from_slice(bytes);
        loop {
            let (consumed, frame) = wire.decoder.next(&wire.unread).expect("the client speaks HTTP");
            let bytes: Vec<u8> = wire.unread.drain(..consumed).collect();
            match frame {
                None => return,
                Some(Frame::Head(head)) => wire.head = Some(head),
                Some(Frame::Body(range)) => wire.body.extend_from_slice(&bytes[range]),
                Some(Frame::End) => {
                    let head = wire.head.take().expect("an end comes behind a head");
                    let body = std::mem::take(&mut wire.body);
                    self.requests.push(understood(conn, &head, &body));
                }
            }
        }
    }

    fn closed(&mut self, conn: ConnId) {
        self.wires.remove(&conn);
        self.requests.retain(|request| request.conn != conn);
    }
}

fn understood(conn: ConnId, head: &RequestHead, body: &[u8]) -> Request {
    let mut request = Request { conn, method: head.method.clone(), says: String::new(), id: 0 };
    assert_eq!(head.headers.get("host"), Some("server:3000"));
    match &*head.method {
        "POST" => match parse(body, &Limits::default()) {
            Ok(Parsed::Message(Message::Request { id: Id::Number(id), method, .. })) => {
                (request.says, request.id) = (method.into_owned(), id);
            }
            Ok(Parsed::Message(Message::Notification { method, .. })) => request.says = method.into_owned(),
            Ok(Parsed::Message(Message::Response { .. })) => {}
            other => panic!("the client said {other:?}"),
        },
        "GET" | "DELETE" => assert!(body.is_empty()),
        other => panic!("what is {other}?"),
    }
    request
}

impl Inhabited for Server {
    fn program(&mut self) -> &mut Program {
        &mut self.program
    }
}

/// The planted bug: progress makes the program forget its call, if there is a subscription as well and something was
/// cancelled before.
fn forgets(program: &Program, _: u32, update: &Update<'_>) -> bool {
    if let Update::Progress(_) = update {
        if program.listens() && program.cancelled > 0 {
            return true;
        }
    }
    false
}
