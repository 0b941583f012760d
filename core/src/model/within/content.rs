//! Content blocks, and the results that are made of them.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::{
    Annotations, AudioContent, CallToolResult, ContentBlock, GetPromptResult, ProtocolVersion, ReadResourceResult,
    Resource, ResourceContents, TextContent, ToolResultContent,
};
use super::{ALL_CONTENT, Within};
use crate::json::Json;

impl Within for CallToolResult {
    /// Most calls end here, and most have nothing to do.
    #[inline]
    fn keep_within(&mut self, version: ProtocolVersion) {
        if version < ALL_CONTENT || self.structured_content.is_some() {
            self.leave_out(version);
        }
    }
}

impl CallToolResult {
    fn leave_out(&mut self, version: ProtocolVersion) {
        if let Some(structured) = left_out(&mut self.structured_content, version) {
            say(&mut self.content, &structured);
        }
        if version < ALL_CONTENT {
            self.content.keep_within(version);
        }
    }
}

impl Within for ToolResultContent {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if let Some(structured) = left_out(&mut self.structured_content, version) {
            say(&mut self.content, &structured);
        }
    }
}

/// Takes out structured content that the revision has no place for: at first there was none, then only objects.
fn left_out(structured: &mut Option<Json>, version: ProtocolVersion) -> Option<Json> {
    let fits = |content: &Json| {
        version.allows_any_structured_content() || version.has_structured_output() && content.as_text().is_object()
    };
    if structured.as_ref().is_none_or(fits) { None } else { structured.take() }
}

/// Nothing is lost: what cannot be said as JSON is said as its text, if no block does so already.
fn say(content: &mut Vec<ContentBlock>, structured: &Json) {
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let says_it = |text: &str| {
        text == structured.as_str() || value(text).is_some_and(|said| value(structured.as_str()) == Some(said))
    };
    if !content.iter().filter_map(ContentBlock::as_text).any(says_it) {
        content.push(ContentBlock::text(structured.as_str()));
    }
}

impl Within for GetPromptResult {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if version < ALL_CONTENT {
            for message in &mut self.messages {
                message.content.keep_within(version);
            }
        }
    }
}

impl Within for ReadResourceResult {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_caching() {
            self.ttl_ms = None;
            self.cache_scope = None;
        }
        if version < ALL_CONTENT {
            self.contents.keep_within(version);
        }
    }
}

impl Within for ResourceContents {
    fn keep_within(&mut self, version: ProtocolVersion) {
        match self {
            Self::Text(contents) => contents.meta.keep_within(version),
            Self::Blob(contents) => contents.meta.keep_within(version),
            Self::Other(_) => {}
        }
    }
}

impl Within for ContentBlock {
    fn keep_within(&mut self, version: ProtocolVersion) {
        match self {
            Self::Audio(audio) if !version.has_audio() => {
                *self = Self::Text(in_words(audio.words(version), &mut audio.annotations));
            }
            Self::ResourceLink(resource) if !version.has_resource_links() => {
                *self = Self::Text(in_words(resource.words(version), &mut resource.annotations));
            }
            _ => {}
        }
        let (annotations, meta) = match self {
            Self::Text(block) => (&mut block.annotations, &mut block.meta),
            Self::Image(block) => (&mut block.annotations, &mut block.meta),
            Self::Audio(block) => (&mut block.annotations, &mut block.meta),
            Self::Resource(block) => {
                block.resource.keep_within(version);
                (&mut block.annotations, &mut block.meta)
            }
            Self::ResourceLink(resource) => return resource.keep_within(version),
            Self::Other(_) => return,
        };
        annotations.keep_within(version);
        meta.keep_within(version);
    }
}

/// A block that says what stood in its place.
pub(super) fn in_words(words: String, annotations: &mut Option<Annotations>) -> TextContent {
    let mut text = TextContent::new(words);
    text.annotations = annotations.take();
    text
}

impl AudioContent {
    pub(super) fn words(&self, version: ProtocolVersion) -> String {
        let padding = self.data.bytes().rev().take_while(|&byte| byte == b'=').count();
        let bytes = (self.data.len() / 4 * 3).saturating_sub(padding);
        alloc::format!("[sound, {}, {bytes} bytes: revision {version} of the protocol cannot carry it]", self.mime_type)
    }
}

impl Resource {
    fn words(&self, version: ProtocolVersion) -> String {
        let name = self.title.as_ref().unwrap_or(&self.name);
        let mut words = alloc::format!("[link to the resource {name:?} at {}", self.uri);
        for more in [&self.mime_type, &self.description].into_iter().flatten() {
            words.push_str(", ");
            words.push_str(more);
        }
        words.push_str(": revision ");
        words.push_str(version.as_str());
        words.push_str(" of the protocol has no links]");
        words
    }
}
