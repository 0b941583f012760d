//! Scenarios about what is repeated in HTTP headers (SEP-2243).

use serde::Deserialize;
use serde_json::json;

use super::adapter::Json;
use super::adapter::model::GetPromptParams;
use super::perform::{client, target};
use crate::task::expect;

// The server looks at every request, so this client makes one of every kind.
scenario!(standard, |task| {
    let client = wait!(client(task).connect(target(task)?))?;
    for tool in wait!(client.list_tools())? {
        wait!(client.call_tool(&tool.name, json!({})))?;
    }
    for resource in wait!(client.list_resources())? {
        wait!(client.read_resource(&resource.uri))?;
    }
    for prompt in wait!(client.list_prompts())? {
        wait!(client.get_prompt(GetPromptParams::new(prompt.name)))?;
    }
    wait!(client.close());
    Ok(())
});

/// The calls that the suite wants to see.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Json,
}

scenario!(custom, |task| {
    let wanted: Wanted = task.context()?;
    let client = wait!(client(task).connect(target(task)?))?;
    // What travels in headers is told by the tools' schemas.
    let tools = wait!(client.list_tools())?;
    for call in wanted.tool_calls {
        expect("that the tool is listed", tools.iter().any(|tool| tool.name == call.name))?;
        wait!(client.call_tool(&call.name, &call.arguments))?;
    }
    wait!(client.close());
    Ok(())
});

// Whatever is listed is called: tools whose headers cannot be made must not even be seen.
scenario!(invalid, |task| {
    let client = wait!(client(task).connect(target(task)?))?;
    for tool in wait!(client.list_tools())? {
        wait!(client.call_tool(&tool.name, json!({ "region": "us-west1" })))?;
    }
    wait!(client.close());
    Ok(())
});
