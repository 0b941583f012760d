//! Reading a request's parameters in one pass, whatever its method.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Json;
use crate::jsonrpc::RpcError;
use crate::model::RequestMeta;

/// Every member that a client's request may have, as it stands. A member of the wrong type is reported by whoever
/// needs it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(rename = "_meta", borrow)]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    pub(super) fn read(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        match params {
            None => Ok(Self::default()),
            Some(params) => serde_json::from_str(params.get())
                .map_err(|error| RpcError::invalid_params(alloc::format!("the parameters cannot be read: {error}"))),
        }
    }

    pub(super) fn meta(&self) -> Result<RequestMeta<'a>, RpcError> {
        match self.meta {
            None => Ok(RequestMeta::default()),
            Some(meta) => serde_json::from_str(meta.get())
                .map_err(|error| RpcError::invalid_params(alloc::format!("_meta cannot be read: {error}"))),
        }
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
            Some(arguments) if arguments.get().starts_with('{') => Ok(arguments.into()),
            Some(_) => Err(RpcError::invalid_params("arguments is not an object")),
        }
    }

    /// The arguments of a prompt, which are texts.
    pub(super) fn text_arguments(&self) -> Result<BTreeMap<String, String>, RpcError> {
        let Some(arguments) = self.arguments else { return Ok(BTreeMap::new()) };
        serde_json::from_str(arguments.get())
            .map_err(|_| RpcError::invalid_params("arguments is not an object of strings"))
    }

    pub(super) fn input_responses(&self) -> Result<BTreeMap<String, Json>, RpcError> {
        let Some(responses) = self.input_responses else { return Ok(BTreeMap::new()) };
        let responses: BTreeMap<String, Json> = serde_json::from_str(responses.get())
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

fn required_text<'a>(name: &str, value: Option<&'a RawValue>) -> Result<Cow<'a, str>, RpcError> {
    optional_text(name, value)?.ok_or_else(|| RpcError::invalid_params(alloc::format!("{name} is missing")))
}

fn optional_text<'a>(name: &str, value: Option<&'a RawValue>) -> Result<Option<Cow<'a, str>>, RpcError> {
    let Some(value) = value else { return Ok(None) };
    crate::jsonrpc::text_of(value.get())
        .map(Some)
        .ok_or_else(|| RpcError::invalid_params(alloc::format!("{name} is not a string")))
}

/// Reads all of a request's parameters into a type.
pub(super) fn decode<'a, V: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<V, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| RpcError::invalid_params(error.to_string().to_owned()))
}
