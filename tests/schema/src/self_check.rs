//! Whether the official schemas would notice anything: frames of ours that are right are broken on purpose.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass::model::ProtocolVersion;
use windlass_sim::{NetworkConditions, Side};

use crate::check::check;
use crate::conversation::Conversation;
use crate::http::{self, Said};
use crate::schemas::Schemas;
use crate::transcript::Line;
use crate::{sessions, transcript};

/// Breaks every frame of sessions in each revision in every way that applies. How many were broken, and what was not
/// noticed.
pub fn run(schemas: &Schemas) -> Result<(usize, Vec<String>), String> {
    let mut breaking = Breaking { schemas, broken: 0, unnoticed: Vec::new() };
    for version in ProtocolVersion::ALL {
        let session = sessions::transcript(0, NetworkConditions::ideal(), version)?;
        let mut conversation = Conversation::default();
        for line in transcript::lines(&session).filter(|line| !line.is_cut) {
            breaking.frame(version, line.sender, line.text, &mut conversation)?;
        }
        let mut conversations = BTreeMap::<usize, Conversation>::new();
        for said in over_http(version)? {
            let conversation = conversations.entry(said.conversation).or_default();
            if let Some(version) = said.version {
                conversation.speak(version);
            }
            breaking.frame(version, said.sender, &said.text, conversation)?;
        }
    }
    Ok((breaking.broken, breaking.unnoticed))
}

struct Breaking<'a> {
    schemas: &'a Schemas,
    broken: usize,
    unnoticed: Vec<String>,
}

impl Breaking<'_> {
    fn frame(
        &mut self,
        version: ProtocolVersion,
        sender: Side,
        text: &str,
        conversation: &mut Conversation,
    ) -> Result<(), String> {
        let frame: Value = serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))?;
        let places = conversation.follow(sender, &frame);
        for wrong in breakages(&frame, sender) {
            self.broken += 1;
            if places.iter().any(|place| check(self.schemas, sender, &wrong, place).violations.is_empty()) {
                self.unnoticed.push(format!("{}: {wrong}", version.as_str()));
            }
        }
        Ok(())
    }
}

/// The messages of a session over HTTP. Each that its transcript has must be found in the recording of its bytes.
fn over_http(version: ProtocolVersion) -> Result<Vec<Said>, String> {
    let recorded = sessions::over_http::record(0, NetworkConditions::ideal(), version)?;
    let messages = http::read(&recorded.connections)?.said;
    let mut found: Vec<_> = messages.iter().map(|said| (said.sender, said.text.as_str())).collect();
    let mut expected: Vec<_> = transcript::lines(&recorded.transcript).filter_map(message_in).collect();
    found.sort_unstable();
    expected.sort_unstable();
    match found.iter().zip(&expected).find(|(found, expected)| found != expected) {
        Some(pair) => Err(format!("the recording is not the transcript: {pair:?}")),
        None if found.len() != expected.len() => Err("the recording and the transcript differ".to_owned()),
        None => Ok(messages),
    }
}

/// The message in a line of a connection, if there is one: a body, or the data of an event.
fn message_in(line: Line<'_>) -> Option<(Side, &str)> {
    let (_, text) = line.text.split_once(' ')?;
    let text = text.strip_prefix("data: ").unwrap_or(text);
    text.starts_with('{').then_some((line.sender, text))
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
