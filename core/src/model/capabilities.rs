//! What each side says it can do.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

#[cfg(feature = "server")]
use super::ProtocolVersion;
use super::wire;
use crate::json::Json;

/// What a client can do for a server. Presence means support, also of an empty object.
///
/// ```
/// use windlass::model::ClientCapabilities;
///
/// let declared: ClientCapabilities = serde_json::from_str(r#"{"elicitation":{}}"#)?;
/// assert!(declared.supports_form_elicitation() && !declared.supports_url_elicitation());
/// let required = ClientCapabilities::new().with_form_elicitation().with_sampling();
/// assert_eq!(declared.missing(&required), Some(ClientCapabilities::new().with_sampling()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Non-standard abilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, Json>>,
    /// The client lists its roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// The client samples from a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// The client asks its user (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// The client runs tasks (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Json>,
    /// Extensions by identifier, with their settings (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, Json>>,
}

/// How a client supports roots.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootsCapability {
    /// It tells when they change (until 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// How a client supports sampling.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingCapability {
    /// It can include context from servers (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Json>,
    /// Its models can call tools (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Json>,
}

/// How a client supports elicitation; neither member means forms only.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationCapability {
    /// It shows forms (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Json>,
    /// It sends the user to a URL (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Json>,
}

impl ElicitationCapability {
    fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }
}

impl ClientCapabilities {
    /// No capability at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds roots, and whether their changes are announced.
    #[must_use]
    pub fn with_roots(mut self, list_changed: bool) -> Self {
        self.roots = Some(RootsCapability { list_changed: list_changed.then_some(true) });
        self
    }

    /// Adds sampling.
    #[must_use]
    pub fn with_sampling(mut self) -> Self {
        self.sampling.get_or_insert_default();
        self
    }

    /// Adds sampling with tools.
    #[must_use]
    pub fn with_sampling_tools(mut self) -> Self {
        self.sampling.get_or_insert_default().tools = Some(wire::empty_object());
        self
    }

    /// Adds sampling with context from servers.
    #[must_use]
    pub fn with_sampling_context(mut self) -> Self {
        self.sampling.get_or_insert_default().context = Some(wire::empty_object());
        self
    }

    /// Adds elicitation by form.
    #[must_use]
    pub fn with_form_elicitation(mut self) -> Self {
        self.elicitation.get_or_insert_default().form = Some(wire::empty_object());
        self
    }

    /// Adds elicitation by URL.
    #[must_use]
    pub fn with_url_elicitation(mut self) -> Self {
        self.elicitation.get_or_insert_default().url = Some(wire::empty_object());
        self
    }

    /// Adds an extension with its settings.
    #[must_use]
    pub fn with_extension(mut self, identifier: impl Into<String>, settings: Json) -> Self {
        self.extensions.get_or_insert_default().insert(identifier.into(), settings);
        self
    }

    /// Whether the client lists its roots.
    pub fn supports_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Whether the client samples.
    pub fn supports_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether the client samples from models that call tools.
    pub fn supports_sampling_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether the client shows forms to its user.
    pub fn supports_form_elicitation(&self) -> bool {
        self.elicitation.as_ref().is_some_and(ElicitationCapability::has_form)
    }

    /// Whether the client sends its user to URLs.
    pub fn supports_url_elicitation(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|elicitation| elicitation.url.is_some())
    }

    /// Whether the client supports an extension.
    pub fn supports_extension(&self, identifier: &str) -> bool {
        self.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(identifier))
    }

    /// What of this a revision has. A client that declares more than was agreed on must not be asked for it.
    #[cfg(feature = "server")]
    pub(crate) fn within(mut self, version: ProtocolVersion) -> Self {
        self.elicitation = self.elicitation.filter(|_| version.has_elicitation());
        if !version.has_url_elicitation() {
            self.elicitation = self.elicitation.map(|_| ElicitationCapability::default());
        }
        if !version.has_sampling_tools() {
            self.sampling = self.sampling.map(|_| SamplingCapability::default());
        }
        self
    }

    /// What of `required` is not declared here; `None` if nothing is missing.
    pub fn missing(&self, required: &Self) -> Option<Self> {
        let missing = Self {
            experimental: missing_keys(&self.experimental, &required.experimental),
            roots: required.roots.as_ref().filter(|required| !self.covers_roots(required)).cloned(),
            sampling: required.sampling.as_ref().and_then(|required| self.missing_sampling(required)),
            elicitation: required.elicitation.as_ref().and_then(|required| self.missing_elicitation(required)),
            tasks: required.tasks.clone().filter(|_| self.tasks.is_none()),
            extensions: missing_keys(&self.extensions, &required.extensions),
        };
        (missing != Self::default()).then_some(missing)
    }

    fn covers_roots(&self, required: &RootsCapability) -> bool {
        let announces = |roots: &RootsCapability| roots.list_changed == Some(true);
        self.roots.as_ref().is_some_and(|roots| announces(roots) || !announces(required))
    }

    fn missing_sampling(&self, required: &SamplingCapability) -> Option<SamplingCapability> {
        let Some(declared) = &self.sampling else { return Some(required.clone()) };
        let missing = SamplingCapability {
            context: required.context.clone().filter(|_| declared.context.is_none()),
            tools: required.tools.clone().filter(|_| declared.tools.is_none()),
        };
        (missing != SamplingCapability::default()).then_some(missing)
    }

    fn missing_elicitation(&self, required: &ElicitationCapability) -> Option<ElicitationCapability> {
        let Some(declared) = &self.elicitation else { return Some(required.clone()) };
        // To a client that has declared some mode, an empty object would not say that it is forms that are missing.
        let form = (required.has_form() && !declared.has_form())
            .then(|| required.form.clone().unwrap_or_else(wire::empty_object));
        let url = required.url.clone().filter(|_| declared.url.is_none());
        (form.is_some() || url.is_some()).then_some(ElicitationCapability { form, url })
    }
}

