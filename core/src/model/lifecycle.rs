//! How a conversation starts: `initialize` (until 2025-11-25), `server/discover` (2026-07-28).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CacheScope, ClientCapabilities, Implementation, Meta, ProtocolVersion, ServerCapabilities, wire};

/// How a client introduces itself.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The newest revision that the client wants, ours or not.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client says it is.
    pub client_info: Implementation,
}

impl InitializeParams {
    /// A client that wants to speak `version`.
    pub fn new(version: ProtocolVersion, capabilities: ClientCapabilities, client_info: Implementation) -> Self {
        Self { meta: None, protocol_version: version.as_str().into(), capabilities, client_info }
    }
}

setters!(InitializeParams { with_meta(meta: Meta), });

/// How a server answers.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The revision that both will speak, if the client agrees.
    pub protocol_version: String,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// Who the server says it is.
    pub server_info: Implementation,
    /// How to use the server, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

impl InitializeResult {
    /// A server that will speak `version`.
    pub fn new(version: ProtocolVersion, capabilities: ServerCapabilities, server_info: Implementation) -> Self {
        Self { meta: None, protocol_version: version.as_str().into(), capabilities, server_info, instructions: None }
    }
}

setters!(InitializeResult {
    with_instructions(instructions: impl Into<String>),
    with_meta(meta: Meta),
});

/// What a server says about itself (2026-07-28).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The revisions that the server speaks, ours or not.
    #[serde(default)]
    pub supported_versions: Vec<String>,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// How to use the server, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// For how many milliseconds this result stays fresh (2026-07-28).
    #[serde(default, deserialize_with = "wire::milliseconds", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (2026-07-28).
    #[serde(default, deserialize_with = "wire::lenient", skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

impl DiscoverResult {
    /// A server of these revisions and capabilities.
    pub fn new(versions: impl IntoIterator<Item = ProtocolVersion>, capabilities: ServerCapabilities) -> Self {
        Self {
            meta: None,
            supported_versions: versions.into_iter().map(|version| version.as_str().into()).collect(),
            capabilities,
            instructions: None,
            ttl_ms: None,
            cache_scope: None,
        }
    }
}

setters!(DiscoverResult {
    with_instructions(instructions: impl Into<String>),
    with_ttl_ms(ttl_ms: u64),
    with_cache_scope(cache_scope: CacheScope),
    with_meta(meta: Meta),
});
