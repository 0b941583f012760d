//! Taking a request back.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Meta;
use crate::jsonrpc::Id;

/// Which request is taken back.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The request; only 2025-11-25 lets it be absent, for tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Id>,
    /// Why, for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CancelledParams {
    /// Takes back the request `request_id`.
    pub fn new(request_id: impl Into<Id>) -> Self {
        Self { meta: None, request_id: Some(request_id.into()), reason: None }
    }
}

setters!(CancelledParams {
    with_reason(reason: impl Into<String>),
    with_meta(meta: Meta),
});
