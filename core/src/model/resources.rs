//! Resources: lists, templates, reading, and watching one (until 2025-11-25).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Annotations, CacheScope, Cursor, Icon, InputResponses, Meta, ResourceContents, wire};

/// Something that a server lets a client read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// The programmatic name.
    pub name: String,
    /// The name for display (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it holds, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes, before any encoding.
    #[serde(default, deserialize_with = "wire::lenient", skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Its icons (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Resource {
    /// The resource at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: None,
            meta: None,
        }
    }
}

setters!(Resource {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_mime_type(mime_type: impl Into<String>),
    with_size(size: u64),
    with_annotations(annotations: Annotations),
    with_icons(icons: impl Into<Vec<Icon>>),
    with_meta(meta: Meta),
});

/// A family of resources, by the form of their URIs.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The form of the URIs (RFC 6570); see [`UriTemplate`](super::UriTemplate).
    pub uri_template: String,
    /// The programmatic name.
    pub name: String,
    /// The name for display (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What these resources hold, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if all of them share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Its icons (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceTemplate {
    /// The family of resources whose URIs have the form `uri_template`.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: None,
            meta: None,
        }
    }
}

setters!(ResourceTemplate {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_mime_type(mime_type: impl Into<String>),
    with_annotations(annotations: Annotations),
    with_icons(icons: impl Into<Vec<Icon>>),
    with_meta(meta: Meta),
});

/// One page of a server's resources.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourcesResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resources.
    #[serde(default)]
    pub resources: Vec<Resource>,
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

impl ListResourcesResult {
    /// A page of these resources.
    pub fn new(resources: impl Into<Vec<Resource>>) -> Self {
        Self { resources: resources.into(), ..Self::default() }
    }
}

setters!(ListResourcesResult {
    with_next_cursor(next_cursor: impl Into<Cursor>),
    with_ttl_ms(ttl_ms: u64),
    with_cache_scope(cache_scope: CacheScope),
    with_meta(meta: Meta),
});

/// One page of a server's resource templates.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourceTemplatesResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The templates.
    #[serde(default)]
    pub resource_templates: Vec<ResourceTemplate>,
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

impl ListResourceTemplatesResult {
    /// A page of these templates.
    pub fn new(resource_templates: impl Into<Vec<ResourceTemplate>>) -> Self {
        Self { resource_templates: resource_templates.into(), ..Self::default() }
    }
}

setters!(ListResourceTemplatesResult {
    with_next_cursor(next_cursor: impl Into<Cursor>),
    with_ttl_ms(ttl_ms: u64),
    with_cache_scope(cache_scope: CacheScope),
    with_meta(meta: Meta),
});

/// Which resource to read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resource.
    pub uri: String,
    /// The answers to the server's input requests (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The server's state, given back as it came (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

impl ReadResourceParams {
    /// The resource at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { meta: None, uri: uri.into(), input_responses: None, request_state: None }
    }
}

setters!(ReadResourceParams {
    with_input_responses(input_responses: InputResponses),
    with_request_state(request_state: impl Into<String>),
    with_meta(meta: Meta),
});

/// What is in a resource; several contents if it stands for several, such as a directory.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The contents.
    #[serde(default)]
    pub contents: Vec<ResourceContents>,
    /// For how many milliseconds this result stays fresh (2026-07-28).
    #[serde(default, deserialize_with = "wire::milliseconds", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (2026-07-28).
    #[serde(default, deserialize_with = "wire::lenient", skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

impl ReadResourceResult {
    /// These contents.
    pub fn new(contents: impl Into<Vec<ResourceContents>>) -> Self {
        Self { contents: contents.into(), ..Self::default() }
    }

    /// The text of the one resource at `uri`.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(vec![ResourceContents::text(uri, text)])
    }

    /// All text of the contents, a line break between two of them.
    pub fn text_content(&self) -> String {
        let mut all = String::new();
        for contents in &self.contents {
            let ResourceContents::Text(contents) = contents else { continue };
            if !all.is_empty() {
                all.push('\n');
            }
            all.push_str(&contents.text);
        }
        all
    }
}

setters!(ReadResourceResult {
    with_ttl_ms(ttl_ms: u64),
    with_cache_scope(cache_scope: CacheScope),
    with_meta(meta: Meta),
});

/// Which resource to watch (until 2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resource.
    pub uri: String,
}

impl SubscribeParams {
    /// The resource at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { meta: None, uri: uri.into() }
    }
}

setters!(SubscribeParams { with_meta(meta: Meta), });

/// Which resource to watch no longer (until 2025-11-25).
pub type UnsubscribeParams = SubscribeParams;

/// Which resource has changed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceUpdatedParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resource, which may lie below the watched one.
    pub uri: String,
}

impl ResourceUpdatedParams {
    /// The resource at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { meta: None, uri: uri.into() }
    }
}

setters!(ResourceUpdatedParams { with_meta(meta: Meta), });
