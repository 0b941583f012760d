//! JSON text that is kept as it came.

mod raw;
mod read;
mod scan;
mod search;
mod text;
mod write;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub(crate) use raw::RawText;
#[cfg(feature = "server")]
pub(crate) use scan::pick_and_count;
pub(crate) use scan::{Fault, MOST_LEVELS, check, content_of, elements, first_member, members, members_from, pick};
pub use text::JsonText;
pub(crate) use text::excerpt;
pub(crate) use write::write_json;

/// A JSON value kept as its text: tool schemas, `_meta` values, structured results.
///
/// Text costs what it weighs; a tree of values can cost eighty times that, and loses the order and spelling that the
/// specification asks to pass on unchanged.
///
/// ```
/// use windlass::Json;
///
/// let schema = Json::parse(r#"{"type":"object","x-order":[3,1,2]}"#)?;
/// assert_eq!(schema.as_str(), r#"{"type":"object","x-order":[3,1,2]}"#);
/// assert_eq!(Json::of(&[1, 2])?.decode::<Vec<u8>>()?, [1, 2]);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// What was found to be JSON is passed on as it came, and JSON allows more than Rust's text can hold: a string with half of
/// a surrogate pair, which programs write that cut a text off in the middle of an emoji. Such a value reaches whoever can
/// make use of it; reading it into a [`String`] or a tree of values fails, and so does a call where the protocol itself has
/// text there.
///
/// ```
/// use std::collections::BTreeMap;
/// use windlass::Json;
///
/// let cut_off = Json::parse(r#"{"title":"Hi \ud83d","stars":5}"#)?;
/// assert_eq!(cut_off.as_str(), r#"{"title":"Hi \ud83d","stars":5}"#);
/// assert!(cut_off.decode::<serde_json::Value>().is_err());
/// // What is next to it can be had all the same.
/// let members: BTreeMap<String, Json> = cut_off.decode()?;
/// assert_eq!(members["stars"].decode::<u8>()?, 5);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct Json(Box<str>);

impl Json {
    /// Takes `text` as it is, after checking that it is one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// The JSON text of `value`.
    pub fn of<V: Serialize + ?Sized>(value: &V) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// `{}`.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// Reads the text into a type. Text with half of a surrogate pair cannot be read.
    pub fn decode<V: DeserializeOwned>(&self) -> Result<V, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, borrowed.
    pub fn as_text(&self) -> JsonText<'_> {
        JsonText(&self.0)
    }
}

impl From<JsonText<'_>> for Json {
    fn from(text: JsonText<'_>) -> Self {
        text.to_json()
    }
}

impl From<&RawValue> for Json {
    fn from(raw: &RawValue) -> Self {
        Self(raw.get().into())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Clone for Json {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Equal text, not equal meaning: `1.0` and `1` differ.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write::serialize_verbatim(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawText::deserialize(deserializer).map(Self::from)
    }
}
