//! Roots: the places a client lets a server work in.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{EmptyParams, Meta};
use crate::json::excerpt;

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

    /// Whether all of them are files or folders, as the specification asks: servers take roots for paths.
    ///
    /// ```
    /// use windlass::model::{ListRootsResult, Root};
    ///
    /// assert!(ListRootsResult::new([Root::new("file:///home/ada")]).check().is_ok());
    /// let error = ListRootsResult::new([Root::new("https://example.com/")]).check().unwrap_err();
    /// assert_eq!(error.to_string(), "a root has to be a file:// URI, which https://example.com/ is not");
    /// ```
    ///
    /// # Errors
    ///
    /// When one of them is not.
    pub fn check(&self) -> Result<(), NotAFile> {
        match self.roots.iter().find(|root| !root.is_file()) {
            Some(root) => Err(NotAFile(excerpt(&root.uri).into())),
            None => Ok(()),
        }
    }
}

/// A root is not a `file://` URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAFile(String);

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a root has to be a file:// URI, which {} is not", self.0)
    }
}

impl core::error::Error for NotAFile {}

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
    /// The root at `uri`, which has to be a `file://` URI: others are not sent, and not taken from a client.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None, meta: None }
    }

    /// Whether it is a `file://` URI with a path.
    pub fn is_file(&self) -> bool {
        let Some((scheme, rest)) = self.uri.split_once("://") else { return false };
        scheme.eq_ignore_ascii_case("file") && rest.contains('/')
    }
}

setters!(Root {
    with_name(name: impl Into<String>),
    with_meta(meta: Meta),
});
