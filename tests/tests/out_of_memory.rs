//! A peer chooses how much it says. What there is no memory for fails its message; the program goes on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::codec::http1::Headers;
use windlass::link::http::{ExchangeId, ExchangeOutput, Exchanges, HttpClientConfig};
use windlass::model::{CallTool, CallToolParams, Implementation};
use windlass::{CallError, Instant};

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

#[test]
fn an_answer_that_there_is_no_memory_for_fails_its_call() {
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
