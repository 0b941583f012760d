//! A tool that asks the user.

use serde::Deserialize;
use windlass::model::{
    CallToolResult, ElicitAction, ElicitFormParams, StringSchema, Tool, ToolAnnotations, UntitledSingleSelectEnumSchema,
};
use windlass::server::HandlerError;
use windlass_host::Context;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {}

pub(crate) fn definition() -> Tool {
    Tool::without_arguments("greet")
        .with_title("Greet")
        .with_description("Asks the user for a name, and greets")
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true).with_open_world_hint(false))
}

pub(crate) fn run(context: &Context, _: &Arguments) -> Result<CallToolResult, HandlerError> {
    let style = UntitledSingleSelectEnumSchema::new(["plain", "warm", "nautical"]).with_title("Style");
    let form = ElicitFormParams::new("How would you like to be greeted?")
        .with_required_property("name", StringSchema::new().with_title("Name").with_min_length(1).with_max_length(100))
        .with_property("style", style);
    let answer = context.elicit("greeting", form)?;
    let content = answer.content.unwrap_or_default();
    let (name, style) = (content.get::<String>("name"), content.get::<String>("style"));
    Ok(match (answer.action, name) {
        (ElicitAction::Accept, Some(name)) => CallToolResult::text(greeting(&name, style.as_deref())),
        (ElicitAction::Accept, None) => CallToolResult::error("the answer has no name in it"),
        _ => CallToolResult::text("Hello, whoever you are. (No name was given.)"),
    })
}

fn greeting(name: &str, style: Option<&str>) -> String {
    match style {
        Some("warm") => format!("How good to see you, {name}!"),
        Some("nautical") => format!("Ahoy, {name}! Welcome aboard."),
        _ => format!("Hello, {name}."),
    }
}
