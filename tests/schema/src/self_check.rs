//! Whether the official schemas would notice anything: frames of ours that are right are broken on purpose.

use serde_json::{Value, json};
use windlass::model::ProtocolVersion;
use windlass_sim::{Side, Weather};

use crate::check::check;
use crate::conversation::Conversation;
use crate::schemas::Schemas;
use crate::{sessions, transcript};

/// Breaks every frame of a session in each revision in every way that applies. How many were broken, and what was not
/// noticed.
pub fn run(schemas: &Schemas) -> Result<(usize, Vec<String>), String> {
    let (mut broken, mut unnoticed) = (0, Vec::new());
    for version in ProtocolVersion::ALL {
        let session = sessions::transcript(0, Weather::calm(), version)?;
        let mut conversation = Conversation::default();
        for line in transcript::lines(&session).filter(|line| !line.is_cut) {
            let frame: Value = serde_json::from_str(line.text).map_err(|error| format!("{error}: {}", line.text))?;
            let places = conversation.follow(line.sender, &frame);
            for wrong in breakages(&frame, line.sender) {
                broken += 1;
                if places.iter().any(|place| check(schemas, line.sender, &wrong, place).violations.is_empty()) {
                    unnoticed.push(format!("{}: {wrong}", version.as_str()));
                }
            }
        }
    }
    Ok((broken, unnoticed))
}

/// A frame in every way that no revision allows.
fn breakages(frame: &Value, sender: Side) -> Vec<Value> {
    let with = |pointer: &str, value: Value| {
        let mut wrong = frame.clone();
        *wrong.pointer_mut(pointer)? = value;
        Some(wrong)
    };
    let unknown = format!("{sender:?}/unknown");
    [
        with("/jsonrpc", json!("1.0")),
        with("/id", json!([1])),
        with("/method", json!(unknown)),
        with("/params", json!(7)),
        with("/params/_meta", json!(7)),
        with("/params/protocolVersion", json!(7)),
        with("/params/name", json!(7)),
        with("/params/progress", json!("half")),
        with("/result", json!(7)),
        with("/result/tools", json!([7])),
        with("/result/content", json!([{"type": "smell"}])),
        with("/result/capabilities", json!([])),
        with("/error/code", json!("code")),
        with("/error/message", json!(null)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
