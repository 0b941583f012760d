//! A peer chooses how much it says. What there is no memory for fails its message; the program goes on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges, HttpServer, HttpServerConfig};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, Tool};
use windlass::server::{Registry, ServerConfig, ServerEvent};
use windlass::{CallError, ConnError, ConnErrorKind, ConnId, Instant, Json, Machine, Output, Seed};

/// Memory of which there is no piece that is longer than this.
struct Scarce;

static LONGEST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// How many longer ones there are all the same before there is one that is not. After that there are others.
static SPARED: AtomicUsize = AtomicUsize::new(NONE_SPARED);

/// There is none, ever.
const NONE_SPARED: usize = usize::MAX;

impl Scarce {
    fn lacks(size: usize) -> bool {
        if size <= LONGEST.load(Ordering::Relaxed) {
            return false;
        }
        match SPARED.load(Ordering::Relaxed) {
            NONE_SPARED => true,
            0 => {
                LONGEST.store(usize::MAX, Ordering::Relaxed);
                true
            }
            spared => {
                SPARED.store(spared - 1, Ordering::Relaxed);
                false
            }
        }
    }
}

// SAFETY: it is the system's, or nothing.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::lacks(layout.size()) {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if Self::lacks(size) {
            return std::ptr::null_mut();
        }
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static MEMORY: Scarce = Scarce;

const NOW: Instant = Instant::ZERO;

/// So late that what is idle has given its memory back.
const LATER: Instant = Instant::from_micros(2_000_000);

const DISCOVERED: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;

/// The request that the client makes next.
fn request(client: &mut HttpClient<u32>) -> ConnId {
    loop {
        match client.poll() {
            Output::Open { conn: exchange, .. } => return exchange,
            Output::Idle { .. } => panic!("there is no request"),
            _ => {}
        }
    }
}

/// How the call ended.
fn outcome(client: &mut HttpClient<u32>) -> Result<usize, CallError> {
    loop {
        match client.poll() {
            Output::Event(ClientEvent::Completed { outcome, .. }) => {
                return outcome.map(|result| result.as_str().len());
            }
            Output::Idle { .. } => panic!("it has not ended"),
            _ => {}
        }
    }
}

/// Tests that are not alone would have each other's memory.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Gives a server what fits, until it takes no more or has all.
fn feed<M: Machine>(machine: &mut M, conn: ConnId, mut bytes: &[u8], mut poll: impl FnMut(&mut M)) -> usize {
    while !bytes.is_empty() {
        let space = machine.read_buf(conn);
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        if count > 0 {
            machine.read_done(conn, count, NOW);
        }
        poll(machine);
        if count == 0 && machine.read_buf(conn).is_empty() {
            break;
        }
        bytes = &bytes[count..];
    }
    bytes.len()
}

fn turn<M: Machine>(machine: &mut M, poll: impl FnOnce(&mut M)) {
    poll(machine);
}

