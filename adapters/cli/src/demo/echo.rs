//! A tool that returns text.

use serde::Deserialize;
use serde_json::json;
use windlass::Json;
use windlass::model::{CallToolResult, Tool};
use windlass::server::HandlerError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    text: String,
}

pub(crate) fn definition() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to say back"}},
        "required": ["text"],
        "additionalProperties": false,
    });
    Tool::new("echo", Json::from(schema))
        .with_title("Echo")
        .with_description("Says back the text that it is given")
        .with_annotations(super::pure())
}

pub(crate) fn run(arguments: Arguments) -> Result<CallToolResult, HandlerError> {
    Ok(CallToolResult::text(arguments.text))
}
