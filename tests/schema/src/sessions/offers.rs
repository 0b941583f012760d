//! A server that offers everything which the revision of its caller has.

use std::time::Duration;

use serde_json::json;
use windlass::model::{
    Annotations, BlobResourceContents, BooleanSchema, CallToolResult, CompleteResult, ContentBlock,
    CreateMessageParams, ElicitFormParams, ElicitUrlParams, EnumOption, Era, GetPromptResult, Icon, IncludeContext,
    LoggingLevel, LoggingMessageParams, ModelPreferences, NumberSchema, Prompt, PromptArgument, PromptMessage,
    ProtocolVersion, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, SamplingContentBlock,
    SamplingMessage, StringFormat, StringSchema, TextContent, TextResourceContents, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, Tool, ToolAnnotations, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use windlass::server::{HandlerError, Registry, Reply};
use windlass::{Json, RpcError};
use windlass_sim::{Handler, ServerMachine, SimContext, handler};

/// The tools, and one that is not there.
pub(super) const TOOLS: [&str; 11] =
    ["content", "structured", "steps", "chatty", "form", "link", "model", "roots", "fails", "refuses", "missing"];

/// The resources: a text, bytes, one by the template, and one that is not there.
pub(super) const URIS: [&str; 4] =
    ["file:///text.txt", "file:///bytes.bin", "file:///notes/x%20y", "file:///missing.txt"];

pub(super) const TEMPLATE: &str = "file:///notes/{name}";

/// "hello", for wherever bytes are wanted.
const BYTES: &str = "aGVsbG8=";

pub(super) fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    add_tools(&mut registry);
    add_resources(&mut registry);
    add_prompts(&mut registry);
    registry
}

/// A change of what the server offers, which subscribers are told of.
pub(super) fn change(machine: &mut ServerMachine, step: u32) {
    let text = || handler(|_| Ok(CallToolResult::text("new").into()));
    match step % 3 {
        0 => machine.registry().add_tool(Tool::without_arguments(format!("tool-{step}")), text()),
        1 => machine.registry().add_prompt(Prompt::new(format!("prompt-{step}")), text()),
        _ => machine.registry().add_resource(Resource::new(format!("file:///{step}"), "new"), text()),
    }
    machine.resource_updated(URIS[0]);
}

fn add_tools(registry: &mut Registry<Handler>) {
    registry.add_tool(described("content"), handler(content));
    let output = json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
    registry.add_tool(
        described("structured").with_output_schema(Json::from(output)),
        handler(|_| Ok(CallToolResult::structured(&json!({"sum": 1.5}))?.into())),
    );
    registry.add_tool(described("steps"), handler(steps));
    registry.add_tool(described("chatty"), handler(chatty));
    registry.add_tool(described("form"), handler(form));
    registry.add_tool(described("link"), handler(link));
    registry.add_tool(described("model"), handler(model));
    registry.add_tool(
        described("roots"),
        handler(|context| {
            let roots = context.asking.roots("roots")?;
            Ok(CallToolResult::text(format!("{} roots", roots.roots.len())).into())
        }),
    );
    registry.add_tool(described("fails"), handler(|_| Err(HandlerError::failed("it went wrong"))));
    registry.add_tool(
        described("refuses"),
        handler(|_| Err(HandlerError::Rpc(RpcError::new(-1, "no").with_data(&json!({"why": [1, null]}))))),
    );
}

/// A tool with everything that can be said of one.
fn described(name: &str) -> Tool {
    let annotations = ToolAnnotations::new()
        .with_title("Its other title")
        .with_read_only_hint(true)
        .with_destructive_hint(false)
        .with_idempotent_hint(true)
        .with_open_world_hint(false);
    let input = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    Tool::new(name, Json::from(input))
        .with_title("Its title")
        .with_description("What it does")
        .with_annotations(annotations)
        .with_icons([Icon::new("https://example.com/icon.svg")])
}

fn add_resources(registry: &mut Registry<Handler>) {
    let text = Resource::new(URIS[0], "text")
        .with_title("A text")
        .with_description("Some text")
        .with_mime_type("text/plain")
        .with_size(8)
        .with_annotations(annotations());
    registry.add_resource(
        text,
        handler(|_| {
            let text = TextResourceContents::new(URIS[0], "the text").with_mime_type("text/plain");
            Ok(ReadResourceResult::new([text.into()]).into())
        }),
    );
    registry.add_resource(
        Resource::new(URIS[1], "bytes"),
        handler(|_| {
            let blob = BlobResourceContents::new(URIS[1], BYTES).with_mime_type("application/octet-stream");
            Ok(ReadResourceResult::new([blob.into()]).into())
        }),
    );
    let template = ResourceTemplate::new(TEMPLATE, "note").with_title("A note").with_annotations(annotations());
    let added =
        registry.add_resource_template(template, handler(|_| Ok(ReadResourceResult::text(URIS[2], "a note").into())));
    added.expect("the template is one");
    registry.add_resource_completion(
        TEMPLATE,
        "name",
        handler(|_| Ok(CompleteResult::new(["x", "y"]).with_total(7).into())),
    );
}

fn annotations() -> Annotations {
    Annotations::new()
        .with_audience([Role::User, Role::Assistant])
        .with_priority(0.5)
        .with_last_modified("2026-07-28T00:00:00Z")
}