/// The entries of `required` whose keys are not in `declared`.
fn missing_keys(
    declared: &Option<BTreeMap<String, Json>>,
    required: &Option<BTreeMap<String, Json>>,
) -> Option<BTreeMap<String, Json>> {
    let is_declared = |key: &String| declared.as_ref().is_some_and(|declared| declared.contains_key(key));
    let mut missing = required.clone()?;
    missing.retain(|key, _| !is_declared(key));
    (!missing.is_empty()).then_some(missing)
}

/// What a server offers. Presence means support, also of an empty object.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Non-standard abilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, Json>>,
    /// The server sends log messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Json>,
    /// The server completes arguments (2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<Json>,
    /// The server has prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptsCapability>,
    /// The server has resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// The server has tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsCapability>,
    /// The server runs tasks (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Json>,
    /// Extensions by identifier, with their settings (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, Json>>,
}

/// How a server offers prompts.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptsCapability {
    /// It tells when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// How a server offers resources.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesCapability {
    /// It tells when a resource changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// It tells when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// How a server offers tools.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCapability {
    /// It tells when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl ServerCapabilities {
    /// No capability at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tools, and whether changes of the list are announced.
    #[must_use]
    pub fn with_tools(mut self, list_changed: bool) -> Self {
        self.tools = Some(ToolsCapability { list_changed: list_changed.then_some(true) });
        self
    }

    /// Adds prompts, and whether changes of the list are announced.
    #[must_use]
    pub fn with_prompts(mut self, list_changed: bool) -> Self {
        self.prompts = Some(PromptsCapability { list_changed: list_changed.then_some(true) });
        self
    }

    /// Adds resources, and whether changes of one and of the list are announced.
    #[must_use]
    pub fn with_resources(mut self, subscribe: bool, list_changed: bool) -> Self {
        self.resources = Some(ResourcesCapability {
            subscribe: subscribe.then_some(true),
            list_changed: list_changed.then_some(true),
        });
        self
    }

    /// Adds completion.
    #[must_use]
    pub fn with_completions(mut self) -> Self {
        self.completions = Some(wire::empty_object());
        self
    }

    /// Adds log messages.
    #[must_use]
    pub fn with_logging(mut self) -> Self {
        self.logging = Some(wire::empty_object());
        self
    }

    /// Adds an extension with its settings.
    #[must_use]
    pub fn with_extension(mut self, identifier: impl Into<String>, settings: Json) -> Self {
        self.extensions.get_or_insert_default().insert(identifier.into(), settings);
        self
    }

    /// Whether the server supports an extension.
    pub fn supports_extension(&self, identifier: &str) -> bool {
        self.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(identifier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn client(text: &str) -> ClientCapabilities {
        serde_json::from_str(text).unwrap()
    }

    fn missing(declared: &str, required: &str) -> Option<String> {
        client(declared).missing(&client(required)).map(|missing| serde_json::to_string(&missing).unwrap())
    }

    #[test]
    fn a_revision_keeps_what_it_has() {
        let declared = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"url":{}}}"#;
        let within = |version| serde_json::to_string(&client(declared).within(version)).unwrap();
        assert_eq!(within(ProtocolVersion::V2024_11_05), r#"{"roots":{},"sampling":{}}"#);
        assert_eq!(within(ProtocolVersion::V2025_03_26), r#"{"roots":{},"sampling":{}}"#);
        assert_eq!(within(ProtocolVersion::V2025_06_18), r#"{"roots":{},"sampling":{},"elicitation":{}}"#);
        assert_eq!(within(ProtocolVersion::V2025_11_25), declared);
        assert_eq!(within(ProtocolVersion::V2026_07_28), declared);
    }

    #[test]
    fn capabilities_that_are_missing_are_named() {
        assert_eq!(missing("{}", r#"{"sampling":{}}"#), Some(r#"{"sampling":{}}"#.to_string()));
        assert_eq!(missing(r#"{"sampling":{}}"#, r#"{"sampling":{}}"#), None);
        assert_eq!(
            missing(r#"{"sampling":{"context":{}}}"#, r#"{"sampling":{"tools":{}}}"#),
            Some(r#"{"sampling":{"tools":{}}}"#.to_string())
        );
        assert_eq!(missing("{}", r#"{"elicitation":{}}"#), Some(r#"{"elicitation":{}}"#.to_string()));
        assert_eq!(missing(r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#), None);
        assert_eq!(
            missing(r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{}}"#),
            Some(r#"{"elicitation":{"form":{}}}"#.to_string())
        );
        assert_eq!(
            missing(r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{},"url":{}}}"#),
            Some(r#"{"elicitation":{"url":{}}}"#.to_string())
        );
        assert_eq!(missing(r#"{"roots":{}}"#, r#"{"roots":{}}"#), None);
        assert!(missing(r#"{"roots":{}}"#, r#"{"roots":{"listChanged":true}}"#).is_some());
        assert_eq!(
            missing(r#"{"extensions":{"a/b":{}}}"#, r#"{"extensions":{"a/b":{},"a/c":{"x":1}}}"#),
            Some(r#"{"extensions":{"a/c":{"x":1}}}"#.to_string())
        );
    }

    #[test]
    fn a_capability_that_is_no_object_is_an_error() {
        assert!(serde_json::from_str::<ClientCapabilities>(r#"{"sampling":true}"#).is_err());
    }
}
