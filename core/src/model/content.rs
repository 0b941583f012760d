//! Content blocks: what tools return, prompts say and models read.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Annotations, Meta, Resource, ResourceContents, wire};
use crate::json::{Json, RawText};

/// One block of a tool's result or of a prompt's message.
///
/// ```
/// use windlass::model::ContentBlock;
///
/// let block: ContentBlock = serde_json::from_str(r#"{"type":"text","text":"22 °C"}"#)?;
/// assert_eq!(block, ContentBlock::text("22 °C"));
/// // A kind of block that this version does not know is kept as it came.
/// let hologram: ContentBlock = serde_json::from_str(r#"{"type":"hologram","depth":3}"#)?;
/// assert_eq!(serde_json::to_string(&hologram)?, r#"{"type":"hologram","depth":3}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound (2025-03-26).
    Audio(AudioContent),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A resource to be read from the server (2025-06-18).
    ResourceLink(Resource),
    /// A block of a kind that the specification does not list.
    #[serde(untagged)]
    Other(Json),
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture, as base64 text of its bytes.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// Sound, as base64 text of its bytes.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// A resource with its contents.
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// A link to a resource of the server.
    pub fn resource_link(resource: Resource) -> Self {
        Self::ResourceLink(resource)
    }

    /// The text, if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawText::deserialize(deserializer)?;
        Ok(match &*wire::kind(&raw)? {
            "text" => Self::Text(raw.read()?),
            "image" => Self::Image(raw.read()?),
            "audio" => Self::Audio(raw.read()?),
            "resource" => Self::Resource(raw.read()?),
            "resource_link" => Self::ResourceLink(raw.read()?),
            _ => Self::Other((&raw).into()),
        })
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// A text block.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// A block of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), annotations: None, meta: None }
    }
}

setters!(TextContent {
    with_annotations(annotations: Annotations),
    with_meta(meta: Meta),
});

/// A picture.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The bytes, in base64.
    pub data: String,
    /// The media type.
    pub mime_type: String,
    /// Hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ImageContent {
    /// A picture, as base64 text of its bytes.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), annotations: None, meta: None }
    }
}

setters!(ImageContent {
    with_annotations(annotations: Annotations),
    with_meta(meta: Meta),
});

/// Sound (2025-03-26).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioContent {
    /// The bytes, in base64.
    pub data: String,
    /// The media type.
    pub mime_type: String,
    /// Hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl AudioContent {
    /// Sound, as base64 text of its bytes.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), annotations: None, meta: None }
    }
}

setters!(AudioContent {
    with_annotations(annotations: Annotations),
    with_meta(meta: Meta),
});

/// A resource with its contents.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
    /// Hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// A block of these contents.
    pub fn new(contents: impl Into<ResourceContents>) -> Self {
        Self { resource: contents.into(), annotations: None, meta: None }
    }
}

setters!(EmbeddedResource {
    with_annotations(annotations: Annotations),
    with_meta(meta: Meta),
});

/// A model's wish to call a tool, in sampling (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolUseContent {
    /// The id that the result will name.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, a JSON object.
    pub input: Json,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolUseContent {
    /// A call of the tool `name`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Json) -> Self {
        Self { id: id.into(), name: name.into(), input, meta: None }
    }
}

setters!(ToolUseContent { with_meta(meta: Meta), });

/// What a tool that the model called has returned, in sampling (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultContent {
    /// The id of the call.
    pub tool_use_id: String,
    /// What the tool returned.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The same as JSON.
    #[serde(default, deserialize_with = "wire::present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Json>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolResultContent {
    /// The result of the call `tool_use_id`.
    pub fn new(tool_use_id: impl Into<String>, content: impl Into<Vec<ContentBlock>>) -> Self {
        Self {
            tool_use_id: tool_use_id.into(),
            content: content.into(),
            structured_content: None,
            is_error: None,
            meta: None,
        }
    }
}

setters!(ToolResultContent {
    with_structured_content(structured_content: Json),
    with_is_error(is_error: bool),
    with_meta(meta: Meta),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TextResourceContents;
    use alloc::vec;

    #[test]
    fn every_kind_of_block_reads_back() {
        let mut meta = Meta::new();
        meta.insert("x", &[1.5, 2.0]).unwrap();
        let blocks = vec![
            ContentBlock::Text(TextContent::new("a").with_meta(meta)),
            ContentBlock::image("AAAA", "image/png"),
            ContentBlock::audio("AAAA", "audio/wav"),
            ContentBlock::resource(TextResourceContents::new("file:///a", "text")),
            ContentBlock::resource_link(Resource::new("file:///a", "a")),
            ContentBlock::Other(Json::parse(r#"{"x": 1.0, "type":"new"}"#).unwrap()),
        ];
        let text = serde_json::to_string(&blocks).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"[{"type":"text","text":"a","_meta":{"x":[1.5,2.0]}},"#,
                r#"{"type":"image","data":"AAAA","mimeType":"image/png"},"#,
                r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"},"#,
                r#"{"type":"resource","resource":{"uri":"file:///a","text":"text"}},"#,
                r#"{"type":"resource_link","uri":"file:///a","name":"a"},"#,
                r#"{"x": 1.0, "type":"new"}]"#,
            )
        );
        assert_eq!(serde_json::from_str::<Vec<ContentBlock>>(&text).unwrap(), blocks);
        assert_eq!(serde_json::from_slice::<Vec<ContentBlock>>(text.as_bytes()).unwrap(), blocks);
    }

    #[test]
    fn a_known_kind_must_have_its_members() {
        for text in [r#"{"type":"text"}"#, r#"{"text":"a"}"#, r#"{"type":7,"text":"a"}"#, "null", r#""a""#] {
            assert!(serde_json::from_str::<ContentBlock>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_tag_may_be_escaped_and_last() {
        let block: ContentBlock = serde_json::from_str(r#"{"text":"a","type":"te\u0078t"}"#).unwrap();
        assert_eq!(block, ContentBlock::text("a"));
    }
}
