//! What the client's user and model answer.

use std::time::Duration;

use serde_json::json;
use windlass::client::InputResponse;
use windlass::model::{
    CreateMessageResult, ElicitContent, ElicitParams, ElicitResult, InputRequest, ListRootsResult, ProtocolVersion,
    Root, SamplingContent, SamplingContentBlock, StopReason, ToolUseContent,
};
use windlass::{Json, RpcError};
use windlass_sim::{InputAnswer, Random};

/// An answer to a request: usually soon, sometimes late, sometimes a failure.
pub(super) fn answer(request: &InputRequest, version: ProtocolVersion, random: &mut Random) -> InputAnswer {
    let response = respond(request, version, random);
    match random.between(0, 9) {
        0 => InputAnswer::Later,
        1 => InputAnswer::After(Duration::from_millis(random.between(1, 2000)), Ok(response)),
        2 => InputAnswer::Now(Err(RpcError::internal("no window to ask in"))),
        _ => InputAnswer::Now(Ok(response)),
    }
}

fn respond(request: &InputRequest, version: ProtocolVersion, random: &mut Random) -> InputResponse {
    match request {
        InputRequest::Elicit(params) => match random.between(0, 3) {
            0 => ElicitResult::decline().into(),
            1 => ElicitResult::cancel().into(),
            _ if matches!(params, ElicitParams::Form(_)) => ElicitResult::accept(filled_in(version)).into(),
            _ => ElicitResult::new("accept".into()).into(),
        },
        InputRequest::Sample(_) => said(version, random).into(),
        _ => ListRootsResult::new([Root::new("file:///home/ada").with_name("Home")]).into(),
    }
}

fn filled_in(version: ProtocolVersion) -> ElicitContent {
    let mut values =
        vec![("mail", json!("ada@example.com")), ("number", json!(1.5)), ("count", json!(2)), ("agreed", json!(false))];
    if version >= ProtocolVersion::V2025_11_25 {
        values.push(("sizes", json!(["s", "l"])));
    }
    let mut content = ElicitContent::new();
    for (name, value) in values {
        content.insert(name, &value).expect("it is JSON");
    }
    content
}

fn said(version: ProtocolVersion, random: &mut Random) -> CreateMessageResult {
    let text = SamplingContentBlock::text("Rain.");
    if version.has_sampling_tools() && random.one_in(2) {
        let used = ToolUseContent::new("use-2", "weather", Json::from(json!({"city": "Bern"})));
        let blocks = SamplingContent::Multiple(vec![text, SamplingContentBlock::ToolUse(used)]);
        return CreateMessageResult::new("a-model", blocks).with_stop_reason(StopReason::ToolUse);
    }
    CreateMessageResult::new("a-model", text).with_stop_reason(StopReason::EndTurn)
}
