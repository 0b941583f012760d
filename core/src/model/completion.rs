//! Completion of the arguments of prompts and resource templates.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Meta, wire};
use crate::json::{Json, RawText};

/// How many values one answer may hold; the specification's limit.
pub const MAX_COMPLETION_VALUES: usize = 100;

/// What to complete.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompleteParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Whose argument it is.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument, as far as it has been typed.
    pub argument: CompletionArgument,
    /// What is known already (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
}

impl CompleteParams {
    /// Values for the argument `name` that go on from `value`.
    pub fn new(reference: impl Into<CompletionReference>, name: impl Into<String>, value: impl Into<String>) -> Self {
        let argument = CompletionArgument { name: name.into(), value: value.into() };
        Self { meta: None, reference: reference.into(), argument, context: None }
    }

    /// Adds an argument whose value is known already.
    #[must_use]
    pub fn with_known_argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.context.get_or_insert_default().arguments.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

setters!(CompleteParams { with_meta(meta: Meta), });

/// Whose argument is to be completed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// A prompt's.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template's.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
    /// Something that the specification does not list.
    #[serde(untagged)]
    Other(Json),
}

impl CompletionReference {
    /// The prompt `name`.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference::new(name))
    }

    /// The resource template `uri`.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference::new(uri))
    }
}

impl<'de> Deserialize<'de> for CompletionReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawText::deserialize(deserializer)?;
        Ok(match &*wire::kind(&raw)? {
            "ref/prompt" => Self::Prompt(raw.read()?),
            "ref/resource" => Self::Resource(raw.read()?),
            _ => Self::Other((&raw).into()),
        })
    }
}

/// A prompt.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptReference {
    /// Its programmatic name.
    pub name: String,
    /// Its name for display (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// The prompt `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None }
    }
}

setters!(PromptReference { with_title(title: impl Into<String>), });

impl From<PromptReference> for CompletionReference {
    fn from(reference: PromptReference) -> Self {
        Self::Prompt(reference)
    }
}

/// A resource template.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplateReference {
    /// Its URI template, or a URI.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// The resource template `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}

impl From<ResourceTemplateReference> for CompletionReference {
    fn from(reference: ResourceTemplateReference) -> Self {
        Self::Resource(reference)
    }
}

/// An argument, as far as it has been typed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionArgument {
    /// Its name.
    pub name: String,
    /// What has been typed.
    pub value: String,
}

/// What is known already (2025-06-18).
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionContext {
    /// The values of other arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
}

/// The proposed values.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompleteResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The values.
    pub completion: Completion,
}

impl CompleteResult {
    /// The first hundred of `values`, saying so if there were more.
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut values = values.into_iter();
        let kept: Vec<String> = values.by_ref().take(MAX_COMPLETION_VALUES).map(Into::into).collect();
        let total = kept.len() + values.count();
        let cut = total > kept.len();
        let completion = Completion { total: cut.then_some(total as u64), has_more: cut.then_some(true), values: kept };
        Self { meta: None, completion }
    }

    /// Sets how many values there are in all, and whether that is more than are listed.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.completion.has_more = Some(total > self.completion.values.len() as u64);
        self.completion.total = Some(total);
        self
    }
}

setters!(CompleteResult { with_meta(meta: Meta), });

/// Proposed values for an argument.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most a hundred values.
    #[serde(default)]
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(default, deserialize_with = "wire::lenient", skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn values_beyond_the_limit_are_counted_but_not_listed() {
        let all = |count: usize| CompleteResult::new((0..count).map(|number| number.to_string())).completion;
        let few = all(100);
        assert_eq!((few.values.len(), few.total, few.has_more), (100, None, None));
        let many = all(250);
        assert_eq!((many.values.len(), many.total, many.has_more), (100, Some(250), Some(true)));
    }

    #[test]
    fn references_read_back() {
        for text in [
            r#"{"type":"ref/prompt","name":"review"}"#,
            r#"{"type":"ref/resource","uri":"file:///{path}"}"#,
            r#"{"type":"ref/other","x":1}"#,
        ] {
            let reference: CompletionReference = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&reference).unwrap(), text);
        }
    }
}
