//! Faults of the stream.
//!
//! - `garbage` prints lines that are no messages before every answer.
//! - `half_line` ends in the middle of the first line.
//! - `long_line=BYTES` prints a line of that length before it answers a call.
//! - `long_answer=BYTES` makes the answer to a call itself so long.
//! - `endless_line=BYTES` prints that much without a newline, and exits.
//! - `notifications=COUNT` tells that much before it answers a call.
//! - `stops_reading` answers the handshake, takes a little of what comes next, and closes its output.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::faults::Faults;
use crate::{addressed, handshake, say};

/// How much of what follows the handshake the peer that stops reading still takes.
const LAST_BYTES: usize = 1024;

/// How much is printed at a time.
const PIECE: usize = 1 << 16;

/// Says what does not belong there before a request is answered.
pub(crate) fn disturb(faults: &Faults, message: &Value) {
    if faults.has("garbage") {
        print!("Listening on stdio…\n{{\"half\":\n[1,2,3]\n\u{0}\u{1}\n");
    }
    if faults.has("half_line") {
        print!("{{\"jsonrpc\":\"2.0\",\"id\":");
        std::process::exit(0);
    }
    if message["method"] != "tools/call" {
        return;
    }
    if let Some(bytes) = faults.number("long_line") {
        pour(bytes);
        say("");
    }
    if let Some(bytes) = faults.number("long_answer") {
        print!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"text":""#, message["id"]);
        pour(bytes);
        say(r#""}}"#);
    }
    if let Some(bytes) = faults.number("endless_line") {
        pour(bytes);
        std::process::exit(0);
    }
    if let Some(count) = faults.number("notifications") {
        let told = json!({"level": "info", "data": "this again"});
        let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": told}).to_string();
        let many = format!("{line}\n").repeat(PIECE / line.len());
        let in_many = PIECE / line.len();
        let mut output = std::io::stdout().lock();
        for _ in 0..count / in_many {
            output.write_all(many.as_bytes()).expect("the client listens");
        }
        for _ in 0..count % in_many {
            writeln!(output, "{line}").expect("the client listens");
        }
    }
}

/// Prints much without a newline.
fn pour(bytes: usize) {
    let mut output = std::io::stdout().lock();
    let piece = [b'x'; PIECE];
    for _ in 0..bytes / PIECE {
        output.write_all(&piece).expect("the client listens");
    }
    output.write_all(&piece[..bytes % PIECE]).expect("the client listens");
    output.flush().expect("the client listens");
}

/// Answers the handshake, takes a little of what comes next, closes its output, and neither reads nor exits.
pub(crate) fn stop_reading() -> ! {
    // Unbuffered, so that nothing more is taken than is said.
    let mut input = std::fs::File::from(rustix::io::dup(rustix::stdio::stdin()).expect("there is standard input"));
    let line = read_line(&mut input);
    let message: Value = serde_json::from_str(&line).unwrap_or_default();
    say(&addressed(json!({ "result": handshake::initialized("2025-06-18") }), &message["id"]).to_string());
    read_line(&mut input);
    let mut rest = [0; LAST_BYTES];
    let _ = input.read_exact(&mut rest);
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).expect("there is standard error");
    loop {
        std::thread::park();
    }
}

fn read_line(input: &mut impl Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while input.read_exact(&mut byte).is_ok() && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8_lossy(&line).into_owned()
}
