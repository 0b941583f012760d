//! The `_meta` object: what peers and extensions say beside the protocol.

#[cfg(feature = "server")]
use crate::json::{Fault, JsonText, pick_and_count};

/// The keys that the specification defines.
pub mod key {
    /// The token under which the sender wants progress notifications.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The revision a request is written in (2026-07-28).
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client can do for this request (2026-07-28).
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who the client says it is (2026-07-28).
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The least severe log message that the client wants for this request (2026-07-28).
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Who the server says it is (2026-07-28).
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The listen request that a notification belongs to (2026-07-28).
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task that a message belongs to (2025-11-25).
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// The position in a trace, as W3C Trace Context writes it.
    pub const TRACEPARENT: &str = "traceparent";
    /// Vendors' trace data, as W3C Trace Context writes it.
    pub const TRACESTATE: &str = "tracestate";
    /// Properties that travel with a trace, as W3C Baggage writes them.
    pub const BAGGAGE: &str = "baggage";
}

json_map! {
    /// A `_meta` object. Values stay as they came, known or not.
    ///
    /// ```
    /// use windlass::model::{Meta, meta};
    ///
    /// let mut meta = Meta::new();
    /// meta.insert(meta::key::PROGRESS_TOKEN, &7)?;
    /// assert_eq!(meta.get::<u32>("progressToken"), Some(7));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Meta;
}

/// Whether `key` is written as the specification asks: `[label.label/]name`.
pub fn is_valid_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.split('.').all(is_label) && is_name(name),
        None => is_name(key),
    }
}

/// Whether the specification keeps `key` for itself: the second label of its prefix is `modelcontextprotocol` or `mcp`.
///
/// This is the rule since 2025-11-25; 2025-06-18 read prefixes the other way round.
pub fn is_reserved_key(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp"))
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.is_empty()
        || bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(feature = "server")]
/// What a receiver reads from the `_meta` of a request, each value as it came: what is wrong with one of them is for
/// whoever needs it, and spoils no other.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestMeta<'a> {
    /// The token under which the sender wants progress.
    pub progress_token: Option<JsonText<'a>>,
    /// The revision the request is written in.
    pub protocol_version: Option<JsonText<'a>>,
    /// The client's capabilities.
    pub client_capabilities: Option<JsonText<'a>>,
    /// The client's name and version.
    pub client_info: Option<JsonText<'a>>,
    /// The wanted log level.
    pub log_level: Option<JsonText<'a>>,
    /// All of it, if there is more than the above.
    whole: Option<JsonText<'a>>,
}

/// Whether the engine itself writes and reads this member of a request's `_meta`.
pub(crate) fn is_engines_key(name: &str) -> bool {
    matches!(
        name,
        key::PROGRESS_TOKEN | key::PROTOCOL_VERSION | key::CLIENT_CAPABILITIES | key::CLIENT_INFO | key::LOG_LEVEL
    )
}

#[cfg(feature = "server")]
impl<'a> RequestMeta<'a> {
    pub(crate) fn read(meta: JsonText<'a>) -> Result<Self, Fault> {
        let names =
            [key::PROGRESS_TOKEN, key::PROTOCOL_VERSION, key::CLIENT_CAPABILITIES, key::CLIENT_INFO, key::LOG_LEVEL];
        let (picked, others) = pick_and_count(meta, names)?;
        let [progress_token, protocol_version, client_capabilities, client_info, log_level] = picked;
        let whole = (others > 0).then_some(meta);
        Ok(Self { progress_token, protocol_version, client_capabilities, client_info, log_level, whole })
    }

    /// What the peer says beside the protocol, if it says anything.
    pub(crate) fn others(&self) -> Option<Meta> {
        let all: Meta = self.whole?.read().ok()?;
        Some(all.into_iter().filter(|(name, _)| !is_engines_key(name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_grammar() {
        for key in ["a", "", "progressToken", "com.example/x", "com.example/", "a-b.c1/n_a.m-e", key::SERVER_INFO] {
            assert!(is_valid_key(key), "{key}");
        }
        for key in ["/x", "1a/x", "a-/x", "a..b/x", "a/b/c", "a/-x", "a/x.", "ä/x", "-", "a b"] {
            assert!(!is_valid_key(key), "{key}");
        }
    }

    #[test]
    fn the_second_label_reserves() {
        for key in ["io.modelcontextprotocol/x", "dev.mcp/x", "com.mcp.tools/x"] {
            assert!(is_reserved_key(key), "{key}");
        }
        for key in ["com.example.mcp/x", "mcp/x", "mcp.dev/x", "io.modelcontextprotocol", "progressToken"] {
            assert!(!is_reserved_key(key), "{key}");
        }
    }

    #[test]
    fn one_wrong_field_does_not_spoil_the_others() {
        let text = r#"{"progressToken":1.5,"io.modelcontextprotocol/protocolVersion":7,
                "io.modelcontextprotocol/clientCapabilities":null,"x":[1]}"#;
        let meta = RequestMeta::read(JsonText::parse(text).unwrap()).unwrap();
        assert_eq!(meta.progress_token.map(JsonText::as_str), Some("1.5"));
        assert_eq!(meta.protocol_version.map(JsonText::as_str), Some("7"));
        assert!(meta.client_capabilities.is_none() && meta.log_level.is_none());
    }
}
