//! What is in a resource.

use alloc::string::String;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Meta;
use crate::json::{Json, RawText};

/// The contents of a resource: text, or bytes in base64.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
    /// Contents that are neither, kept as they came.
    Other(Json),
}

impl ResourceContents {
    /// Text contents.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text))
    }

    /// Binary contents, as base64 text of the bytes.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(BlobResourceContents::new(uri, blob))
    }

    /// The URI, for contents of a known kind.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Other(_) => None,
        }
    }

    /// The media type, if it is given.
    pub fn mime_type(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => contents.mime_type.as_deref(),
            Self::Blob(contents) => contents.mime_type.as_deref(),
            Self::Other(_) => None,
        }
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
            Self::Other(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape {
            text: Option<IgnoredAny>,
            blob: Option<IgnoredAny>,
        }

        let raw = RawText::deserialize(deserializer)?;
        let shape: Shape = raw.read()?;
        Ok(match (shape.text, shape.blob) {
            (Some(_), _) => Self::Text(raw.read()?),
            (None, Some(_)) => Self::Blob(raw.read()?),
            (None, None) => Self::Other(raw.into()),
        })
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

/// The contents of a text resource.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextResourceContents {
    /// Where it is.
    pub uri: String,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextResourceContents {
    /// The text of the resource at `uri`.
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, text: text.into(), meta: None }
    }
}

setters!(TextResourceContents {
    with_mime_type(mime_type: impl Into<String>),
    with_meta(meta: Meta),
});

/// The contents of a binary resource.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlobResourceContents {
    /// Where it is.
    pub uri: String,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The bytes, in base64.
    pub blob: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl BlobResourceContents {
    /// The bytes of the resource at `uri`, as base64 text.
    pub fn new(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, blob: blob.into(), meta: None }
    }
}

setters!(BlobResourceContents {
    with_mime_type(mime_type: impl Into<String>),
    with_meta(meta: Meta),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_decides_the_kind() {
        let read = |text| serde_json::from_str::<ResourceContents>(text).unwrap();
        assert_eq!(read(r#"{"uri":"a:b","text":""}"#), ResourceContents::text("a:b", ""));
        assert_eq!(read(r#"{"uri":"a:b","text":null,"blob":"AA=="}"#), ResourceContents::blob("a:b", "AA=="));
        assert!(matches!(read(r#"{"uri":"a:b"}"#), ResourceContents::Other(_)));
        assert!(serde_json::from_str::<ResourceContents>(r#"{"text":"x"}"#).is_err());
    }
}
