//! Asking the client for input in the middle of a request (2026-07-28).
//!
//! Instead of an answer the server returns what it needs; the client sends the request again, with the responses.

use alloc::collections::{BTreeMap, btree_map};
use alloc::string::String;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    CreateMessage, CreateMessageParams, Elicit, ElicitFormParams, ElicitParams, ElicitUrlParams, ListRoots,
    ListRootsParams, Meta, Method,
};
use crate::json::{Json, JsonText, RawText};

/// A result that asks for input; at least one of its two fields must be there.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequiredResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// What the server needs to know, by keys that the responses will use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The server's state, for the client to give back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

impl InputRequiredResult {
    /// Asks for these inputs.
    pub fn new(input_requests: InputRequests) -> Self {
        Self { meta: None, input_requests: Some(input_requests), request_state: None }
    }

    /// Asks for nothing but to come back with this state.
    pub fn retry(request_state: impl Into<String>) -> Self {
        Self { meta: None, input_requests: None, request_state: Some(request_state.into()) }
    }
}

setters!(InputRequiredResult {
    with_request_state(request_state: impl Into<String>),
    with_meta(meta: Meta),
});

/// What a server needs to know, by keys that the responses will use.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputRequests(BTreeMap<String, InputRequest>);

impl InputRequests {
    /// No request at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a request under `key`, in place of what was there.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.insert(key, request);
        self
    }

    /// Puts a request under `key`, in place of what was there.
    pub fn insert(&mut self, key: impl Into<String>, request: impl Into<InputRequest>) {
        self.0.insert(key.into(), request.into());
    }

    /// The request under `key`.
    pub fn get(&self, key: &str) -> Option<&InputRequest> {
        self.0.get(key)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The keys and requests, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &InputRequest)> {
        self.0.iter().map(|(key, request)| (key.as_str(), request))
    }
}

impl FromIterator<(String, InputRequest)> for InputRequests {
    fn from_iter<I: IntoIterator<Item = (String, InputRequest)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl IntoIterator for InputRequests {
    type Item = (String, InputRequest);
    type IntoIter = btree_map::IntoIter<String, InputRequest>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// One thing that a server needs to know: a method and its params.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum InputRequest {
    /// An answer from the user.
    Elicit(ElicitParams),
    /// A message from the model.
    Sample(CreateMessageParams),
    /// The client's roots.
    Roots(ListRootsParams),
    /// Something that the specification does not list.
    Other {
        /// The method.
        method: String,
        /// Its params.
        params: Option<Json>,
    },
}

impl InputRequest {
    /// Reads the params of a method.
    pub fn read(method: &str, params: Option<JsonText<'_>>) -> Result<Self, serde_json::Error> {
        let required = || params.ok_or_else(|| serde::de::Error::missing_field("params"));
        Ok(match method {
            Elicit::NAME => Self::Elicit(required()?.read()?),
            CreateMessage::NAME => Self::Sample(required()?.read()?),
            ListRoots::NAME => Self::Roots(params.map(JsonText::read).transpose()?.unwrap_or_default()),
            _ => Self::Other { params: params.map(Json::from), method: method.into() },
        })
    }

    /// The method that this is a request for.
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => Elicit::NAME,
            Self::Sample(_) => CreateMessage::NAME,
            Self::Roots(_) => ListRoots::NAME,
            Self::Other { method, .. } => method,
        }
    }
}

impl From<ElicitParams> for InputRequest {
    fn from(params: ElicitParams) -> Self {
        Self::Elicit(params)
    }
}

impl From<ElicitFormParams> for InputRequest {
    fn from(params: ElicitFormParams) -> Self {
        Self::Elicit(params.into())
    }
}

impl From<ElicitUrlParams> for InputRequest {
    fn from(params: ElicitUrlParams) -> Self {
        Self::Elicit(params.into())
    }
}

impl From<CreateMessageParams> for InputRequest {
    fn from(params: CreateMessageParams) -> Self {
        Self::Sample(params)
    }
}

impl From<ListRootsParams> for InputRequest {
    fn from(params: ListRootsParams) -> Self {
        Self::Roots(params)
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", self.method())?;
        match self {
            Self::Elicit(params) => map.serialize_entry("params", params)?,
            Self::Sample(params) => map.serialize_entry("params", params)?,
            Self::Roots(params) if params.meta.is_none() => {}
            Self::Roots(params) => map.serialize_entry("params", params)?,
            Self::Other { params: None, .. } => {}
            Self::Other { params: Some(params), .. } => map.serialize_entry("params", params)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Request<'a> {
            method: String,
            #[serde(borrow, default)]
            params: Option<RawText<'a>>,
        }

        let Request { method, params } = Request::deserialize(deserializer)?;
        Self::read(&method, params.as_ref().map(RawText::as_text)).map_err(serde::de::Error::custom)
    }
}

json_map! {
    /// The client's answers to a server's input requests, under the same keys.
    ///
    /// They stay unread, because what an answer must be depends on the request that it belongs to; read one with
    /// [`get`](Self::get), for example as an [`ElicitResult`](super::ElicitResult).
    pub struct InputResponses;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ElicitResult, SamplingMessage};
    use alloc::vec;

    #[test]
    fn requests_of_every_kind_read_back() {
        let requests = InputRequests::new()
            .with("a", ElicitFormParams::new("who?"))
            .with("b", CreateMessageParams::new(vec![SamplingMessage::user("hello")], 10))
            .with("c", ListRootsParams::new())
            .with("d", InputRequest::Other { method: "x/y".into(), params: Json::parse("{\"z\": 1}").ok() });
        let text = serde_json::to_string(&requests).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"a":{"method":"elicitation/create","params":{"message":"who?","#,
                r#""requestedSchema":{"type":"object","properties":{}}}},"#,
                r#""b":{"method":"sampling/createMessage","params":{"#,
                r#""messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10}},"#,
                r#""c":{"method":"roots/list"},"d":{"method":"x/y","params":{"z": 1}}}"#
            )
        );
        assert_eq!(serde_json::from_str::<InputRequests>(&text).unwrap(), requests);
        assert!(serde_json::from_str::<InputRequest>(r#"{"method":"elicitation/create"}"#).is_err());
    }

    #[test]
    fn responses_are_read_when_their_request_is_known() {
        let responses: InputResponses = serde_json::from_str(r#"{"a":{"action":"decline"},"b":null}"#).unwrap();
        assert_eq!(responses.get("a"), Some(ElicitResult::decline()));
        assert_eq!(responses.get::<ElicitResult>("b"), None);
        assert!(responses.contains_key("b"));
    }
}
