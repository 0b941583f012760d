//! A peer chooses how much it says. What there is no memory for fails its message; the program goes on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::codec::http1::Headers;
use windlass::link::http::{ExchangeId, ExchangeOutput, Exchanges, HttpClientConfig, HttpServer, HttpServerConfig};
use windlass::link::stdio::StdioServer;
use windlass::model::{CallTool, CallToolParams, Implementation};
use windlass::server::{Registry, ServerConfig};
use windlass::{CallError, ConnId, Instant, Machine, Output, Seed};

/// Memory of which there is no piece that is longer than this.
struct Scarce;

static LONGEST: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: it is the system's, or nothing.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LONGEST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > LONGEST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static MEMORY: Scarce = Scarce;

const NOW: Instant = Instant::ZERO;
const DISCOVERED: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;

/// The request that the client makes next.
fn request(client: &mut Exchanges<u32>) -> ExchangeId {
    loop {
        match client.poll() {
            ExchangeOutput::Start { exchange, .. } => return exchange,
            ExchangeOutput::Idle { .. } => panic!("there is no request"),
            _ => {}
        }
    }
}

/// How the call ended.
fn outcome(client: &mut Exchanges<u32>) -> Result<usize, CallError> {
    loop {
        match client.poll() {
            ExchangeOutput::Event(ClientEvent::Completed { outcome, .. }) => {
                return outcome.map(|result| result.as_str().len());
            }
            ExchangeOutput::Idle { .. } => panic!("it has not ended"),
            _ => {}
        }
    }
}

/// Tests that are not alone would have each other's memory.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

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

#[test]
fn a_line_that_there_is_no_memory_for_is_refused_and_the_next_is_read() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);

    let config = ClientConfig::new(Implementation::new("c", "1"));
    let http = HttpClientConfig::new("http://server/mcp").unwrap();
    let mut client: Exchanges<u32> = Exchanges::new(config, http, NOW);
    let probe = request(&mut client);
    let (json, events) = ("application/json", "text/event-stream");
    client.response(probe, 200, &Headers::from([("Content-Type", json)]), NOW);
    client.body(probe, DISCOVERED, NOW);
    client.end(probe, NOW);
    while !matches!(client.poll(), ExchangeOutput::Idle { .. }) {}
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
            client.end(exchange, NOW);
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
