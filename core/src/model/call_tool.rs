//! Calling a tool.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{ContentBlock, InputResponses, Meta, wire};
use crate::json::Json;

/// Which tool to call, with what.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The tool.
    pub name: String,
    /// The arguments, a JSON object; absent means an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// Asks to run the call as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Json>,
    /// The answers to the server's input requests (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The server's state, given back as it came (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

impl CallToolParams {
    /// A call of the tool `name` without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { meta: None, name: name.into(), arguments: None, task: None, input_responses: None, request_state: None }
    }
}

setters!(CallToolParams {
    with_arguments(arguments: Json),
    with_task(task: Json),
    with_input_responses(input_responses: InputResponses),
    with_request_state(request_state: impl Into<String>),
    with_meta(meta: Meta),
});

/// [`CallToolParams`] with arguments of the caller's own type, which are written straight where the message goes.
///
/// ```
/// use windlass::model::ToolCall;
///
/// let call = ToolCall { name: "add", arguments: &[("a", 1)] };
/// assert_eq!(serde_json::to_string(&call)?, r#"{"name":"add","arguments":[["a",1]]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToolCall<'a, A> {
    /// The tool.
    pub name: &'a str,
    /// What serialises as a JSON object.
    pub arguments: &'a A,
}

/// What a tool has returned, or how it failed.
///
/// A failure that the model should see, such as a rejected argument, is a result too: [`CallToolResult::error`].
///
/// ```
/// use windlass::model::CallToolResult;
///
/// assert_eq!(CallToolResult::text("22 °C").text_content(), "22 °C");
/// assert!(CallToolResult::error("no such city").is_failure());
/// let result = CallToolResult::structured(&[22.5])?;
/// assert_eq!(result.structured_content.as_ref().map(|json| json.as_str()), Some("[22.5]"));
/// assert_eq!(result.text_content(), "[22.5]");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// What the tool returned, for the model.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The same as JSON, following the tool's output schema (2025-06-18). Null is a value, not an absence.
    #[serde(default, deserialize_with = "wire::present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Json>,
    /// Whether the tool failed; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl From<String> for CallToolResult {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for CallToolResult {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl CallToolResult {
    /// A result of these blocks.
    pub fn new(content: impl Into<Vec<ContentBlock>>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// A failure, told to the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).with_is_error(true)
    }

    /// A JSON result, which also goes into a text block for clients that do not know structured content.
    pub fn structured<V: Serialize + ?Sized>(value: &V) -> Result<Self, serde_json::Error> {
        let json = Json::of(value)?;
        Ok(Self::text(json.as_str()).with_structured_content(json))
    }

    /// Adds a block.
    #[must_use]
    pub fn with_content(mut self, block: impl Into<ContentBlock>) -> Self {
        self.content.push(block.into());
        self
    }

    /// Whether the tool failed.
    pub fn is_failure(&self) -> bool {
        self.is_error == Some(true)
    }

    /// The text of all text blocks, one after the other on lines of their own.
    pub fn text_content(&self) -> String {
        self.content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
    }
}

setters!(CallToolResult {
    with_structured_content(structured_content: Json),
    with_is_error(is_error: bool),
    with_meta(meta: Meta),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_a_structured_value_and_absence_is_not() {
        let result: CallToolResult = serde_json::from_str(r#"{"content":[],"structuredContent":null}"#).unwrap();
        assert_eq!(result.structured_content.as_ref().map(Json::as_str), Some("null"));
        assert_eq!(serde_json::to_string(&result).unwrap(), r#"{"content":[],"structuredContent":null}"#);
        let result: CallToolResult = serde_json::from_str(r#"{"content":[]}"#).unwrap();
        assert_eq!(result.structured_content, None);
    }

    #[test]
    fn meta_is_written_first() {
        let mut meta = Meta::new();
        meta.insert("a", &1).unwrap();
        let text = serde_json::to_string(&CallToolResult::text("x").with_meta(meta.clone())).unwrap();
        assert!(text.starts_with(r#"{"_meta":{"a":1},"#), "{text}");
        let text = serde_json::to_string(&CallToolParams::new("x").with_meta(meta)).unwrap();
        assert!(text.starts_with(r#"{"_meta":{"a":1},"#), "{text}");
    }

    #[test]
    fn arguments_keep_their_text() {
        let text = r#"{"name":"t","arguments":{"z":1.0, "a":2}}"#;
        let params: CallToolParams = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&params).unwrap(), text);
    }
}
