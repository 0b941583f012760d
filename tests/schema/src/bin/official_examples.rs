//! `official_examples FOLDER`: reads each official example into our type for it, writes it again, and compares.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::RpcError;
use windlass::model::*;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: official_examples FOLDER");
        return ExitCode::FAILURE;
    };
    match run(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder has a folder for each definition, with its examples.
fn run(folder: &Path) -> Result<(), String> {
    let (definitions, mut examples, mut wrong) = (entries(folder)?, 0, 0);
    for definition in &definitions {
        let name = definition.file_name().unwrap_or_default().to_string_lossy();
        for path in entries(definition)? {
            examples += 1;
            if let Err(reason) = fs::read_to_string(&path).map_err(text).and_then(|example| compare(&name, &example)) {
                wrong += 1;
                eprintln!("{name}/{}\n  {reason}", path.file_name().unwrap_or_default().to_string_lossy());
            }
        }
    }
    println!(
        "official examples: {examples} of {} definitions, {} come back as they were",
        definitions.len(),
        examples - wrong
    );
    match (examples, wrong) {
        (0, _) => Err("there are no examples".to_owned()),
        (_, 0) => Ok(()),
        _ => Err(format!("{wrong} examples do not come back as they were")),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry.map_err(text)?.path())).collect::<Result<Vec<_>, String>>()?;
    paths.sort();
    Ok(paths)
}

fn compare(definition: &str, example: &str) -> Result<(), String> {
    let expected: Value = serde_json::from_str(example).map_err(text)?;
    let written = write_again(definition, example, &expected)?;
    if written == expected { Ok(()) } else { Err(format!("expected {expected}\n  wrote    {written}")) }
}

/// The example as we write it.
fn write_again(definition: &str, example: &str, parsed: &Value) -> Result<Value, String> {
    if let Some(again) = plain_type(definition) {
        return again(example);
    }
    // The engine reads and writes frames by hand, so of these the part that is a type of ours goes through it.
    let mut frame = parsed.clone();
    let mut part = |name: &str, again: Again| {
        if let Some(part) = frame.get_mut(name) {
            *part = again(&part.to_string())?;
        }
        Ok(frame.clone())
    };
    if definition.ends_with("Error") {
        return part("error", again::<RpcError>);
    }
    if let Some(result) = definition.strip_suffix("Response").and_then(plain_type) {
        return part("result", result);
    }
    match parsed["method"].as_str().and_then(params_type) {
        Some(params) => part("params", params),
        None => Err("no type of ours is known for this".to_owned()),
    }
}

/// Reads and writes again.
type Again = fn(&str) -> Result<Value, String>;

/// The types that are there as such.
fn plain_type(definition: &str) -> Option<Again> {
    Some(match definition {
        "AudioContent" | "ImageContent" | "TextContent" | "EmbeddedResource" | "ResourceLink" => {
            |example| again_unless::<ContentBlock>(example, |block| matches!(block, ContentBlock::Other(_)))
        }
        "ToolResultContent" | "ToolUseContent" => {
            |example| again_unless::<SamplingContentBlock>(example, |it| matches!(it, SamplingContentBlock::Other(_)))
        }
        "BlobResourceContents" | "TextResourceContents" => {
            |example| again_unless::<ResourceContents>(example, |it| matches!(it, ResourceContents::Other(_)))
        }
        "BooleanSchema"
        | "NumberSchema"
        | "StringSchema"
        | "TitledMultiSelectEnumSchema"
        | "TitledSingleSelectEnumSchema"
        | "UntitledMultiSelectEnumSchema"
        | "UntitledSingleSelectEnumSchema" => {
            |example| again_unless::<PropertySchema>(example, |it| matches!(it, PropertySchema::Other(_)))
        }
        "ElicitRequestFormParams" | "ElicitRequestURLParams" => {
            |example| again_unless::<ElicitParams>(example, |it| matches!(it, ElicitParams::Other(_)))
        }
        "CallToolRequestParams" => again::<CallToolParams>,
        "CallToolResult" => again_result::<CallToolResult>,
        "CancelledNotificationParams" => again::<CancelledParams>,
        "ClientCapabilities" => again::<ClientCapabilities>,
        "CompleteRequestParams" => again::<CompleteParams>,
        "CompleteResult" => again_result::<CompleteResult>,
        "CreateMessageRequest" | "ElicitRequest" => again::<InputRequest>,
        "ListRootsRequest" => again_with_stray_id::<InputRequest>,
        "CreateMessageRequestParams" => again::<CreateMessageParams>,
        "CreateMessageResult" => again::<CreateMessageResult>,
        "DiscoverResult" => again_result::<DiscoverResult>,
        "ElicitResult" => again::<ElicitResult>,
        "GetPromptRequestParams" => again::<GetPromptParams>,
        "GetPromptResult" => again_result::<GetPromptResult>,
        "InputRequests" => again::<InputRequests>,
        "InputRequiredResult" => again_result::<InputRequiredResult>,
        "InputResponses" => again::<InputResponses>,
        "InternalError" | "InvalidParamsError" | "MethodNotFoundError" | "ParseError" => again::<RpcError>,
        "ListPromptsResult" => again_result::<ListPromptsResult>,
        "ListResourceTemplatesResult" => again_result::<ListResourceTemplatesResult>,
        "ListResourcesResult" => again_result::<ListResourcesResult>,
        "ListRootsResult" => again::<ListRootsResult>,
        "ListToolsResult" => again_result::<ListToolsResult>,
        "LoggingMessageNotificationParams" => again::<LoggingMessageParams>,
        "ModelPreferences" => again::<ModelPreferences>,
        "PaginatedRequestParams" => again::<PaginatedParams>,
        "ProgressNotificationParams" => again::<ProgressParams>,
        "ReadResourceResult" => again_result::<ReadResourceResult>,
        "Resource" => again::<Resource>,
        "ResourceUpdatedNotificationParams" => again::<ResourceUpdatedParams>,
        "Root" => again::<Root>,
        "SamplingMessage" => again::<SamplingMessage>,
        "ServerCapabilities" => again::<ServerCapabilities>,
        "SubscriptionsListenResult" => again_result::<SubscriptionsListenResult>,
        "Tool" => again::<Tool>,
        _ => return None,
    })
}

