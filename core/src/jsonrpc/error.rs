//! The error object of a response.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{Json, excerpt};

/// Error codes of JSON-RPC and of MCP.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is unknown, or gated by a capability that was not declared.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The answering side failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// No such resource (before 2026-07-28; later revisions say [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A header contradicts the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a client capability that it does not declare (2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// The protocol version is not spoken here (2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// The user has to visit a URL first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// The user refused a sampling request.
    pub const USER_REJECTED: i64 = -1;
}

/// An error that one peer reports to the other.
///
/// ```
/// use windlass::RpcError;
///
/// let error = RpcError::invalid_params("unknown tool: frobnicate");
/// assert_eq!(error.to_string(), "unknown tool: frobnicate (code -32602)");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcError {
    /// What kind of error; see [`code`].
    pub code: i64,
    /// What happened, for a person.
    pub message: String,
    /// Whatever else the reporting side has to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

impl RpcError {
    /// An error with a code of your own choice.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The JSON is not a request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// The method is unknown or not offered.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, alloc::format!("method not found: {}", excerpt(method)))
    }

    /// The parameters are wrong.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// There is no such resource. A server says it by the code that the client's revision has for it:
    /// [`code::RESOURCE_NOT_FOUND`] before 2026-07-28, [`code::INVALID_PARAMS`] since.
    pub fn resource_not_found(uri: &str) -> Self {
        #[derive(Serialize)]
        struct Data<'a> {
            uri: &'a str,
        }
        Self::new(code::RESOURCE_NOT_FOUND, alloc::format!("unknown resource: {}", excerpt(uri)))
            .with_data(&Data { uri })
    }

    /// The answering side failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// Adds data; data that cannot be written as JSON is left out.
    pub fn with_data<V: Serialize + ?Sized>(mut self, data: &V) -> Self {
        self.data = Json::of(data).ok();
        self
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl core::error::Error for RpcError {}

/// What a handler cannot read or write is its own failure.
impl From<serde_json::Error> for RpcError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(alloc::format!("{error}"))
    }
}
