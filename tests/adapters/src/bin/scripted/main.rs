//! A legacy server that speaks raw lines and misbehaves on purpose, in the ways that its arguments name: `FAULT` or
//! `FAULT=HOW`. Without any it behaves.
//!
//! Faults of the handshake, of the answers to `tools/call`, and of the stream are each in a file of their own. What is
//! left is here:
//!
//! - `complains` says why on standard error and exits at once.
//! - `stderr=BYTES` begins with that much on standard error, without a newline.
//! - `stubborn` stays when its input ends.

mod answers;
mod faults;
mod handshake;
mod stream;

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use faults::Faults;

fn main() {
    let faults = Faults::from_arguments();
    if faults.has("complains") {
        eprintln!("no configuration file was found");
        std::process::exit(3);
    }
    if let Some(bytes) = faults.number("stderr") {
        eprint!("{}", "!".repeat(bytes));
    }
    if faults.has("stops_reading") {
        stream::stop_reading();
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["id"].is_null() {
            answers::hear_notification(&faults, &message);
        } else if let Some(answer) = answer(&faults, &message) {
            say(&addressed(answer, &message["id"]).to_string());
        }
    }
    while faults.has("stubborn") {
        std::thread::park();
    }
}

/// What to answer; nothing if the peer keeps silent, or has said already what it has to say.
fn answer(faults: &Faults, message: &Value) -> Option<Value> {
    stream::disturb(faults, message);
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" => handshake::probed(faults),
        "initialize" => handshake::initialize(faults),
        "ping" => Some(json!({ "result": {} })),
        "tools/list" => answers::list(faults, message),
        "tools/call" => answers::call(faults, message),
        _ => Some(json!({"error": {"code": -32601, "message": "method not found"}})),
    }
}

fn addressed(mut answer: Value, id: &Value) -> Value {
    answer["jsonrpc"] = "2.0".into();
    answer["id"] = id.clone();
    answer
}

/// Says a line. A client that does not listen any more is reason to exit, without a word.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
        std::process::exit(0);
    }
}
