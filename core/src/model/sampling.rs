//! Sampling: a server lets the client's model write.

use alloc::string::String;
use alloc::vec::Vec;
use core::slice;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AudioContent, ImageContent, Meta, Role, TextContent, Tool, ToolResultContent, ToolUseContent, wire};
use crate::json::{Json, RawText};

/// What the model is to read, and how it is to write.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Which model to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt, which the client may change or leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whose context to add; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How freely the model is to choose its words.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How many tokens the model may write.
    pub max_tokens: u64,
    /// Where the model is to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// What the model's provider should know: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Tools that the model may call (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether the model may, must or must not call them (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Asks to run the request as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Json>,
}

impl CreateMessageParams {
    /// An answer to `messages`, of at most `max_tokens` tokens.
    pub fn new(messages: impl Into<Vec<SamplingMessage>>, max_tokens: u64) -> Self {
        Self {
            meta: None,
            messages: messages.into(),
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
            task: None,
        }
    }
}

setters!(CreateMessageParams {
    with_model_preferences(model_preferences: ModelPreferences),
    with_system_prompt(system_prompt: impl Into<String>),
    with_include_context(include_context: IncludeContext),
    with_temperature(temperature: f64),
    with_stop_sequences(stop_sequences: impl Into<Vec<String>>),
    with_metadata(metadata: Json),
    with_tools(tools: impl Into<Vec<Tool>>),
    with_tool_choice(tool_choice: ToolChoice),
    with_task(task: Json),
    with_meta(meta: Meta),
});

/// What the model wrote.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Who says it.
    pub role: Role,
    /// What it says.
    pub content: SamplingContent,
    /// The model that wrote it.
    pub model: String,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
}

impl CreateMessageResult {
    /// A message that `model` wrote.
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self { meta: None, role: Role::Assistant, content: content.into(), model: model.into(), stop_reason: None }
    }
}

setters!(CreateMessageResult {
    with_stop_reason(stop_reason: StopReason),
    with_meta(meta: Meta),
});

/// One message of a conversation with a model.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What it says.
    pub content: SamplingContent,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SamplingMessage {
    /// A message of `role`.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self { role, content: content.into(), meta: None }
    }

    /// A message of the user.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

setters!(SamplingMessage { with_meta(meta: Meta), });

/// The content of a message: one block, or (2025-11-25) several.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum SamplingContent {
    /// One block, written without brackets.
    Single(SamplingContentBlock),
    /// An array of blocks.
    Multiple(Vec<SamplingContentBlock>),
}

impl SamplingContent {
    /// The blocks, however many.
    pub fn blocks(&self) -> &[SamplingContentBlock] {
        match self {
            Self::Single(block) => slice::from_ref(block),
            Self::Multiple(blocks) => blocks,
        }
    }
}

impl From<&str> for SamplingContent {
    fn from(text: &str) -> Self {
        Self::Single(SamplingContentBlock::text(text))
    }
}

impl From<SamplingContentBlock> for SamplingContent {
    fn from(block: SamplingContentBlock) -> Self {
        Self::Single(block)
    }
}

impl From<Vec<SamplingContentBlock>> for SamplingContent {
    fn from(blocks: Vec<SamplingContentBlock>) -> Self {
        Self::Multiple(blocks)
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Single(block) => block.serialize(serializer),
            Self::Multiple(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawText::deserialize(deserializer)?;
        // A raw value starts at its first character, never at white space.
        if raw.as_text().as_str().starts_with('[') {
            raw.read().map(Self::Multiple)
        } else {
            raw.read().map(Self::Single)
        }
    }
}

/// One block of a message to or from a model.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SamplingContentBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound (2025-03-26).
    Audio(AudioContent),
    /// The model calls a tool (2025-11-25).
    ToolUse(ToolUseContent),
    /// What the tool returned (2025-11-25).
    ToolResult(ToolResultContent),
    /// A block of a kind that the specification does not list.
    #[serde(untagged)]
    Other(Json),
}

impl SamplingContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Its text, if it is a text block.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(&text.text) } else { None }
    }
}

impl<'de> Deserialize<'de> for SamplingContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawText::deserialize(deserializer)?;
        Ok(match &*wire::kind(&raw)? {
            "text" => Self::Text(raw.read()?),
            "image" => Self::Image(raw.read()?),
            "audio" => Self::Audio(raw.read()?),
            "tool_use" => Self::ToolUse(raw.read()?),
            "tool_result" => Self::ToolResult(raw.read()?),
            _ => Self::Other((&raw).into()),
        })
    }
}

/// Which model to take. Advice: the client decides.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Names to look for, best first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much a low price matters, from 0 to 1.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// How much speed matters, from 0 to 1.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// How much ability matters, from 0 to 1.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// No preference at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name to look for, after those already there.
    #[must_use]
    pub fn with_hint(mut self, name: impl Into<String>) -> Self {
        self.hints.get_or_insert_default().push(ModelHint::new(name));
        self
    }
}

setters!(ModelPreferences {
    with_cost_priority(cost_priority: f64),
    with_speed_priority(speed_priority: f64),
    with_intelligence_priority(intelligence_priority: f64),
});

/// A name to look for among the client's models.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelHint {
    /// Part of a model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ModelHint {
    /// Models whose name holds `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()) }
    }
}

open_enum! {
    /// Whose context the client is to add to a message.
    pub enum IncludeContext {
        /// Nobody's.
        None = "none",
        /// That of the server that asks.
        ThisServer = "thisServer",
        /// That of all servers.
        AllServers = "allServers",
    }
}

open_enum! {
    /// Why a model stopped.
    pub enum StopReason {
        /// It had said what it had to say.
        EndTurn = "endTurn",
        /// It came to a stop sequence.
        StopSequence = "stopSequence",
        /// It had used up its tokens.
        MaxTokens = "maxTokens",
        /// It calls a tool (2025-11-25).
        ToolUse = "toolUse",
    }
}

/// Whether a model may, must or must not call tools (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolChoice {
    /// Which of these; auto when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

impl ToolChoice {
    /// The choice `mode`.
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self { mode: Some(mode) }
    }
}

open_enum! {
    /// Whether a model may, must or must not call tools (2025-11-25).
    pub enum ToolChoiceMode {
        /// It may.
        Auto = "auto",
        /// It must.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_and_many_keep_their_form() {
        for text in [
            r#"{"role":"user","content":{"type":"text","text":"a"}}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{"z":1, "a":2}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":0}]}"#,
            r#"{"role":"robot","content":{"type":"thought","x":1}}"#,
        ] {
            let message: SamplingMessage = serde_json::from_str(text).unwrap();
            assert_eq!(message.content.blocks().len(), 1);
            assert_eq!(serde_json::to_string(&message).unwrap(), text);
        }
    }
}
