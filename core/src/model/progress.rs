//! Progress of a request that takes its time.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{Meta, wire};
use crate::jsonrpc::Id;

/// The token that ties progress to its request: a string or an integer, like an id.
pub type ProgressToken = Id;

/// How far a request has come.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The token from the request's `_meta`.
    pub progress_token: ProgressToken,
    /// What has been done so far; grows with every notification.
    #[serde(serialize_with = "wire::number")]
    pub progress: f64,
    /// What there is to do, if known.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is being done (2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ProgressParams {
    /// `progress` of the request that brought this token.
    pub fn new(progress_token: ProgressToken, progress: f64) -> Self {
        Self { meta: None, progress_token, progress, total: None, message: None }
    }
}

setters!(ProgressParams {
    with_total(total: f64),
    with_message(message: impl Into<String>),
    with_meta(meta: Meta),
});
