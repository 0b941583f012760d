//! Faults of the handshake.
//!
//! - `mute` answers nothing at all.
//! - `silent_on_probe` does not answer what it does not know.
//! - `exits_on_probe` exits on it.
//! - `probe_answer=JSON` answers the probe with these members.
//! - `revision=TEXT` answers `initialize` with this revision.

use serde_json::{Value, json};

use crate::faults::Faults;

pub(crate) fn probed(faults: &Faults) -> Option<Value> {
    if faults.has("exits_on_probe") {
        std::process::exit(0);
    }
    if faults.has("mute") || faults.has("silent_on_probe") {
        return None;
    }
    match faults.how("probe_answer") {
        Some(answer) => Some(serde_json::from_str(answer).expect("an object")),
        None => Some(json!({"error": {"code": -32601, "message": "method not found"}})),
    }
}

pub(crate) fn initialize(faults: &Faults) -> Option<Value> {
    let revision = faults.how("revision").unwrap_or("2025-06-18");
    (!faults.has("mute")).then(|| json!({ "result": initialized(revision) }))
}

pub(crate) fn initialized(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "0"},
    })
}
