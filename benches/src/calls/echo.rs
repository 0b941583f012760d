//! The tool that ours call, and how they call it.

use serde::{Deserialize, Serialize};
use windlass::client::Negotiation;
use windlass::model::{CallToolResult, Era};

/// What `echo` takes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Text {
    pub(crate) text: String,
}

impl Text {
    pub(crate) fn of(payload: usize) -> Self {
        Self { text: "x".repeat(payload) }
    }
}

pub(crate) fn negotiation(era: Era) -> Negotiation {
    if era == Era::Legacy { Negotiation::Legacy } else { Negotiation::Automatic }
}

/// That a call was answered.
pub(crate) fn check(result: &CallToolResult) {
    assert_eq!(result.content.len(), 1, "a text came back");
}
