//! Tools, and the list of them.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CacheScope, Cursor, Icon, Meta, wire};
use crate::json::Json;

/// A function of the server that a model can call.
///
/// ```
/// use windlass::Json;
/// use windlass::model::Tool;
///
/// let schema = Json::parse(r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#)?;
/// let tool = Tool::new("weather", schema).with_title("Weather").with_description("The weather in a city");
/// assert_eq!(tool.display_name(), "Weather");
/// assert_eq!(Tool::without_arguments("now").display_name(), "now");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// The name for display (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, of type `object`.
    pub input_schema: Json,
    /// The JSON Schema of its structured result (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Json>,
    /// Hints on what it does, which only a trusted server makes trustworthy (2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// How it runs (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Its icons (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Tool {
    /// A tool whose arguments follow `input_schema`.
    pub fn new(name: impl Into<String>, input_schema: impl Into<Json>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
        }
    }

    /// A tool that takes no arguments.
    pub fn without_arguments(name: impl Into<String>) -> Self {
        Self::new(name, serde_json::json!({ "type": "object", "additionalProperties": false }))
    }

    /// The name to show: the title, else the one in the annotations, else the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_deref();
        self.title.as_deref().or_else(annotated).unwrap_or(&self.name)
    }
}

setters!(Tool {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_output_schema(output_schema: Json),
    with_annotations(annotations: ToolAnnotations),
    with_execution(execution: ToolExecution),
    with_icons(icons: impl Into<Vec<Icon>>),
    with_meta(meta: Meta),
});

/// Hints on what a tool does (2025-03-26).
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// The name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it again changes nothing more; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond the server's own world; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// No hint at all.
    pub fn new() -> Self {
        Self::default()
    }
}

setters!(ToolAnnotations {
    with_title(title: impl Into<String>),
    with_read_only_hint(read_only_hint: bool),
    with_destructive_hint(destructive_hint: bool),
    with_idempotent_hint(idempotent_hint: bool),
    with_open_world_hint(open_world_hint: bool),
});

/// How a tool runs (2025-11-25 only).
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolExecution {
    /// Whether it can run as a task; forbidden when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

impl ToolExecution {
    /// A tool with this support for tasks.
    pub fn new(task_support: TaskSupport) -> Self {
        Self { task_support: Some(task_support) }
    }
}

open_enum! {
    /// Whether a tool can run as a task (2025-11-25 only).
    pub enum TaskSupport {
        /// It cannot.
        Forbidden = "forbidden",
        /// It can, if the client asks for it.
        Optional = "optional",
        /// It does nothing else.
        Required = "required",
    }
}

/// One page of a server's tools.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListToolsResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The tools.
    #[serde(default)]
    pub tools: Vec<Tool>,
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

impl ListToolsResult {
    /// A page of these tools.
    pub fn new(tools: impl Into<Vec<Tool>>) -> Self {
        Self { tools: tools.into(), ..Self::default() }
    }
}

setters!(ListToolsResult {
    with_next_cursor(next_cursor: impl Into<Cursor>),
    with_ttl_ms(ttl_ms: u64),
    with_cache_scope(cache_scope: CacheScope),
    with_meta(meta: Meta),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_keep_their_text() {
        let text = r#"{"name":"t","inputSchema":{"type":"object", "z":1.0,"a":[]},"outputSchema":{ }}"#;
        let tool: Tool = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&tool).unwrap(), text);
    }

    #[test]
    fn strange_cache_hints_do_not_spoil_the_list() {
        let list: ListToolsResult = serde_json::from_str(r#"{"tools":[],"ttlMs":-5,"cacheScope":7}"#).unwrap();
        assert_eq!((list.ttl_ms, list.cache_scope), (Some(0), None));
    }
}
