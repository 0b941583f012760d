//! A server behind an endpoint of HTTP, with clients and handlers that do anything at any time: what it sends are responses
//! with messages in them, each to a request, and nothing is left behind.
//!
//! The first byte of the tape configures the role, the second one the endpoint. Beside the letters of a server's program, `O`
//! opens a connection; `W` posts a message out of a table on one of them, `G` listens or resumes, `H` ends the session, `B` are
//! bytes of the tape's; `E` and `F` end and break a connection.

#![no_main]

use std::collections::BTreeMap;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass::codec::http1::{self, Frame, HttpFault, RequestDecoder, ResponseDecoder, ResponseHead};
use windlass::codec::sse::{self, EventDecoder};
use windlass::jsonrpc::{Message, Parsed, parse};
use windlass::link::AnyServer;
use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::server::ServerEvent;
use windlass::{ConnId, Instant, JsonText, Limits, Seed};
use windlass_fuzz::canary;
use windlass_fuzz::rig::{Bounds, Rig, World};
use windlass_fuzz::server::{
    Handler, Inhabited, Program, Server, WORDS, config, finish, play, quieten, registry, state_of, word,
};
use windlass_fuzz::tape::steps;

const LETTERS: &[u8] = b"RPVUACXIQTJKDZOOWWWWWGHBEF";

const CONNECTIONS: usize = 5;

fuzz_target!(|tape: &[u8]| {
    let &[choice, way, ref tape @ ..] = tape else { return };
    let config = config(choice);
    let http = endpoint(way);
    let bounds = Bounds {
        read: http.head.head_bytes + 1,
        // What is beyond the limit is noticed when it is there.
        write: http.write_bytes + 8 * 1024,
        // One that is too many is closed at once.
        streams: CONNECTIONS,
    };
    let server = HttpServer::new(config, http, registry(), &Seed::from_number(7), Instant::ZERO);
    let mut rig = Rig::new(server.into(), bounds);
    let mut world = Clients::default();
    rig.settle(&mut world);
    for step in steps(tape, LETTERS) {
        let (number, text) = step.split();
        let conn = match step.letter {
            b'W' => rig.pick(number / WORDS.len() as u64),
            _ => rig.pick(number),
        };
        match (step.letter, conn) {
            (b'O', _) | (b'W' | b'G' | b'H' | b'B', None) => connect(&mut rig, &mut world),
            (b'W', Some(conn)) => {
                let id = i64::from(text.first().map_or(1, |digit| digit & 7));
                let word = word(number, id, &world.state);
                let post = world.post(&word);
                say(&mut rig, &mut world, conn, post.as_bytes());
            }
            (b'G', Some(conn)) => {
                let session = world.session();
                let resumed = match text.first() {
                    None => String::new(),
                    Some(_) => format!("Last-Event-ID: {}\r\n", world.last_event_id),
                };
                let request = format!(
                    "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{session}{resumed}\r\n"
                );
                say(&mut rig, &mut world, conn, request.as_bytes());
            }
            (b'H', Some(conn)) => {
                let request = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}\r\n", world.session());
                say(&mut rig, &mut world, conn, request.as_bytes());
            }
            (b'B', Some(conn)) => say(&mut rig, &mut world, conn, text),
            (b'E', Some(conn)) => rig.end(conn, &mut world),
            (b'F', Some(conn)) => rig.fail(conn, &mut world),
            _ => play(&step, &mut rig, &mut world),
        }
    }
    quieten(&mut rig, &mut world);
    for conn in rig.streams() {
        rig.fail(conn, &mut world);
    }
    rig.pass(Duration::from_secs(300), &mut world);
    assert!(rig.machine.is_idle(), "nobody waits for anything");
    if let AnyServer::Http(server) = &rig.machine {
        assert_eq!(server.sessions(), 0, "what nobody uses is forgotten");
    }
    finish(rig, world);
});

/// An endpoint that puts up with little.
fn endpoint(way: u8) -> HttpServerConfig {
    let mut http = HttpServerConfig::on_loopback();
    http.json_answers = way & 1 == 0;
    http.connections = CONNECTIONS;
    http.sessions = 2;
    http.session_idle = Duration::from_secs(100);
    http.heartbeat = Duration::from_secs(30);
    http.write_bytes = 8 * 1024;
    http.replay_events = 3;
    http.replay_bytes = 1024;
    http.replay_streams = 2;
    http.replay_total_bytes = 2048;
    http.head.head_bytes = 1024;
    http.head.headers = 16;
    http
}

fn connect(rig: &mut Rig<Server>, world: &mut Clients) {
    if let Some(conn) = rig.machine.accept(rig.now) {
        rig.accepted(conn);
        world.wires.insert(conn, Wire::new());
    }
    rig.rest(world);
}

fn say(rig: &mut Rig<Server>, world: &mut Clients, conn: ConnId, bytes: &[u8]) {
    for piece in bytes.chunks(512) {
        rig.feed(conn, piece, world);
    }
}

/// The clients, who listen to what they are told.
#[derive(Default)]
struct Clients {
    program: Program,
    wires: BTreeMap<ConnId, Wire>,
    /// The last session that was begun.
    session: Option<String>,
    /// The state that the last answer wants back.
    state: String,
    last_event_id: String,
}

struct Wire {
    requests: RequestDecoder,
    asked: Vec<u8>,
    /// Whether the requests cannot be read any more.
    broken: bool,
    responses: ResponseDecoder,
    unread: Vec<u8>,
    head: Option<ResponseHead>,
    body: Vec<u8>,
    events: EventDecoder,
}

