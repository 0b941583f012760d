//! How a server and what it offers is described.

use super::super::{
    Implementation, InitializeResult, ProgressParams, Prompt, ProtocolVersion, Resource, ResourceTemplate,
    ServerCapabilities, Tool,
};
use super::Within;
use crate::json::{Json, pick};

impl Within for InitializeResult {
    fn keep_within(&mut self, version: ProtocolVersion) {
        self.capabilities.keep_within(version);
        self.server_info.keep_within(version);
    }
}

impl Within for Implementation {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_titles() {
            self.title = None;
        }
        if !version.has_icons() {
            self.description = None;
            self.website_url = None;
            self.icons = None;
        }
    }
}

impl Within for ServerCapabilities {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_completions_capability() {
            self.completions = None;
        }
        if !version.has_core_tasks() {
            self.tasks = None;
        }
        if !version.has_extensions() {
            self.extensions = None;
        }
    }
}

impl Within for Tool {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_core_tasks() {
            self.execution = None;
        }
        if !version.allows_any_structured_content() {
            self.output_schema = self.output_schema.take().filter(describes_object);
        }
        if !version.has_structured_output() {
            self.output_schema = None;
        }
        if !version.has_titles() {
            // 2025-03-26 has a place for it among the hints.
            if let Some(title) = self.title.take().filter(|_| version.has_tool_annotations()) {
                self.annotations.get_or_insert_default().title.get_or_insert(title);
            }
        }
        if !version.has_tool_annotations() {
            self.annotations = None;
        }
        if !version.has_icons() {
            self.icons = None;
        }
        self.meta.keep_within(version);
    }
}

fn describes_object(schema: &Json) -> bool {
    let kind = pick(schema.as_text(), ["type"]).ok().and_then(|[kind]| kind?.as_text());
    kind.is_some_and(|kind| kind == "object")
}

impl Within for Resource {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_titles() {
            self.title = None;
        }
        if !version.has_icons() {
            self.icons = None;
        }
        self.annotations.keep_within(version);
        self.meta.keep_within(version);
    }
}

impl Within for ResourceTemplate {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_titles() {
            self.title = None;
        }
        if !version.has_icons() {
            self.icons = None;
        }
        self.annotations.keep_within(version);
        self.meta.keep_within(version);
    }
}

impl Within for Prompt {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_titles() {
            self.title = None;
            for argument in self.arguments.iter_mut().flatten() {
                argument.title = None;
            }
        }
        if !version.has_icons() {
            self.icons = None;
        }
        self.meta.keep_within(version);
    }
}

impl Within for ProgressParams {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_progress_message() {
            self.message = None;
        }
    }
}
