//! Lists that come in pages.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Meta;

/// Where the next page starts. Opaque to the client; even the empty string is one.
pub type Cursor = String;

/// The params of every list method.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaginatedParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Where to start; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

impl PaginatedParams {
    /// The first page.
    pub fn new() -> Self {
        Self::default()
    }

    /// The page at a cursor; the first without one.
    pub fn at(cursor: Option<Cursor>) -> Self {
        Self { meta: None, cursor }
    }
}

setters!(PaginatedParams {
    with_cursor(cursor: impl Into<Cursor>),
    with_meta(meta: Meta),
});