/// The parameters of requests and notifications.
fn params_type(method: &str) -> Option<Again> {
    fn of_request<M: Method>() -> (&'static str, Again) {
        (M::NAME, again::<M::Params>)
    }
    fn of_notification<N: Notice>() -> (&'static str, Again) {
        (N::NAME, again::<N::Params>)
    }
    let methods = [
        of_request::<CallTool>(),
        of_request::<Complete>(),
        of_request::<Discover>(),
        of_request::<GetPrompt>(),
        of_request::<ListPrompts>(),
        of_request::<ListResourceTemplates>(),
        of_request::<ListResources>(),
        of_request::<ListTools>(),
        of_request::<Listen>(),
        of_request::<ReadResource>(),
        of_notification::<Cancelled>(),
        of_notification::<LoggingMessage>(),
        of_notification::<Progress>(),
        of_notification::<PromptListChanged>(),
        of_notification::<ResourceListChanged>(),
        of_notification::<ResourceUpdated>(),
        of_notification::<SubscriptionsAcknowledged>(),
        of_notification::<ToolListChanged>(),
    ];
    methods.into_iter().find(|(name, _)| *name == method).map(|(_, again)| again)
}

fn again<T: Serialize + DeserializeOwned>(example: &str) -> Result<Value, String> {
    again_unless::<T>(example, |_| false)
}

/// The same for a result, whose `resultType` the engine reads and writes beside the type.
fn again_result<T: Serialize + DeserializeOwned>(example: &str) -> Result<Value, String> {
    let mut written = again::<T>(example)?;
    if let Value::Object(head) = again::<ResultHead>(example)? {
        written.as_object_mut().ok_or("the result is no object")?.extend(head);
    }
    Ok(written)
}

/// The same for an example that has kept the id which its definition lost when it moved into results.
fn again_with_stray_id<T: Serialize + DeserializeOwned>(example: &str) -> Result<Value, String> {
    let mut written = again::<T>(example)?;
    let parsed: Value = serde_json::from_str(example).map_err(text)?;
    written["id"] = parsed["id"].clone();
    Ok(written)
}

/// The same for a type that takes anything: it should have recognised the example, wherever it is read from.
fn again_unless<T: Serialize + DeserializeOwned>(example: &str, is_other: fn(&T) -> bool) -> Result<Value, String> {
    /// Read by way of a buffer of serde's.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Buffered<T> {
        It(T),
    }

    let Buffered::It(buffered) = serde_json::from_str(example).map_err(text)?;
    let values: [T; 4] = [
        serde_json::from_str(example).map_err(text)?,
        serde_json::from_reader(example.as_bytes()).map_err(text)?,
        serde_json::from_str(example).and_then(serde_json::from_value::<T>).map_err(text)?,
        buffered,
    ];
    if values.iter().any(is_other) {
        return Err("it is not recognised".to_owned());
    }
    let written = |value: &T| serde_json::to_string(value).and_then(|json| serde_json::from_str(&json)).map_err(text);
    let [first, others @ ..] = values.each_ref().map(written);
    match others.into_iter().find(|other| *other != first) {
        None => first,
        Some(other) => Err(format!("it depends on where it is read from: {first:?}, {other:?}")),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