impl Wire {
    fn new() -> Self {
        Self {
            requests: RequestDecoder::new(endpoint(0).head),
            asked: Vec::new(),
            broken: false,
            responses: ResponseDecoder::new(http1::Bounds::default()),
            unread: Vec::new(),
            head: None,
            body: Vec::new(),
            events: EventDecoder::new(sse::Bounds::default()),
        }
    }

    /// Notes which responses are due.
    fn asks(&mut self, bytes: &[u8]) {
        self.asked.extend_from_slice(bytes);
        while !self.broken {
            match self.requests.next(&self.asked) {
                Ok((consumed, frame)) => {
                    self.asked.drain(..consumed);
                    match frame {
                        None => return,
                        Some(Frame::Head(head)) => self.responses.expect(&head.method),
                        Some(_) => {}
                    }
                }
                Err(_) => {
                    // It is answered nevertheless.
                    self.responses.expect("POST");
                    self.broken = true;
                }
            }
        }
    }
}

impl Clients {
    fn session(&self) -> String {
        self.session.as_ref().map_or(String::new(), |session| format!("Mcp-Session-Id: {session}\r\n"))
    }

    /// A message with the headers that belong to it.
    fn post(&self, body: &str) -> String {
        let mut headers = String::new();
        let message: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        if body.contains("io.modelcontextprotocol/protocolVersion") {
            headers += "MCP-Protocol-Version: 2026-07-28\r\n";
            headers += &format!("Mcp-Method: {}\r\n", message["method"].as_str().unwrap_or_default());
            let params = &message["params"];
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                headers += &format!("Mcp-Name: {name}\r\n");
            }
        } else if message["method"] != "initialize" {
            headers += &self.session();
        }
        let length = body.len();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    fn hears(&mut self, message: &[u8]) {
        let parsed = parse(message, &Limits::default());
        let Ok(Parsed::Message(message)) = parsed else { panic!("the server said {parsed:?}") };
        if let Message::Response { outcome: Ok(result), .. } = message {
            self.state = state_of(JsonText::as_str(result)).unwrap_or(std::mem::take(&mut self.state));
        }
    }
}

impl World<Server> for Clients {
    fn told(&mut self, event: ServerEvent<'_, u32, Handler>) -> bool {
        self.program.told(event)
    }

    fn act(&mut self, server: &mut Server, now: Instant) {
        self.program.act(server, now);
    }

    fn opened(&mut self, _: ConnId) -> bool {
        panic!("a server opens nothing")
    }

    fn comes(&mut self, conn: ConnId, bytes: &[u8]) {
        if let Some(wire) = self.wires.get_mut(&conn) {
            wire.asks(bytes);
        }
    }

    fn wrote(&mut self, conn: ConnId, bytes: &[u8]) {
        let mut wire = self.wires.remove(&conn).expect("only who is there is told something");
        wire.unread.extend_from_slice(bytes);
        loop {
            let (consumed, frame) = match wire.responses.next(&wire.unread) {
                Ok(found) => found,
                // Whoever takes too long to ask is told so, and is hung up on.
                Err(HttpFault::Unsolicited) if is_farewell(&wire.unread) => break,
                Err(fault) => panic!("{fault}: {:?}", String::from_utf8_lossy(&wire.unread)),
            };
            let bytes: Vec<u8> = wire.unread.drain(..consumed).collect();
            match frame {
                None => break,
                Some(Frame::Head(head)) => {
                    if let Some(session) = head.headers.get("mcp-session-id") {
                        self.session = Some(session.to_owned());
                    }
                    wire.head = Some(head);
                }
                Some(Frame::Body(range)) => {
                    wire.body.extend_from_slice(&bytes[range]);
                    // The planted bug: a stream loses a byte, if a handler has asked for something, or was cancelled, before.
                    let asked_or_cancelled = self.program.rounds + self.program.cancelled > 0;
                    if canary() && wire.is_stream() && asked_or_cancelled {
                        wire.body.pop();
                    }
                }
                Some(Frame::End) => {
                    if !wire.is_stream() && !wire.body.is_empty() {
                        self.hears(&std::mem::take(&mut wire.body));
                    }
                    wire.head = None;
                    assert!(wire.body.is_empty(), "what is left of a stream is no event");
                    wire.events = EventDecoder::new(sse::Bounds::default());
                }
            }
            if wire.is_stream() {
                self.events(&mut wire);
            }
        }
        self.wires.insert(conn, wire);
    }

    fn closed(&mut self, conn: ConnId) {
        self.wires.remove(&conn);
    }
}

/// Whether this is what those are told who take too long, or the beginning of it.
fn is_farewell(bytes: &[u8]) -> bool {
    const FAREWELL: &[u8] = b"HTTP/1.1 408 ";
    bytes.starts_with(FAREWELL) || FAREWELL.starts_with(bytes)
}

impl Clients {
    fn events(&mut self, wire: &mut Wire) {
        loop {
            let (consumed, frame) = wire.events.next(&wire.body);
            match frame {
                None => {
                    wire.body.drain(..consumed);
                    return;
                }
                Some(sse::Frame::Event(event)) => {
                    let data = event.data.bytes(&wire.body).to_vec();
                    wire.body.drain(..consumed);
                    if !data.is_empty() {
                        self.hears(&data);
                    }
                    wire.events.last_event_id().clone_into(&mut self.last_event_id);
                }
                Some(other) => panic!("the server said {other:?}"),
            }
        }
    }
}

impl Wire {
    fn is_stream(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.headers.content_type_is("text/event-stream"))
    }
}

impl Inhabited for Clients {
    fn program(&mut self) -> &mut Program {
        &mut self.program
    }
}
