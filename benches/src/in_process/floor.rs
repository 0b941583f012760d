//! What the two messages of a call cost in bare JSON: writing a struct, reading it with its payload borrowed. They are
//! the messages of the engine, byte for byte as long.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass::model::Era;

use super::RoundTrips;
use super::engine::Pair;

/// The text to echo, and where messages are written.
pub(super) struct Floor {
    era: Era,
    text: String,
    buffer: Vec<u8>,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'a str,
    id: i64,
    method: &'a str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    #[serde(rename = "_meta")]
    meta: RequestMeta<'a>,
    name: &'a str,
    arguments: Arguments<'a>,
}

/// What a request says of itself and, in the modern era, of its client.
#[derive(Serialize)]
struct RequestMeta<'a> {
    #[serde(rename = "progressToken")]
    progress_token: i64,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", skip_serializing_if = "Option::is_none")]
    protocol_version: Option<&'a str>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo", skip_serializing_if = "Option::is_none")]
    client_info: Option<Info<'a>>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", skip_serializing_if = "Option::is_none")]
    client_capabilities: Option<Nothing>,
}

#[derive(Serialize)]
struct Info<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Arguments<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'a str,
    id: i64,
    result: Content<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(rename = "resultType", skip_serializing_if = "Option::is_none")]
    result_type: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ResultMeta<'a>>,
    content: [Block<'a>; 1],
}

/// What a modern result says of its server.
#[derive(Serialize)]
struct ResultMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server_info: Info<'a>,
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'a str,
    text: &'a str,
}

#[derive(Deserialize)]
struct Read<'a> {
    #[allow(dead_code, reason = "the envelope is read whole")]
    jsonrpc: &'a str,
    id: i64,
    #[allow(dead_code, reason = "the envelope is read whole")]
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

impl Floor {
    pub(super) fn new(era: Era, payload: usize) -> Self {
        let mut floor = Self { era, text: "x".repeat(payload), buffer: Vec::new() };
        let engine = Pair::wire_lengths(era, payload);
        let [request, response] = floor.round_trip();
        // Lines have an end as well.
        assert_eq!(
            (request + 1, response + 1),
            (engine.to_server, engine.to_client),
            "these are the engine's messages"
        );
        floor
    }

    /// Writes and reads both messages, and says how long they were.
    fn round_trip(&mut self) -> [usize; 2] {
        let (text, modern, info) = (&*self.text, self.era == Era::Modern, || Info { name: "bench", version: "1" });
        let meta = RequestMeta {
            progress_token: 7,
            protocol_version: modern.then_some("2026-07-28"),
            client_info: modern.then(info),
            client_capabilities: modern.then_some(Nothing {}),
        };
        let params = Params { meta, name: "echo", arguments: Arguments { text } };
        let request = Request { jsonrpc: "2.0", id: 7, method: "tools/call", params };
        let request = exchange(&mut self.buffer, &request);
        let result = Content {
            result_type: modern.then_some("complete"),
            meta: modern.then(|| ResultMeta { server_info: info() }),
            content: [Block { r#type: "text", text }],
        };
        [request, exchange(&mut self.buffer, &Response { jsonrpc: "2.0", id: 7, result })]
    }
}

impl RoundTrips for Floor {
    fn run(&mut self, count: usize) {
        (0..count).for_each(|_| {
            black_box(self.round_trip());
        });
    }
}

fn exchange(buffer: &mut Vec<u8>, message: &impl Serialize) -> usize {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, message).expect("memory takes everything");
    let read: Read<'_> = serde_json::from_slice(buffer).expect("what was written can be read");
    black_box((read.id, read.params, read.result));
    buffer.len()
}