#[test]
fn a_line_that_there_is_no_memory_for_is_refused_and_the_next_is_read() {
    let _alone = alone();
    let config = ServerConfig::new(Implementation::new("s", "1"));
    let mut server: StdioServer<(), ()> = StdioServer::new(config, Registry::new(), &Seed::from_number(1), NOW);
    let mut conn = None;
    while let Output::Open { conn: opened, .. } = server.poll() {
        conn = Some(opened);
    }
    let conn = conn.unwrap();
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{{meta},"x":"{}"}}}}"#,
        "x".repeat(3_000_000)
    );
    let short = format!(r#"{{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{{{meta}}}}}"#);
    let lines = format!("{long}\n{short}\n");
    LONGEST.store(500_000, Ordering::Relaxed);
    let unread =
        feed(&mut server, conn, lines.as_bytes(), |server| while !matches!(server.poll(), Output::Idle { .. }) {});
    LONGEST.store(usize::MAX, Ordering::Relaxed);
    assert_eq!(unread, 0);
    let written = String::from_utf8(server.write_buf(conn).to_vec()).unwrap();
    let answers: Vec<_> = written.lines().collect();
    assert_eq!(answers.len(), 2, "{written}");
    assert!(answers[0].contains("no memory") && answers[0].contains(r#""id":7"#), "{}", answers[0]);
    assert!(answers[1].contains(r#""id":8"#), "{}", answers[1]);
}

#[test]
fn a_request_that_there_is_no_memory_for_is_refused() {
    let _alone = alone();
    let config = ServerConfig::new(Implementation::new("s", "1"));
    let http = HttpServerConfig::on_loopback();
    let mut server: HttpServer<(), ()> = HttpServer::new(config, http, Registry::new(), &Seed::from_number(1), NOW);
    let conn = server.accept(NOW);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n";
    let request = format!("{head}Content-Length: 3000000\r\n\r\n{}", "x".repeat(3_000_000));
    LONGEST.store(500_000, Ordering::Relaxed);
    feed(&mut server, conn, request.as_bytes(), |server| while !matches!(server.poll(), Output::Idle { .. }) {});
    LONGEST.store(usize::MAX, Ordering::Relaxed);
    assert!(server.write_buf(conn).starts_with(b"HTTP/1.1 503 "), "{:?}", server.write_buf(conn));
}

#[test]
fn an_answer_that_there_is_no_memory_for_fails_its_call() {
    let _alone = alone();
    let config = ClientConfig::new(Implementation::new("c", "1"));
    let http = HttpClientConfig::new("http://server/mcp").unwrap();
    let mut client: HttpClient<u32> = HttpClient::new(config, http, NOW).delegating();
    let probe = request(&mut client);
    let (json, events) = ("application/json", "text/event-stream");
    client.response(probe, 200, &Headers::from([("Content-Type", json)]), NOW);
    client.body(probe, DISCOVERED, NOW);
    client.read_eof(probe, NOW);
    while !matches!(client.poll(), Output::Idle { .. }) {}
    let piece = "x".repeat(10_000);
    for (content_type, begin, each, end) in [
        (json, r#"{"jsonrpc":"2.0","id":ID,"result":{"x":""#, "PIECE", r#""}}"#),
        (events, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"x\":\"", "PIECE", "\"}}\n\n"),
        (events, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"x\":[\n", "data: \"PIECE\",\n", "data: 1]}}\n\n"),
    ] {
        for (pieces, longest) in [(100, usize::MAX), (100, 500_000)] {
            let call = client.call::<CallTool>(&CallToolParams::new("a"), &CallOptions::new(), 1, NOW).unwrap();
            let exchange = request(&mut client);
            client.response(exchange, 200, &Headers::from([("Content-Type", content_type)]), NOW);
            let begin = begin.replace("ID", &format!("{call:?}").replace(|letter: char| !letter.is_ascii_digit(), ""));
            let each = each.replace("PIECE", &piece);
            LONGEST.store(longest, Ordering::Relaxed);
            client.body(exchange, begin.as_bytes(), NOW);
            for _ in 0..pieces {
                client.body(exchange, each.as_bytes(), NOW);
            }
            client.body(exchange, end.as_bytes(), NOW);
            client.read_eof(exchange, NOW);
            let outcome = outcome(&mut client);
            LONGEST.store(usize::MAX, Ordering::Relaxed);
            match outcome {
                Ok(length) => assert!(length > 1_000_000 && longest == usize::MAX, "{content_type}: {length}"),
                Err(CallError::InvalidResponse(detail)) => assert_eq!(longest, 500_000, "{content_type}: {detail}"),
                Err(other) => panic!("{content_type}: {other}"),
            }
        }
    }
}

/// What is longer than this is so because of how much the peer says.
const LONG: usize = 50_000;

/// Has a conversation once for each long piece of memory that it takes, in which that one is not to be had and all others
/// are. One message of it may fail for that, and none if nothing is lacking. Returns how many pieces there were, and how
/// many messages failed.
fn lacking_each_in_turn(mut conversation: impl FnMut(&dyn Fn(&mut dyn FnMut())) -> u32) -> (usize, usize) {
    let mut failures = 0;
    for spared in 0.. {
        let left = std::cell::Cell::new(Some(spared));
        // The test has memory of its own: only what is done in here lacks any.
        let failed = conversation(&|machine| {
            let Some(spared) = left.get() else { return machine() };
            SPARED.store(spared, Ordering::Relaxed);
            LONGEST.store(LONG, Ordering::Relaxed);
            machine();
            let lacked = LONGEST.swap(usize::MAX, Ordering::Relaxed) == usize::MAX;
            left.set((!lacked).then(|| SPARED.load(Ordering::Relaxed)));
            SPARED.store(NONE_SPARED, Ordering::Relaxed);
        });
        assert!(failed <= u32::from(left.get().is_none()), "without piece {spared}: {failed}");
        failures += failed as usize;
        if left.get().is_some() {
            return (spared, failures);
        }
    }
    unreachable!("a conversation has an end")
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Requests of a client, with their methods: those with odd ids are long. Arguments of a tool are not: a handler has a copy of
/// its own of them, and memory for what the program has is taken as everywhere in Rust.
fn requests() -> Vec<(u32, &'static str, String)> {
    let long = "x".repeat(300_000);
    let more = [
        ("tools/list", format!(r#""x":"{long}","#)),
        ("tools/call", format!(r#""name":"echo","x":["{long}"],"#)),
        ("no/such/method", format!(r#""x":"{long}","#)),
        ("tools/call", format!(r#""name":"{long}","#)),
    ];
    let requests = more.into_iter().flat_map(|long| [long, ("tools/call", r#""name":"echo","#.to_owned())]);
    let write = |(id, (method, more)): (u32, (&'static str, String))| {
        let params = format!("{{{more}{META}}}");
        (id, method, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
    };
    (1..).zip(requests).map(write).collect()
}

/// Has a server do all that it can; handlers answer at once.
macro_rules! work {
    () => {
        |server| loop {
            match server.poll() {
                Output::Event(ServerEvent::Invoke { reply, .. }) => {
                    server.respond(reply, Ok(CallToolResult::text("echo").into()), NOW);
                }
                Output::Idle { .. } => return,
                _ => {}
            }
        }
    };
}

fn offering_echo() -> (ServerConfig, Registry<()>) {
    let mut registry = Registry::new();
    registry.add_tool(Tool::without_arguments("echo"), ());
    (ServerConfig::new(Implementation::new("s", "1")), registry)
}

#[test]
fn a_server_on_a_stream_goes_on_whichever_long_piece_of_memory_is_not_to_be_had() {
    let _alone = alone();
    let requests = requests();
    // Whether it gives back what it has between two messages and asks for it anew, or keeps it.
    for gives_back in [true, false] {
        let (pieces, failures) = lacking_each_in_turn(|lacking| {
            let (config, registry) = offering_echo();
            let mut server: StdioServer<(), ()> = StdioServer::new(config, registry, &Seed::from_number(1), NOW);
            let Output::Open { conn, .. } = server.poll() else { panic!("it opens its stream first") };
            let mut refused = 0;
            for (id, _, request) in &requests {
                let line = format!("{request}\n");
                lacking(&mut || assert_eq!(feed(&mut server, conn, line.as_bytes(), work!()), 0));
                let written = String::from_utf8(server.write_buf(conn).to_vec()).unwrap();
                server.write_done(conn, written.len(), NOW);
                assert_eq!(written.lines().count(), 1, "each is answered once: {written}");
                assert!(written.contains(&format!(r#""id":{id},"#)), "{written}");
                let lacked = written.contains("there was no memory");
                assert!(!lacked || id % 2 == 1, "what is short is served: {written}");
                refused += u32::from(lacked);
                if gives_back {
                    server.handle_timeout(LATER);
                }
            }
            assert!(server.is_idle());
            refused
        });
        assert!(failures == pieces && pieces >= if gives_back { 6 } else { 2 }, "{failures} of {pieces}");
    }
}

#[test]
fn a_server_of_many_goes_on_whichever_long_piece_of_memory_is_not_to_be_had() {
    let _alone = alone();
    let requests = requests();
    for chunked in [false, true] {
        let (pieces, failures) = lacking_each_in_turn(|lacking| {
            let (config, registry) = offering_echo();
            let http = HttpServerConfig::on_loopback();
            let mut server: HttpServer<(), ()> = HttpServer::new(config, http, registry, &Seed::from_number(1), NOW);
            let mut refused = 0;
            for (id, method, request) in &requests {
                let conn = server.accept(NOW);
                let name = if *method == "tools/call" { "Mcp-Name: echo\r\n" } else { "" };
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                     Mcp-Method: {method}\r\n{name}"
                );
                let length = request.len();
                let bytes = match chunked {
                    true => format!("{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{request}\r\n0\r\n\r\n"),
                    false => format!("{head}Content-Length: {length}\r\n\r\n{request}"),
                };
                lacking(&mut || {
                    feed(&mut server, conn, bytes.as_bytes(), work!());
                });
                let written = String::from_utf8(server.write_buf(conn).to_vec()).unwrap();
                assert_eq!(written.matches("HTTP/1.1 ").count(), 1, "each is answered once: {written}");
                let lacked = written.starts_with("HTTP/1.1 503 ");
                assert!(!lacked || id % 2 == 1, "what is short is served: {written}");
                assert!(lacked || written.contains(&format!(r#""id":{id},"#)), "{written}");
                refused += u32::from(lacked);
                server.write_done(conn, written.len(), NOW);
                server.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, "the client is gone"), NOW);
                turn(&mut server, work!());
            }
            assert!(server.is_idle());
            refused
        });
        assert!(failures == pieces && pieces >= 4, "{failures} of {pieces}");
    }
}

#[test]
fn an_answer_that_there_is_no_memory_for_is_an_error_and_the_next_is_given() {
    let _alone = alone();
    let call =
        |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo",{META}}}}}"#);
    let plain = CallToolResult::text("x".repeat(300_000));
    let escaped = CallToolResult::text("\n\u{1}".repeat(150_000));
    let mut raw = CallToolResult::text("");
    raw.structured_content = Some(Json::parse(format!(r#"{{"x":"{}"}}"#, "x".repeat(300_000))).unwrap());
    for long in [plain, escaped, raw] {
        let results = [long, CallToolResult::text("echo")];
        let (pieces, failures) = lacking_each_in_turn(|lacking| {
            let (config, registry) = offering_echo();
            let mut server: StdioServer<(), ()> = StdioServer::new(config, registry, &Seed::from_number(1), NOW);
            let Output::Open { conn, .. } = server.poll() else { panic!("it opens its stream first") };
            let mut failed = 0;
            for (id, result) in (1..).zip(&results) {
                let mut reply = None;
                let line = format!("{}\n", call(id));
                feed(&mut server, conn, line.as_bytes(), |server| {
                    while let Output::Event(event) = server.poll() {
                        if let ServerEvent::Invoke { reply: to, .. } = event {
                            reply = Some(to);
                        }
                    }
                });
                let mut answer = Some((reply.expect("a handler is asked"), result.clone()));
                lacking(&mut || {
                    let (reply, result) = answer.take().unwrap();
                    server.respond(reply, Ok(result.into()), NOW);
                });
                let written = String::from_utf8(server.write_buf(conn).to_vec()).unwrap();
                server.write_done(conn, written.len(), NOW);
                assert_eq!(written.lines().count(), 1, "each is answered once");
                failed += u32::from(written.contains("-32603") && written.contains("there is no memory for it"));
                server.handle_timeout(LATER);
            }
            assert!(server.is_idle());
            failed
        });
        assert!(failures == pieces && pieces >= 1, "{failures} of {pieces}");

        let (pieces, failures) = lacking_each_in_turn(|lacking| {
            let (config, registry) = offering_echo();
            let http = HttpServerConfig::on_loopback();
            let mut server: HttpServer<(), ()> = HttpServer::new(config, http, registry, &Seed::from_number(1), NOW);
            let mut failed = 0;
            for (id, result) in (1..).zip(&results) {
                let conn = server.accept(NOW);
                let body = call(id);
                let request = format!(
                    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                     Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let mut reply = None;
                feed(&mut server, conn, request.as_bytes(), |server| {
                    while let Output::Event(event) = server.poll() {
                        if let ServerEvent::Invoke { reply: to, .. } = event {
                            reply = Some(to);
                        }
                    }
                });
                let mut answer = Some((reply.expect("a handler is asked"), result.clone()));
                lacking(&mut || {
                    let (reply, result) = answer.take().unwrap();
                    server.respond(reply, Ok(result.into()), NOW);
                    while !matches!(server.poll(), Output::Idle { .. }) {}
                });
                let written = String::from_utf8(server.write_buf(conn).to_vec()).unwrap();
                server.write_done(conn, written.len(), NOW);
                assert_eq!(written.matches("HTTP/1.1 ").count(), 1, "each is answered once");
                let lacked = written.starts_with("HTTP/1.1 503 ") || written.contains("there is no memory for it");
                assert!(lacked || written.starts_with("HTTP/1.1 200 "), "{written}");
                failed += u32::from(lacked);
                server.conn_failed(conn, ConnError::new(ConnErrorKind::Broken, "the client is gone"), NOW);
                turn(&mut server, work!());
            }
            assert!(server.is_idle());
            failed
        });
        assert!(failures == pieces && pieces >= 2, "{failures} of {pieces}");
    }
}

/// Has a client do all that it can; notes how calls end, and which streams are open.
macro_rules! listen {
    ($ended:ident, $open:ident) => {
        |client| loop {
            match client.poll() {
                Output::Event(ClientEvent::Completed { outcome, .. }) => {
                    $ended.push(outcome.map(|result| result.as_str().len()))
                }
                Output::Open { conn, .. } => $open.push(conn),
                Output::Close(conn) => $open.retain(|open| *open != conn),
                Output::Idle { .. } => return,
                _ => {}
            }
        }
    };
}

/// Answers to a call: those to every other one are long. Each is said in pieces.
fn answers() -> Vec<String> {
    let long = "x".repeat(300_000);
    let results = [
        format!(r#"{{"content":[],"x":"{long}"}}"#),
        format!(r#"{{"content":[{{"type":"text","text":"{long}"}}]}}"#),
        format!(r#"{{"resultType":"complete","content":[],"structuredContent":{{"x":["{long}"]}}}}"#),
    ];
    results.into_iter().flat_map(|long| [long, r#"{"content":[]}"#.to_owned()]).collect()
}

/// A call has ended, once: with this answer, or because it is too long for the memory that there is. Returns whether it failed.
fn has_failed(ended: &mut Vec<Result<usize, CallError>>, answer: &str) -> bool {
    let long = answer.len() > LONG;
    assert_eq!(ended.len(), 1, "each ends once: {ended:?}");
    match ended.pop() {
        // An event that there is no memory for is too long for it, however short it is.
        Some(Err(CallError::InvalidResponse(why)))
            if long && (why.contains("no memory") || why.contains("too long")) =>
        {
            true
        }
        // Between values there may be ends of lines.
        Some(Ok(length)) if (answer.len()..answer.len() + 100).contains(&length) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_on_a_stream_goes_on_whichever_long_piece_of_memory_is_not_to_be_had() {
    let _alone = alone();
    let answers = answers();
    // Whether it gives back what it has between two messages and asks for it anew, or keeps it.
    for gives_back in [true, false] {
        let (pieces, failures) = lacking_each_in_turn(|lacking| {
            let mut client: StdioClient<u32> = StdioClient::new(ClientConfig::new(Implementation::new("c", "1")), NOW);
            let Output::Open { conn, .. } = client.poll() else { panic!("it opens its stream first") };
            let (mut ended, mut open, mut failed) = (Vec::new(), vec![conn], 0);
            feed(&mut client, conn, &[DISCOVERED, b"\n"].concat(), listen!(ended, open));
            for (at, answer) in answers.iter().enumerate() {
                client.call::<CallTool>(&CallToolParams::new("a"), &CallOptions::new(), 1, NOW).unwrap();
                let written = client.write_buf(conn).len();
                client.write_done(conn, written, NOW);
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{answer}}}\n", at + 2);
                lacking(&mut || assert_eq!(feed(&mut client, conn, line.as_bytes(), listen!(ended, open)), 0));
                failed += u32::from(has_failed(&mut ended, answer));
                if gives_back {
                    client.handle_timeout(LATER);
                }
            }
            assert!(client.is_idle() && open == [conn]);
            failed
        });
        assert!(failures == pieces && pieces >= if gives_back { 6 } else { 2 }, "{failures} of {pieces}");
    }
}

#[test]
fn a_client_over_http_goes_on_whichever_long_piece_of_memory_is_not_to_be_had() {
    let _alone = alone();
    let answers = answers();
    let response = |content_type: &str, body: &str| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}", body.len());
        format!("{head}\r\n\r\n{body}")
    };
    for (content_type, in_lines) in
        [("application/json", false), ("text/event-stream", false), ("text/event-stream", true)]
    {
        let (pieces, failures) = lacking_each_in_turn(|lacking| {
            let http = HttpClientConfig::new("http://server/mcp").unwrap();
            let config = ClientConfig::new(Implementation::new("c", "1"));
            let mut client: HttpClient<u32> = HttpClient::new(config, http, NOW);
            let (mut ended, mut open, mut failed) = (Vec::new(), Vec::new(), 0);
            for at in 0..=answers.len() {
                if at > 0 {
                    client.call::<CallTool>(&CallToolParams::new("a"), &CallOptions::new(), 1, NOW).unwrap();
                }
                turn(&mut client, listen!(ended, open));
                let conn =
                    *open.iter().find(|conn| !client.write_buf(**conn).is_empty()).expect("it asks for something");
                let written = client.write_buf(conn).len();
                client.write_done(conn, written, NOW);
                if at == 0 {
                    let discovered = response("application/json", std::str::from_utf8(DISCOVERED).unwrap());
                    feed(&mut client, conn, discovered.as_bytes(), listen!(ended, open));
                    continue;
                }
                let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}}", at + 1, answers[at - 1]);
                let body = match (content_type, in_lines) {
                    ("application/json", _) => message,
                    (_, false) => format!("data: {message}\n\n"),
                    // Between two values there may be as many ends of lines as one likes.
                    (_, true) => format!("data: {}\n\n", message.replace(':', ":\ndata: ").replace(',', "\ndata: ,")),
                };
                let bytes = response(content_type, &body);
                lacking(&mut || {
                    feed(&mut client, conn, bytes.as_bytes(), listen!(ended, open));
                });
                failed += u32::from(has_failed(&mut ended, &answers[at - 1]));
            }
            assert!(client.is_idle(), "{content_type}");
            failed
        });
        // What is lacking where a read goes to is asked for again when the next one comes.
        assert!(failures >= 3 && failures <= pieces, "{content_type}: {failures} of {pieces}");
    }
}
