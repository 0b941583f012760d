//! Log messages from a server to its client.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Meta;
use crate::json::Json;

/// How severe a log message is, in the order of RFC 5424: a more severe level is a greater one.
///
/// ```
/// use windlass::model::LoggingLevel;
///
/// assert!(LoggingLevel::Error > LoggingLevel::Warning);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// For finding faults.
    Debug,
    /// For information.
    Info,
    /// Normal, but worth a look.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part has failed.
    Critical,
    /// Someone must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LoggingLevel {
    /// All levels, least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The level as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level that `text` names.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// Which messages to send (until 2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetLevelParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The least severe level to send.
    pub level: LoggingLevel,
}

impl SetLevelParams {
    /// Messages of `level` and above.
    pub fn new(level: LoggingLevel) -> Self {
        Self { meta: None, level }
    }
}

setters!(SetLevelParams { with_meta(meta: Meta), });

/// A log message.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggingMessageParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// How severe it is.
    pub level: LoggingLevel,
    /// The part of the server that speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What it says: any JSON value.
    pub data: Json,
}

impl LoggingMessageParams {
    /// A message of `level`.
    pub fn new(level: LoggingLevel, data: Json) -> Self {
        Self { meta: None, level, logger: None, data }
    }

    /// A message of `level` that is plain text.
    pub fn text(level: LoggingLevel, text: impl Into<String>) -> Self {
        Self::new(level, Json::from(serde_json::Value::String(text.into())))
    }
}

setters!(LoggingMessageParams {
    with_logger(logger: impl Into<String>),
    with_meta(meta: Meta),
});

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn levels_read_back_in_order() {
        assert!(LoggingLevel::ALL.is_sorted());
        for level in LoggingLevel::ALL {
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("\"{}\"", level.as_str()));
            assert_eq!(LoggingLevel::parse(level.as_str()), Some(level));
        }
        assert!(serde_json::from_str::<LoggingLevel>(r#""verbose""#).is_err());
    }
}
