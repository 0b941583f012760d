//! Faults of the answers to `tools/call` and `tools/list`.
//!
//! - `never_answers_calls` keeps silent.
//! - `answers_after_cancel` answers when the client has cancelled, and not before.
//! - `dies_in_call` says why on standard error and exits.
//! - `half_answer` exits in the middle of its answer.
//! - `unknown_ids` answers ids that were never used, then the call.
//! - `null_ids` gives a result and an error to nobody, then answers.
//! - `string_ids` answers with the id as a string, then as it is.
//! - `answers_twice` answers, and then answers once more.
//! - `member_twice` says `result` twice in its answer.
//! - `lone_surrogate` answers with half a character.
//! - `nesting=LEVELS` answers with a result that is nested so deeply.
//! - `endless_pages=BYTES` lists page after page of this size, each with another cursor.
//! - `slow_pages=MILLISECONDS` lists page after page, each after this long.

use serde_json::{Value, json};

use crate::faults::Faults;
use crate::{addressed, say};

/// Larger than any id that is used.
const UNKNOWN_ID: i64 = 9_000_000_000;

pub(crate) fn call(faults: &Faults, message: &Value) -> Option<Value> {
    let id = &message["id"];
    let right = text_result(&message["params"]["arguments"]["text"]);
    let wrong = || text_result(&"not the answer".into());
    if faults.has("never_answers_calls") || faults.has("answers_after_cancel") {
        return None;
    }
    if faults.has("dies_in_call") {
        eprintln!("out of luck");
        std::process::exit(1);
    }
    if faults.has("half_answer") {
        print!(r#"{{"jsonrpc":"2.0","id":{id},"resu"#);
        std::process::exit(0);
    }
    if faults.has("unknown_ids") {
        for unknown in [json!(UNKNOWN_ID), json!(0), json!(-1), json!("never used")] {
            say(&addressed(wrong(), &unknown).to_string());
        }
    }
    if faults.has("null_ids") {
        say(&addressed(wrong(), &Value::Null).to_string());
        say(&addressed(json!({"error": {"code": -32700, "message": "what?"}}), &Value::Null).to_string());
    }
    if faults.has("string_ids") {
        say(&addressed(wrong(), &id.to_string().into()).to_string());
    }
    if faults.has("answers_twice") {
        say(&addressed(right, id).to_string());
        return Some(wrong());
    }
    if faults.has("member_twice") {
        let (first, second) = (&right["result"], &wrong()["result"]);
        say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{first},"result":{second}}}"#));
        return None;
    }
    if faults.has("lone_surrogate") {
        let result = r#"{"content":[{"type":"text","text":"\ud800"}]}"#;
        say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        return None;
    }
    if let Some(levels) = faults.number("nesting") {
        let (down, up) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{down}1{up}}}"#));
        return None;
    }
    Some(right)
}

pub(crate) fn list(faults: &Faults, message: &Value) -> Option<Value> {
    let mut page = json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]});
    let number: u64 = message["params"]["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or_default();
    if let Some(bytes) = faults.number("endless_pages") {
        page["tools"][0]["description"] = "x".repeat(bytes).into();
        page["nextCursor"] = (number + 1).to_string().into();
    }
    if let Some(milliseconds) = faults.number("slow_pages") {
        std::thread::sleep(std::time::Duration::from_millis(milliseconds as u64));
        page["nextCursor"] = (number + 1).to_string().into();
    }
    Some(json!({ "result": page }))
}

/// What comes too late is all that a client hears of some calls.
pub(crate) fn hear_notification(faults: &Faults, message: &Value) {
    if faults.has("answers_after_cancel") && message["method"] == "notifications/cancelled" {
        say(&addressed(text_result(&"too late".into()), &message["params"]["requestId"]).to_string());
    }
}

pub(crate) fn text_result(text: &Value) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}]}})
}
