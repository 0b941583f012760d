//! Roots: the places a client lets a server work in.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{EmptyParams, Meta};

/// Nothing to say when asking for roots.
pub type ListRootsParams = EmptyParams;

/// The client's roots.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRootsResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The roots.
    #[serde(default)]
    pub roots: Vec<Root>,
}

impl ListRootsResult {
    /// These roots.
    pub fn new(roots: impl Into<Vec<Root>>) -> Self {
        Self { meta: None, roots: roots.into() }
    }
}

setters!(ListRootsResult { with_meta(meta: Meta), });

/// A place that a server may work in: guidance, not a fence.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Where it is; a `file://` URI.
    pub uri: String,
    /// The name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Root {
    /// The root at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None, meta: None }
    }
}

setters!(Root {
    with_name(name: impl Into<String>),
    with_meta(meta: Meta),
});
