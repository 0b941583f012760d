//! Scenarios about the schemas of tools.

use serde_json::json;

use super::perform::{client, target};
use crate::task::expect;

// One schema refers to something on the network, which nobody may fetch. The server offers nothing but the list.
scenario!(references, |task| {
    let client = wait!(client(task).connect(target(task)?))?;
    let tools = wait!(client.list_tools())?;
    expect("that there is a tool", tools.iter().any(|tool| tool.name == "lookup_user"))?;
    wait!(client.close());
    Ok(())
});

scenario!(preservation, |task| {
    let client = wait!(client(task).connect(target(task)?))?;
    let tools = wait!(client.list_tools())?;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let tool = tool.ok_or("the tool with the schema is not listed")?;
    wait!(client.call_tool("json_schema_echo", json!({ "schema": tool.input_schema })))?;
    wait!(client.close());
    Ok(())
});
