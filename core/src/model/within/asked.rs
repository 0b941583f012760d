//! What a server asks of its client, and what it is answered: messages of a model, forms and pages for the user, roots.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitUrlParams, EnumOption,
    InputRequest, ListRootsResult, PropertySchema, ProtocolVersion, SamplingContent, SamplingContentBlock,
    SamplingMessage, StringSchema, UntitledSingleSelectEnumSchema,
};
use super::content::in_words;
use super::{ALL_CONTENT, Within};

impl Within for InputRequest {
    fn keep_within(&mut self, version: ProtocolVersion) {
        match self {
            Self::Elicit(ElicitParams::Form(form)) => form.keep_within(version),
            Self::Elicit(ElicitParams::Url(page)) => page.keep_within(version),
            Self::Sample(params) => params.keep_within(version),
            Self::Elicit(ElicitParams::Other(_)) | Self::Roots(_) | Self::Other { .. } => {}
        }
    }
}

impl Within for CreateMessageParams {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_core_tasks() {
            self.task = None;
        }
        if version.has_sampling_tools() {
            self.tools.as_deref_mut().unwrap_or_default().keep_within(version);
        } else {
            self.tools = None;
            self.tool_choice = None;
            // A message has one block, so one with several becomes several.
            let messages = core::mem::take(&mut self.messages);
            self.messages = messages.into_iter().flat_map(one_block_each).collect();
        }
        self.messages.keep_within(version);
    }
}

fn one_block_each(message: SamplingMessage) -> impl Iterator<Item = SamplingMessage> {
    let SamplingMessage { role, content, .. } = message;
    let blocks = match content {
        SamplingContent::Single(block) => alloc::vec![block],
        SamplingContent::Multiple(blocks) => blocks,
    };
    blocks.into_iter().map(move |block| SamplingMessage::new(role.clone(), block))
}

impl Within for CreateMessageResult {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if let SamplingContent::Multiple(blocks) = &mut self.content {
            if !version.has_sampling_tools() {
                self.content = SamplingContent::Single(one_block(core::mem::take(blocks)));
            }
        }
        self.content.keep_within(version);
    }
}

/// What several blocks say, in one: their texts, or the first if it is the only one or none is text.
fn one_block(mut blocks: Vec<SamplingContentBlock>) -> SamplingContentBlock {
    let texts: Vec<_> = blocks.iter().filter_map(SamplingContentBlock::as_text).collect();
    if blocks.len() == 1 || (texts.is_empty() && !blocks.is_empty()) {
        return blocks.swap_remove(0);
    }
    SamplingContentBlock::text(texts.join("\n"))
}

impl Within for ListRootsResult {
    fn keep_within(&mut self, version: ProtocolVersion) {
        for root in &mut self.roots {
            root.meta.keep_within(version);
        }
    }
}

impl Within for SamplingMessage {
    fn keep_within(&mut self, version: ProtocolVersion) {
        self.content.keep_within(version);
    }
}

impl Within for SamplingContent {
    fn keep_within(&mut self, version: ProtocolVersion) {
        match self {
            Self::Single(block) => block.keep_within(version),
            Self::Multiple(blocks) => blocks.keep_within(version),
        }
    }
}

impl Within for SamplingContentBlock {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if let Self::Audio(audio) = self {
            if !version.has_audio() {
                *self = Self::Text(in_words(audio.words(version), &mut audio.annotations));
            }
        }
        let (annotations, meta) = match self {
            Self::Text(block) => (&mut block.annotations, &mut block.meta),
            Self::Image(block) => (&mut block.annotations, &mut block.meta),
            Self::Audio(block) => (&mut block.annotations, &mut block.meta),
            Self::ToolResult(result) => return result.keep_within(version),
            Self::ToolUse(_) | Self::Other(_) => return,
        };
        annotations.keep_within(version);
        meta.keep_within(version);
    }
}

impl Within for ElicitUrlParams {
    fn keep_within(&mut self, version: ProtocolVersion) {
        // An id that the program gave stays in the modern era, which has none: there are clients that cannot do without one.
        if !version.has_core_tasks() {
            self.task = None;
        }
    }
}

impl Within for ElicitFormParams {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_core_tasks() {
            self.task = None;
        }
        if version < ALL_CONTENT {
            self.mode = None;
            self.requested_schema.dialect = None;
            for (_, property) in &mut self.requested_schema.properties {
                property.keep_within(version);
            }
        }
    }
}

/// 2025-06-18 has one choice of several values, whose titles stand apart, and no values to start with but of booleans.
impl Within for PropertySchema {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if version >= ALL_CONTENT {
            return;
        }
        match self {
            Self::String(schema) => schema.default = None,
            Self::Number(schema) => schema.default = None,
            Self::UntitledSingleSelect(schema) => schema.default = None,
            Self::TitledSingleSelect(schema) => {
                let (values, titles) = parted(core::mem::take(&mut schema.one_of));
                let mut older = UntitledSingleSelectEnumSchema::new(values).with_enum_names(titles);
                older.title = schema.title.take();
                older.description = schema.description.take();
                *self = Self::UntitledSingleSelect(older);
            }
            Self::UntitledMultiSelect(schema) => {
                let values = schema.items.r#enum.join(", ");
                *self = listed(schema.title.take(), schema.description.take(), &values);
            }
            Self::TitledMultiSelect(schema) => {
                let explained = |option: &EnumOption| alloc::format!("{} ({})", option.r#const, option.title);
                let values = schema.items.any_of.iter().map(explained).collect::<Vec<_>>().join(", ");
                *self = listed(schema.title.take(), schema.description.take(), &values);
            }
            Self::Boolean(_) | Self::Other(_) => {}
        }
    }
}

fn parted(options: Vec<EnumOption>) -> (Vec<String>, Vec<String>) {
    options.into_iter().map(|option| (option.r#const, option.title)).unzip()
}

/// Text takes the place of a choice of several: [`ElicitContent::choices`](super::super::ElicitContent::choices) reads
/// either.
fn listed(title: Option<String>, description: Option<String>, values: &str) -> PropertySchema {
    let mut text = StringSchema::new();
    text.title = title;
    let before = description.map_or_else(String::new, |description| description + " ");
    text.description = Some(alloc::format!("{before}Any of these, with commas between them: {values}"));
    PropertySchema::String(text)
}
