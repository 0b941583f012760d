//! What the two messages of a call cost in bare JSON: encoding a struct, reading it with its payload borrowed.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::RoundTrips;

/// The text to echo, and where messages are written.
pub(super) struct Floor {
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
    name: &'a str,
    arguments: Arguments<'a>,
}

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
    content: [Block<'a>; 1],
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
    pub(super) fn new(payload: usize) -> Self {
        Self { text: "x".repeat(payload), buffer: Vec::new() }
    }

    fn round_trip(&mut self) {
        let text = &self.text;
        let params = Params { name: "echo", arguments: Arguments { text } };
        let request = Request { jsonrpc: "2.0", id: 7, method: "tools/call", params };
        exchange(&mut self.buffer, &request);
        let result = Content { content: [Block { r#type: "text", text }] };
        exchange(&mut self.buffer, &Response { jsonrpc: "2.0", id: 7, result });
    }
}

impl RoundTrips for Floor {
    fn run(&mut self, count: usize) {
        (0..count).for_each(|_| self.round_trip());
    }
}

fn exchange(buffer: &mut Vec<u8>, message: &impl Serialize) {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, message).expect("memory takes everything");
    let read: Read<'_> = serde_json::from_slice(buffer).expect("what was written can be read");
    black_box((read.id, read.params, read.result));
}
