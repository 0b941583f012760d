//! The resources, prompts and completions.

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::json;

use super::Context;
use super::asking::{Asked, ask, failed, form};

/// Few enough that the listings take several pages.
const PAGE: usize = 3;

/// One page of a listing, and where the next one begins.
pub(super) fn page<E>(
    all: Vec<E>,
    request: Option<PaginatedRequestParams>,
) -> Result<(Vec<E>, Option<String>), ErrorData> {
    let start = match request.and_then(|request| request.cursor) {
        None => 0,
        Some(cursor) => cursor.parse().map_err(|_| ErrorData::invalid_params("no such cursor", None))?,
    };
    let next = start + PAGE;
    let is_last = next >= all.len();
    Ok((all.into_iter().skip(start).take(PAGE).collect(), (!is_last).then(|| next.to_string())))
}

pub(super) fn resources() -> Vec<Resource> {
    let mut resources = vec![
        Resource::new("test://item", "item").with_title("An item").with_mime_type("text/plain").with_size(8),
        Resource::new("test://pixel", "pixel").with_mime_type("image/png"),
        Resource::new("test://secret", "secret"),
    ];
    resources.extend((0..4).map(|number| Resource::new(format!("test://number/{number}"), format!("number {number}"))));
    resources
}

pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate::new("test://number/{number}", "number").with_description("Any number")]
}

pub(super) async fn read(
    request: ReadResourceRequestParams,
    context: Context,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri.as_str();
    let contents = match uri {
        "test://item" => ResourceContents::text("the item", uri).with_mime_type("text/plain"),
        "test://pixel" => ResourceContents::blob("iVBORw0KGgo=", uri).with_mime_type("image/png"),
        "test://secret" => {
            let question = form("The password?", "name");
            match ask(&context, request.input_responses.as_ref(), "password", question).await? {
                Asked::Answer(answer) => ResourceContents::text(format!("the secret of {}", named(&answer)), uri),
                Asked::Open(open) => return Ok(open.into()),
            }
        }
        _ => match uri.strip_prefix("test://number/") {
            Some(number) => ResourceContents::text(number, uri),
            None => return Err(ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))),
        },
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}

pub(super) fn prompts() -> Vec<Prompt> {
    let name = PromptArgument::new("name").with_description("Whom to greet").with_required(true);
    vec![
        Prompt::new("greeting", Some("Greets somebody"), Some(vec![name])),
        Prompt::new("question", None::<String>, None).with_title("Asks the user first"),
    ]
}

pub(super) async fn prompt(request: GetPromptRequestParams, context: Context) -> Result<GetPromptResponse, ErrorData> {
    let text = match request.name.as_str() {
        "greeting" => {
            let name =
                request.arguments.as_ref().and_then(|arguments| arguments.get("name")).and_then(|it| it.as_str());
            let name = name.ok_or_else(|| ErrorData::invalid_params("a name is required", None))?;
            format!("Hello, {name}!")
        }
        "question" => {
            let question = form("Your name?", "name");
            match ask(&context, request.input_responses.as_ref(), "name", question).await? {
                Asked::Answer(answer) => format!("I am {}.", named(&answer)),
                Asked::Open(open) => return Ok(open.into()),
            }
        }
        _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description("A prompt").into())
}

pub(super) fn complete(request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let known = match &request.r#ref {
        Reference::Prompt(prompt) if prompt.name == "greeting" => ["Ada", "Alan", "Grace"],
        Reference::Resource(resource) if resource.uri == "test://number/{number}" => ["1", "12", "2"],
        _ => return Err(ErrorData::invalid_params("nothing to complete", None)),
    };
    let values = known.into_iter().filter(|value| value.starts_with(&request.argument.value)).map(str::to_owned);
    Ok(CompleteResult::new(CompletionInfo::with_all_values(values.collect()).map_err(failed)?))
}

/// The name in an answer to a form, or what the user did instead.
pub(super) fn named(answer: &serde_json::Value) -> String {
    let name = answer["content"]["name"].as_str().or(answer["action"].as_str());
    name.unwrap_or("nobody").to_owned()
}
