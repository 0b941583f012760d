//! What the handlers hand out and ask for, whatever they run on.

use windlass::Json;
use windlass::model::*;

/// One red dot, in Base64.
pub(crate) const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A moment of silence, in Base64.
pub(crate) const AUDIO: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/// Arguments that nobody looks at.
#[derive(serde::Deserialize)]
pub(crate) struct Anything {}

/// A tool that takes no arguments.
pub(crate) fn tool(name: &str, description: &str) -> Tool {
    tool_with(name, description, r#"{"type":"object","properties":{}}"#)
}

/// A tool with this schema, which is listed to the letter.
pub(crate) fn tool_with(name: &str, description: &str, schema: &str) -> Tool {
    Tool::new(name, Json::parse(schema).expect("the schema is well-formed")).with_description(description)
}

/// A picture.
pub(crate) fn image() -> ContentBlock {
    ContentBlock::Image(ImageContent::new(IMAGE, "image/png"))
}

/// A resource within a result or a message.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    let contents = TextResourceContents::new(uri, text).with_mime_type(mime_type);
    ContentBlock::Resource(EmbeddedResource::new(contents))
}

/// A schema that uses much of JSON Schema 2020-12. The suite looks for `$anchor`, for `anyOf` within `allOf`, and for
/// the condition.
pub(crate) const SCHEMA_2020_12: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
        }
    },
    "properties": {
        "name": { "type": "string" },
        "address": { "$ref": "#/$defs/address" },
        "contactMethod": { "type": "string", "enum": ["phone", "email"] },
        "phone": { "type": "string" },
        "email": { "type": "string" }
    },
    "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
    "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
    "then": { "required": ["phone"] },
    "else": { "required": ["email"] },
    "additionalProperties": false
}"##;

/// A schema whose one argument travels in a header, too.
pub(crate) const SCHEMA_WITH_HEADER: &str =
    r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;

/// A form with one text to fill in.
pub(crate) fn form(message: &str, property: &str) -> ElicitFormParams {
    ElicitFormParams::new(message).with_required_property(property, StringSchema::new())
}

/// A form with one box to tick.
pub(crate) fn confirmation(message: &str) -> ElicitFormParams {
    ElicitFormParams::new(message).with_required_property("ok", BooleanSchema::new())
}

/// A form with a default of every kind (SEP-1034).
pub(crate) fn form_with_defaults() -> ElicitFormParams {
    let statuses = UntitledSingleSelectEnumSchema::new(["active", "inactive", "pending"]);
    ElicitFormParams::new("Please review and update the form fields with defaults")
        .with_property("name", StringSchema::new().with_description("User name").with_default("John Doe"))
        .with_property("age", NumberSchema::integer().with_description("User age").with_default(30.0))
        .with_property("score", NumberSchema::number().with_description("User score").with_default(95.5))
        .with_property("status", statuses.with_description("User status").with_default("active"))
        .with_property("verified", BooleanSchema::new().with_description("Verification status").with_default(true))
}

/// A form with a choice of every kind (SEP-1330).
pub(crate) fn form_with_choices() -> ElicitFormParams {
    let plain = ["option1", "option2", "option3"];
    let titled = [
        EnumOption::new("value1", "First Option"),
        EnumOption::new("value2", "Second Option"),
        EnumOption::new("value3", "Third Option"),
    ];
    let names = ["Option One", "Option Two", "Option Three"].map(String::from);
    let legacy = UntitledSingleSelectEnumSchema::new(["opt1", "opt2", "opt3"]).with_enum_names(names);
    ElicitFormParams::new("Please select options from the enum fields")
        .with_property("untitledSingle", UntitledSingleSelectEnumSchema::new(plain))
        .with_property("titledSingle", TitledSingleSelectEnumSchema::new(titled.clone()))
        .with_property("legacyEnum", legacy)
        .with_property("untitledMulti", UntitledMultiSelectEnumSchema::new(plain).with_min_items(1).with_max_items(3))
        .with_property("titledMulti", TitledMultiSelectEnumSchema::new(titled).with_min_items(1).with_max_items(3))
}

/// A question to the client's model.
pub(crate) fn question(text: &str) -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::user(text)], 100)
}

/// What the user did, in words.
pub(crate) fn told(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref().and_then(|content| Json::of(content).ok());
    let content = content.unwrap_or_else(Json::empty_object);
    format!("action={}, content={content}", answer.action)
}

/// What the user wrote into a field.
pub(crate) fn filled_in(answer: &ElicitResult, property: &str) -> String {
    answer.content.as_ref().and_then(|content| content.get(property)).unwrap_or_else(|| "nobody".into())
}

/// What the model wrote.
pub(crate) fn written(answer: &CreateMessageResult) -> String {
    let texts = answer.content.blocks().iter().filter_map(|block| match block {
        SamplingContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}
