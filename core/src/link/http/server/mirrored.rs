//! In the modern era headers repeat parts of the message, so that whoever routes it need not read it. Whoever reads it
//! makes sure that they agree.

use alloc::string::String;

use super::super::mirror::{self, PARAM_PREFIX, Value};
use crate::codec::http1::Headers;
use crate::json::JsonText;
use crate::jsonrpc::{RpcError, code};
use crate::model::{CallTool, Method, MethodInfo, Tool};
use crate::server::Params;

/// Compares the headers of a request with its message. What the message itself lacks is for the server to say.
pub(super) fn check<'a>(
    headers: &Headers,
    method: &str,
    params: &Params<'_>,
    tool: impl FnOnce(&str) -> Option<&'a Tool>,
) -> Result<(), RpcError> {
    let Ok(meta) = params.meta() else { return Ok(()) };
    let (Some(version), Some(_)) = (meta.protocol_version.and_then(JsonText::as_text), meta.client_capabilities) else {
        return Ok(());
    };
    same(headers, "MCP-Protocol-Version", Some(Value::Text(version)))?;
    same(headers, "Mcp-Method", Some(Value::Text(method.into())))?;
    let Some(named) = MethodInfo::find(method).and_then(|info| params.naming(info.named_by?)) else { return Ok(()) };
    same(headers, "Mcp-Name", Some(Value::Text(named.as_ref().into())))?;
    match tool(&named).filter(|_| method == CallTool::NAME) {
        Some(tool) => check_arguments(headers, tool, params.raw_arguments().unwrap_or(JsonText::EMPTY_OBJECT)),
        None => Ok(()),
    }
}

/// A tool may have some of its arguments repeated in headers.
fn check_arguments(headers: &Headers, tool: &Tool, arguments: JsonText<'_>) -> Result<(), RpcError> {
    // A schema with wrong annotations asks for nothing that a client could follow.
    for annotation in mirror::annotations(tool.input_schema.as_text()).unwrap_or_default() {
        let header = alloc::format!("{PARAM_PREFIX}{}", annotation.header);
        let expected = Value::at(arguments, &annotation.path)
            .map_err(|refused| RpcError::new(code::HEADER_MISMATCH, alloc::format!("{refused}")))?;
        same(headers, &header, expected)?;
    }
    Ok(())
}

fn same(headers: &Headers, name: &str, expected: Option<Value<'_>>) -> Result<(), RpcError> {
    let mismatch = |detail: String| Err(RpcError::new(code::HEADER_MISMATCH, detail));
    match (headers.only(name), expected) {
        (Err(_), _) => mismatch(alloc::format!("the header {name} is there twice")),
        (Ok(None), None) => Ok(()),
        (Ok(None), Some(_)) => mismatch(alloc::format!("the header {name} is missing")),
        (Ok(Some(_)), None) => {
            mismatch(alloc::format!("the header {name} is there, but the message has no such value"))
        }
        (Ok(Some(value)), Some(expected)) => match mirror::decode(value) {
            None => mismatch(alloc::format!("the header {name} is not valid base64")),
            Some(value) if expected.is_said_by(&value) => Ok(()),
            Some(_) => mismatch(alloc::format!("the header {name} does not say what the message says")),
        },
    }
}
