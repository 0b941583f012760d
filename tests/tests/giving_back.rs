//! What a long message took is given back when it is over, not when its session is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use windlass::client::{CallOptions, ClientConfig};
use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges, HttpServer, HttpServerConfig};
use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, Tool};
use windlass::server::{Registry, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Json, Machine, Output, Seed};

/// Memory that knows how much of it a thread has.
struct Counted;

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// A thread that is about to end has memory of which nobody asks.
fn count(change: impl FnOnce(usize) -> usize) {
    let _ = TAKEN.try_with(|taken| taken.set(change(taken.get())));
}

// SAFETY: it is the system's.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|taken| taken.wrapping_add(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(|taken| taken.wrapping_sub(layout.size()));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static MEMORY: Counted = Counted;

fn taken() -> usize {
    TAKEN.with(Cell::get)
}

const NOW: Instant = Instant::ZERO;
const MIB: usize = 1 << 20;

/// A message that is far longer than most.
const LONG: usize = 4 * MIB;

/// What forty sessions may have that are idle.
const LITTLE: usize = MIB;

type Server = HttpServer<(), ()>;

/// Sends a request on a connection of its own and reads the whole answer, whose beginning is returned with its length.
fn ask(server: &mut Server, conn: ConnId, session: &str, body: &str) -> (String, usize) {
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut rest = request.as_bytes();
    let (mut beginning, mut length) = (String::new(), 0);
    loop {
        let space = server.read_buf(conn);
        let count = space.len().min(rest.len());
        space[..count].copy_from_slice(&rest[..count]);
        rest = &rest[count..];
        if count > 0 {
            server.read_done(conn, count, NOW);
        }
        loop {
            match server.poll() {
                Output::Event(ServerEvent::Invoke { reply, .. }) => {
                    server.respond(reply, Ok(CallToolResult::text("t".repeat(LONG)).into()), NOW);
                }
                Output::Idle { .. } => break,
                _ => {}
            }
        }
        let written = server.write_buf(conn);
        let new = written.len();
        if count == 0 && new == 0 {
            assert!(rest.is_empty());
            return (beginning, length);
        }
        if beginning.is_empty() {
            beginning = String::from_utf8_lossy(&written[..new.min(500)]).into_owned();
        }
        length += new;
        server.write_done(conn, new, NOW);
    }
}

#[test]
fn a_session_does_not_keep_the_room_of_its_longest_answer() {
    let mut registry = Registry::new();
    registry.add_tool(Tool::without_arguments("grow"), ());
    let (config, http) = (ServerConfig::new(Implementation::new("s", "1")), HttpServerConfig::on_loopback());
    let mut server = Server::new(config, http, registry, &Seed::from_number(1), NOW);
    let before = taken();
    // Their connections stay open as well.
    for _ in 0..40 {
        let conn = server.accept(NOW);
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let (answer, _) = ask(&mut server, conn, "", initialize);
        let id = answer.lines().find_map(|line| line.strip_prefix("Mcp-Session-Id: ")).expect("a session");
        let session = format!("Mcp-Session-Id: {id}\r\n");
        ask(&mut server, conn, &session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"grow"}}"#;
        let (answer, length) = ask(&mut server, conn, &session, call);
        assert!(answer.starts_with("HTTP/1.1 200 OK") && length > LONG, "{answer}");
    }
    let kept = taken() - before;
    assert!(kept < LITTLE, "{kept} bytes are kept");
}

#[test]
fn a_client_does_not_keep_the_room_of_its_longest_request() {
    let config = ClientConfig::new(Implementation::new("c", "1"));
    let http = HttpClientConfig::new("http://server/mcp").unwrap();
    let mut client: HttpClient<u32> = HttpClient::new(config, http, NOW).delegating();
    let exchange = |client: &mut HttpClient<u32>, answer: &str| {
        let exchange = loop {
            match client.poll() {
                Output::Open { conn, .. } => break conn,
                Output::Idle { .. } => panic!("it asks for nothing"),
                _ => {}
            }
        };
        client.response(exchange, 200, &Headers::from([("Content-Type", "application/json")]), NOW);
        client.body(exchange, answer.as_bytes(), NOW);
        client.read_eof(exchange, NOW);
        while !matches!(client.poll(), Output::Idle { .. }) {}
    };
    exchange(
        &mut client,
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#,
    );
    let before = taken();
    let mut params = CallToolParams::new("a");
    params.arguments = Some(Json::parse(format!(r#"{{"text":"{}"}}"#, "t".repeat(LONG))).unwrap());
    client.call::<CallTool>(&params, &CallOptions::new(), 1, NOW).unwrap();
    drop(params);
    assert!(taken() - before > LONG);
    exchange(&mut client, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
    let kept = taken().saturating_sub(before);
    assert!(kept < 64 * 1024, "{kept} bytes are kept");
    assert!(client.is_idle());
}
