//! A peer that speaks raw lines and misbehaves on purpose, in the way that its argument names.

use std::io::{BufRead, Read, Write};

use serde_json::{Value, json};

/// How much of what follows the handshake the peer that stops reading still takes.
const LAST_BYTES: usize = 1024;

fn main() {
    let manner = std::env::args().nth(1).unwrap_or_default();
    match manner.as_str() {
        "complains" => {
            eprintln!("no configuration file was found");
            std::process::exit(3);
        }
        "stops_reading" => stop_reading(),
        _ => {}
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["id"].is_null() {
            continue;
        }
        if manner == "garbage" {
            print!("Listening on stdio…\n{{\"half\":\n[1,2,3]\n\u{0}\u{1}\n");
        }
        if let Some(answer) = answer(&manner, &message) {
            println!("{}", addressed(answer, &message["id"]));
        }
    }
    if manner == "stubborn" {
        loop {
            std::thread::park();
        }
    }
}

/// What to answer in this manner; nothing if the peer keeps silent.
fn answer(manner: &str, message: &Value) -> Option<Value> {
    let method = message["method"].as_str().unwrap_or_default();
    match (manner, method) {
        ("mute", _) | ("silent_on_probe", "server/discover") => None,
        ("exits_on_probe", "server/discover") => std::process::exit(0),
        ("dies_in_call", "tools/call") => {
            eprintln!("out of luck");
            std::process::exit(1);
        }
        ("never_answers_calls", "tools/call") => None,
        ("unknown_revision", "initialize") => Some(json!({ "result": initialized("1999-12-31") })),
        (_, "initialize") => Some(json!({ "result": initialized("2025-06-18") })),
        (_, "ping") => Some(json!({ "result": {} })),
        (_, "tools/list") => Some(json!({"result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})),
        (_, "tools/call") => {
            let text = message["params"]["arguments"]["text"].clone();
            Some(json!({"result": {"content": [{"type": "text", "text": text}]}}))
        }
        _ => Some(json!({"error": {"code": -32601, "message": "method not found"}})),
    }
}

fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "0"},
    })
}

fn addressed(mut answer: Value, id: &Value) -> Value {
    answer["jsonrpc"] = "2.0".into();
    answer["id"] = id.clone();
    answer
}

/// Answers the handshake, takes a little of what comes next, closes its output, and neither reads nor exits.
fn stop_reading() -> ! {
    // Unbuffered, so that nothing more is taken than is said.
    let mut input = std::fs::File::from(rustix::io::dup(rustix::stdio::stdin()).expect("there is standard input"));
    let line = read_line(&mut input);
    let message: Value = serde_json::from_str(&line).unwrap_or_default();
    println!("{}", addressed(json!({ "result": initialized("2025-06-18") }), &message["id"]));
    read_line(&mut input);
    let mut rest = [0; LAST_BYTES];
    let _ = input.read_exact(&mut rest);
    std::io::stdout().flush().expect("standard output is open");
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