fn add_prompts(registry: &mut Registry<Handler>) {
    let prompt = Prompt::new("review")
        .with_title("Review")
        .with_description("Reviews code")
        .with_argument(PromptArgument::required("language").with_title("Language").with_description("Of the code"));
    registry.add_prompt(
        prompt,
        handler(|context| {
            let version = context.invocation.caller.version;
            let messages: Vec<PromptMessage> = blocks(version).into_iter().map(PromptMessage::user).collect();
            Ok(GetPromptResult::new(messages).with_description("What to say").into())
        }),
    );
    registry.add_prompt_completion("review", "language", handler(|_| Ok(CompleteResult::new(["Rust"]).into())));
}

/// Every kind of content that the revision has.
fn blocks(version: ProtocolVersion) -> Vec<ContentBlock> {
    let mut blocks = vec![
        ContentBlock::Text(TextContent::new("text").with_annotations(annotations())),
        ContentBlock::image(BYTES, "image/png"),
        ContentBlock::resource(ResourceContents::text(URIS[0], "the text")),
        ContentBlock::resource(ResourceContents::blob(URIS[1], BYTES)),
    ];
    if version.has_audio() {
        blocks.push(ContentBlock::audio(BYTES, "audio/wav"));
    }
    if version.has_resource_links() {
        blocks.push(ContentBlock::resource_link(Resource::new(URIS[0], "text").with_title("A text")));
    }
    blocks
}

fn content(context: &mut SimContext<'_>) -> Result<Reply, HandlerError> {
    Ok(CallToolResult::new(blocks(context.invocation.caller.version)).into())
}

fn steps(context: &mut SimContext<'_>) -> Result<Reply, HandlerError> {
    let key = context.invocation.key;
    context.progress(0.5, None);
    for step in 1..=3 {
        context.take(Duration::from_secs(1));
        context.server(move |server| server.progress(key, f64::from(step), Some(3.0), Some("going on")));
    }
    Ok(CallToolResult::text("three steps").into())
}

fn chatty(context: &mut SimContext<'_>) -> Result<Reply, HandlerError> {
    let key = context.invocation.key;
    context.log(LoggingLevel::Emergency, "trouble");
    context.server(move |server| {
        let data = Json::from(json!({"detail": [1.5, null]}));
        server.log(Some(key), &LoggingMessageParams::new(LoggingLevel::Warning, data).with_logger("offers"));
        server.log(None, &LoggingMessageParams::text(LoggingLevel::Debug, "of no request"));
    });
    Ok(CallToolResult::text("said").into())
}

fn form(context: &mut SimContext<'_>) -> Result<Reply, HandlerError> {
    let version = context.invocation.caller.version;
    let text = StringSchema::new().with_title("Mail").with_min_length(3).with_max_length(99);
    let number = NumberSchema::number().with_minimum(0.5).with_maximum(9.5);
    let mut form = ElicitFormParams::new("Fill this in")
        .with_required_property("mail", text.with_format(StringFormat::Email))
        .with_property("number", number.with_description("Any"))
        .with_property("count", NumberSchema::integer())
        .with_property("agreed", BooleanSchema::new().with_default(true))
        .with_property("color", UntitledSingleSelectEnumSchema::new(["red", "blue"]).with_title("Color"));
    if version >= ProtocolVersion::V2025_11_25 {
        let options = || [EnumOption::new("s", "Small"), EnumOption::new("l", "Large")];
        form = form
            .with_property("size", TitledSingleSelectEnumSchema::new(options()).with_default("s"))
            .with_property("sizes", TitledMultiSelectEnumSchema::new(options()).with_min_items(1))
            .with_property("colors", UntitledMultiSelectEnumSchema::new(["red", "blue"]).with_max_items(2));
    }
    let answer = context.asking.elicit("form", form)?;
    Ok(CallToolResult::text(answer.action.as_str()).into())
}

fn link(context: &mut SimContext<'_>) -> Result<Reply, HandlerError> {
    let mut link = ElicitUrlParams::new("Log in", "https://example.com/login");
    if context.invocation.caller.version.era() == Era::Legacy {
        link = link.with_elicitation_id("login-1");
    }
    let answer = context.asking.elicit("link", link)?;
    Ok(CallToolResult::text(answer.action.as_str()).into())
}

fn model(context: &mut SimContext<'_>) -> Result<Reply, HandlerError> {
    let preferences = ModelPreferences::new()
        .with_hint("small")
        .with_cost_priority(0.5)
        .with_speed_priority(1.0)
        .with_intelligence_priority(0.0);
    let mut messages = vec![SamplingMessage::user(SamplingContentBlock::text("What is the weather?"))];
    let has_tools = context.invocation.caller.version.has_sampling_tools();
    if has_tools {
        let used = ToolUseContent::new("use-1", "weather", Json::from(json!({"city": "Bern", "day": 1.5})));
        let came = ToolResultContent::new("use-1", [ContentBlock::text("rain")]);
        messages.push(SamplingMessage::assistant(SamplingContentBlock::ToolUse(used)));
        messages.push(SamplingMessage::user(vec![SamplingContentBlock::ToolResult(came)]));
    }
    let mut params = CreateMessageParams::new(messages, 100)
        .with_model_preferences(preferences)
        .with_system_prompt("Be brief")
        .with_include_context(IncludeContext::None)
        .with_temperature(0.5)
        .with_stop_sequences(["END".to_owned()])
        .with_metadata(Json::from(json!({"a": 1.5, "b": null})));
    if has_tools {
        params = params.with_tools([described("weather")]).with_tool_choice(ToolChoice::new(ToolChoiceMode::Auto));
    }
    let answer = context.asking.sample("model", params)?;
    context.asking.keep("asked")?;
    Ok(CallToolResult::text(answer.model).into())
}
