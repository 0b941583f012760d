//! What ties a method's name to its types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Meta;
use crate::json::JsonText;

/// A request method.
///
/// ```
/// use windlass::model::{CallTool, Method};
///
/// fn params_of<M: Method>(text: &str) -> Result<M::Params, serde_json::Error> {
///     serde_json::from_str(text)
/// }
///
/// assert_eq!(CallTool::NAME, "tools/call");
/// assert_eq!(params_of::<CallTool>(r#"{"name":"weather"}"#)?.name, "weather");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Method {
    /// The name on the wire.
    const NAME: &'static str;
    /// What the request says.
    type Params: Serialize + DeserializeOwned;
    /// What the result says.
    type Output: Serialize + DeserializeOwned;

    /// Reads a result.
    ///
    /// There is no need to write this. The protocol's own methods do, so that the code for it is part of this crate and
    /// not compiled again by every other that makes calls.
    fn read(result: JsonText<'_>) -> Result<Self::Output, serde_json::Error> {
        result.decode()
    }
}

/// A notification method.
pub trait Notice {
    /// The name on the wire.
    const NAME: &'static str;
    /// What the notification says.
    type Params: Serialize + DeserializeOwned;

    /// Reads the parameters; [`Method::read`] says why this is here.
    fn read(params: JsonText<'_>) -> Result<Self::Params, serde_json::Error> {
        params.decode()
    }
}

/// Params with nothing in them but `_meta`.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmptyParams {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

setters!(EmptyParams { with_meta(meta: Meta), });

/// A result with nothing in it but `_meta`.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmptyResult {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

setters!(EmptyResult { with_meta(meta: Meta), });
