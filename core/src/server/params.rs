//! Reading a request's parameters: one pass finds what most methods need, whatever the method is; those that need more read
//! all of them into a type.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use crate::json::{Fault, Json, JsonText, pick};
use crate::jsonrpc::RpcError;
use crate::model::{Meta, Readable, RequestMeta};

/// Every member that a client's request may have, as it stands; null counts as absent. A member of the wrong type is
/// reported by whoever needs it.
pub(crate) struct Params<'a> {
    /// All of them.
    raw: Option<JsonText<'a>>,
    meta: Result<RequestMeta<'a>, Fault>,
    name: Option<JsonText<'a>>,
    uri: Option<JsonText<'a>>,
    task_id: Option<JsonText<'a>>,
    cursor: Option<JsonText<'a>>,
    arguments: Option<JsonText<'a>>,
    input_responses: Option<JsonText<'a>>,
    request_state: Option<JsonText<'a>>,
}

impl<'a> Params<'a> {
    pub(crate) fn read(raw: Option<JsonText<'a>>) -> Result<Self, Fault> {
        let names = ["_meta", "name", "uri", "taskId", "cursor", "arguments", "inputResponses", "requestState"];
        let [meta, name, uri, task_id, cursor, arguments, input_responses, request_state] =
            raw.map_or(Ok([None; 8]), |params| pick(params, names))?;
        let meta = meta.map_or_else(|| Ok(RequestMeta::default()), RequestMeta::read);
        Ok(Self { raw, meta, name, uri, task_id, cursor, arguments, input_responses, request_state })
    }

    pub(super) fn raw(&self) -> Option<JsonText<'a>> {
        self.raw
    }

    pub(crate) fn meta(&self) -> Result<&RequestMeta<'a>, RpcError> {
        let unreadable = |fault| RpcError::invalid_params(alloc::format!("_meta cannot be read: {fault}"));
        self.meta.as_ref().map_err(unreadable)
    }

    /// What `_meta` says beside the protocol.
    pub(super) fn other_meta(&self) -> Option<Meta> {
        self.meta.as_ref().ok()?.others()
    }

    /// A member that names what the request is about.
    pub(crate) fn naming(&self, member: &str) -> Option<Cow<'a, str>> {
        match member {
            "name" => self.name,
            "uri" => self.uri,
            "taskId" => self.task_id,
            _ => None,
        }?
        .as_text()
    }

    /// The arguments as they stand.
    pub(crate) fn raw_arguments(&self) -> Option<JsonText<'a>> {
        self.arguments
    }

    pub(super) fn name(&self) -> Result<Cow<'a, str>, RpcError> {
        required_text("name", self.name)
    }

    pub(super) fn uri(&self) -> Result<Cow<'a, str>, RpcError> {
        required_text("uri", self.uri)
    }

    pub(super) fn cursor(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        optional_text("cursor", self.cursor)
    }

    pub(super) fn request_state(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        optional_text("requestState", self.request_state)
    }

    /// The arguments of a tool, an empty object if there are none.
    pub(super) fn arguments(&self) -> Result<Json, RpcError> {
        match self.arguments {
            None => Ok(Json::empty_object()),
            Some(arguments) if arguments.is_object() => Ok(arguments.into()),
            Some(_) => Err(RpcError::invalid_params("arguments is not an object")),
        }
    }

    /// The arguments of a prompt, which are texts.
    pub(super) fn text_arguments(&self) -> Result<BTreeMap<String, String>, RpcError> {
        let Some(arguments) = self.arguments else { return Ok(BTreeMap::new()) };
        arguments.read().map_err(|_| RpcError::invalid_params("arguments is not an object of strings"))
    }

    pub(super) fn input_responses(&self) -> Result<BTreeMap<String, Json>, RpcError> {
        let Some(responses) = self.input_responses else { return Ok(BTreeMap::new()) };
        let responses: BTreeMap<String, Json> = responses
            .read()
            .map_err(|error| RpcError::invalid_params(alloc::format!("inputResponses cannot be read: {error}")))?;
        match responses.iter().find(|(_, response)| !response.as_str().starts_with('{')) {
            Some((name, _)) => Err(RpcError::invalid_params(alloc::format!(
                "the input response {:?} is not an object",
                crate::jsonrpc::excerpt(name)
            ))),
            None => Ok(responses),
        }
    }
}

fn required_text<'a>(name: &str, value: Option<JsonText<'a>>) -> Result<Cow<'a, str>, RpcError> {
    optional_text(name, value)?.ok_or_else(|| RpcError::invalid_params(alloc::format!("{name} is missing")))
}

fn optional_text<'a>(name: &str, value: Option<JsonText<'a>>) -> Result<Option<Cow<'a, str>>, RpcError> {
    let Some(value) = value else { return Ok(None) };
    value.as_text().map(Some).ok_or_else(|| RpcError::invalid_params(alloc::format!("{name} is not a string")))
}

/// Reads all of a request's parameters into a type.
pub(super) fn read<V: Readable>(params: Option<JsonText<'_>>) -> Result<V, RpcError> {
    V::read(params.unwrap_or(JsonText::EMPTY_OBJECT)).map_err(|error| RpcError::invalid_params(error.to_string()))
}
