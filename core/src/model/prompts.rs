//! Prompts: messages that a server has ready for a user to pick.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CacheScope, ContentBlock, Cursor, Icon, InputResponses, Meta, Role, wire};

/// A prompt that a server offers.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The programmatic name.
    pub name: String,
    /// The name for display (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What can be filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    /// Its icons (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Prompt {
    /// A prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, arguments: None, icons: None, meta: None }
    }

    /// Adds an argument.
    #[must_use]
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.get_or_insert_default().push(argument);
        self
    }
}

setters!(Prompt {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_icons(icons: impl Into<Vec<Icon>>),
    with_meta(meta: Meta),
});

/// What can be filled into a prompt. Its values are strings.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptArgument {
    /// The programmatic name.
    pub name: String,
    /// The name for display (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be given; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl PromptArgument {
    /// An argument that may be left out.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: None }
    }

    /// An argument that must be given.
    pub fn required(name: impl Into<String>) -> Self {
        Self::new(name).with_required(true)
    }
}

setters!(PromptArgument {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_required(required: bool),
});

/// One message of a prompt.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What it says.
    pub content: ContentBlock,
}

impl PromptMessage {
    /// A message of `role`.
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self { role, content: content.into() }
    }

    /// A message of the user.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// One page of a server's prompts.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPromptsResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The prompts.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
    /// Where the next page starts; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
    /// For how many milliseconds this result stays fresh (2026-07-28).
    #[serde(default, deserialize_with = "wire::milliseconds", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (2026-07-28).
    #[serde(default, deserialize_with = "wire::lenient", skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

impl ListPromptsResult {
    /// A page of these prompts.
    pub fn new(prompts: impl Into<Vec<Prompt>>) -> Self {
        Self { prompts: prompts.into(), ..Self::default() }
    }
}

setters!(ListPromptsResult {
    with_next_cursor(next_cursor: impl Into<Cursor>),
    with_ttl_ms(ttl_ms: u64),
    with_cache_scope(cache_scope: CacheScope),
    with_meta(meta: Meta),
});

/// Which prompt to get, with what.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPromptParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The prompt.
    pub name: String,
    /// The values of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
    /// The answers to the server's input requests (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The server's state, given back as it came (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

impl GetPromptParams {
    /// The prompt `name` without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { meta: None, name: name.into(), arguments: None, input_responses: None, request_state: None }
    }

    /// Gives an argument its value.
    #[must_use]
    pub fn with_argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.arguments.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

setters!(GetPromptParams {
    with_input_responses(input_responses: InputResponses),
    with_request_state(request_state: impl Into<String>),
    with_meta(meta: Meta),
});

/// A prompt, filled in.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPromptResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its messages.
    #[serde(default)]
    pub messages: Vec<PromptMessage>,
}

impl GetPromptResult {
    /// A prompt of these messages.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self { messages: messages.into(), ..Self::default() }
    }
}

setters!(GetPromptResult {
    with_description(description: impl Into<String>),
    with_meta(meta: Meta),
});
