//! In the modern era headers repeat parts of the message, so that whoever routes it need not read it. Whoever reads it
//! makes sure that they agree.

use alloc::borrow::Cow;
use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::codec::http1::Headers;
use crate::json::{JsonText, pick};
use crate::jsonrpc::{RpcError, code};
use crate::model::RequestMeta;

/// Compares the headers of a request with its message. What the message itself lacks is for the server to say.
pub(super) fn check(headers: &Headers, method: &str, params: Option<JsonText<'_>>) -> Result<(), RpcError> {
    let Some(params) = params else { return Ok(()) };
    let Ok([meta, name, uri, task]) = pick(params, ["_meta", "name", "uri", "taskId"]) else { return Ok(()) };
    let Some(Ok(meta)) = meta.map(RequestMeta::read) else { return Ok(()) };
    let (Some(version), Some(_)) = (meta.protocol_version.and_then(JsonText::as_text), meta.client_capabilities) else {
        return Ok(());
    };
    same(headers, "MCP-Protocol-Version", &version)?;
    same(headers, "Mcp-Method", method)?;
    let named = match method {
        "tools/call" | "prompts/get" => name,
        "resources/read" => uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => task,
        _ => None,
    };
    match named.and_then(JsonText::as_text) {
        Some(name) => same(headers, "Mcp-Name", &name),
        None => Ok(()),
    }
}

fn same(headers: &Headers, name: &str, expected: &str) -> Result<(), RpcError> {
    let mismatch = |detail: String| Err(RpcError::new(code::HEADER_MISMATCH, detail));
    match headers.only(name) {
        Err(_) => mismatch(alloc::format!("the header {name} is there twice")),
        Ok(None) => mismatch(alloc::format!("the header {name} is missing")),
        Ok(Some(value)) => match decoded(value) {
            None => mismatch(alloc::format!("the header {name} is not valid base64")),
            Some(value) if value == expected => Ok(()),
            Some(_) => mismatch(alloc::format!("the header {name} does not say what the message says")),
        },
    }
}

/// A header's value, which may be encoded; `None` if it is so wrongly.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned)
}
