//! Scenarios about the connection itself.

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::*;
use super::perform::{client, target};
use crate::task::expect;

scenario!(initialize, |task| {
    let client = wait!(client(task).connect(target(task)?))?;
    expect("the revision", client.peer().version == task.version)?;
    wait!(client.close());
    Ok(())
});

scenario!(tools_call, |task| {
    let client = wait!(client(task).connect(target(task)?))?;
    for tool in wait!(client.list_tools())? {
        let result = wait!(client.call_tool(&tool.name, json!({ "a": 2, "b": 3 })))?;
        expect("the sum", result.text_content() == "The sum of 2 and 3 is 5")?;
    }
    wait!(client.close());
    Ok(())
});

// The server ends the answer to the call before the call is answered; the client comes back for it. It speaks an older
// revision than the one that it is offered.
scenario!(sse_retry, |task| {
    let builder = client(task).negotiation(Negotiation::Legacy);
    let client = wait!(builder.connect(target(task)?))?;
    for tool in wait!(client.list_tools())? {
        let result = wait!(client.call_tool(&tool.name, json!({})))?;
        expect("the answer", result.text_content() == "Reconnection test completed successfully")?;
    }
    wait!(client.close());
    Ok(())
});

// The server refuses the first request with the very version that it then takes. It looks at how capabilities are
// declared, so this client declares all there are; it offers nothing itself, so there is nothing else to call.
scenario!(request_metadata, |task| {
    let builder = client(task)
        .on_elicit(|_| answer!({ Ok(ElicitResult::decline()) }))
        .on_sample(|_| answer!({ Ok(CreateMessageResult::new("a-model", "a word")) }))
        .on_roots(|| answer!({ Ok(ListRootsResult::new([])) }));
    let client = wait!(builder.connect(target(task)?))?;
    wait!(client.call_raw("server/discover", &json!({})))?;
    wait!(client.close());
    Ok(())
});
