//! Scenarios in which the server asks the user.

use serde_json::json;

use super::adapter::RpcError;
use super::adapter::model::*;
use super::perform::{client, target};
use crate::task::expect;

// The user fills in nothing, so that what the form offers counts. This server asks on the stream that belongs to no
// request, which must be open by then.
scenario!(defaults, |task| {
    let builder = client(task).on_elicit(|params| {
        answer!({
            let ElicitParams::Form(form) = params else { return Err(RpcError::invalid_params("a form was expected")) };
            let mut content = ElicitContent::new();
            apply_defaults(&form.requested_schema, &mut content);
            Ok(ElicitResult::accept(content))
        })
    });
    let client = wait!(builder.connect(target(task)?))?;
    for tool in wait!(client.list_tools())? {
        let result = wait!(client.call_tool(&tool.name, json!({})))?;
        expect("that the user was asked", result.text_content().starts_with("Elicitation completed"))?;
    }
    wait!(client.close());
    Ok(())
});

scenario!(request_state, |task| {
    let builder = client(task).on_elicit(|_| {
        answer!({
            let mut content = ElicitContent::new();
            content.insert("confirmed", &true).map_err(|error| RpcError::internal(error.to_string()))?;
            Ok(ElicitResult::accept(content))
        })
    });
    let client = wait!(builder.connect(target(task)?))?;
    wait!(client.list_tools())?;
    for (tool, answer) in [
        ("test_mrtr_echo_state", "echo-state-ok"),
        ("test_mrtr_unrelated", "unrelated-ok"),
        ("test_mrtr_no_state", "no-state-ok"),
        ("test_mrtr_unrelated", "unrelated-ok"),
        ("test_mrtr_no_result_type", "no-result-type-test-ok"),
    ] {
        let result = wait!(client.call_tool(tool, json!({})))?;
        expect(answer, result.text_content() == answer)?;
    }
    wait!(client.close());
    Ok(())
});
