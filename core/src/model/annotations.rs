//! Roles, and hints on how to use content.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::wire;

open_enum! {
    /// Who speaks, or who is meant to read.
    pub enum Role {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

/// Hints to the client on how to use or show an object.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// For whom it is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// How much it matters, from 0 (optional) to 1 (required).
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it was last changed, in ISO 8601 (2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// No hint at all.
    pub fn new() -> Self {
        Self::default()
    }
}

setters!(Annotations {
    with_audience(audience: impl Into<Vec<Role>>),
    with_priority(priority: f64),
    with_last_modified(last_modified: impl Into<String>),
});
