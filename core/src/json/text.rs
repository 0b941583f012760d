//! JSON text that belongs to somebody else.

use core::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Json, scan};

/// A JSON value as its text, borrowed: from the bytes that came in, from a [`Json`], from a program's own text.
///
/// ```
/// use windlass::JsonText;
///
/// let text = JsonText::parse(r#" {"answer":42} "#)?;
/// assert_eq!(text.as_str(), r#"{"answer":42}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JsonText<'a>(pub(super) &'a str);

impl<'a> JsonText<'a> {
    /// `{}`.
    pub const EMPTY_OBJECT: JsonText<'static> = JsonText("{}");

    /// `"2.0"`.
    pub(crate) const TWO_ZERO: JsonText<'static> = JsonText("\"2.0\"");

    /// Takes `text` as it is, after checking that it is one JSON value.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<&RawValue>(text).map(Self::from)
    }

    /// The text.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Reads the text into a type. Text with half of a surrogate pair cannot be read; see [`Json`].
    pub fn decode<V: Deserialize<'a>>(self) -> Result<V, serde_json::Error> {
        serde_json::from_str(self.0)
    }

    /// Reads the text into a type of the protocol.
    pub(crate) fn read<V: Deserialize<'a>>(self) -> Result<V, serde_json::Error> {
        super::read::read(self.0)
    }

    /// A copy of one's own.
    pub fn to_json(self) -> Json {
        Json(self.0.into())
    }

    /// Takes `text` as it is: it was found to be one JSON value before.
    pub(crate) fn trusted(text: &'a str) -> Self {
        Self(text)
    }

    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// The content, if this is a string; borrowed where it holds no escape.
    pub(crate) fn as_text(self) -> Option<alloc::borrow::Cow<'a, str>> {
        scan::content_of(self.0)
    }
}

/// The first part of a text that a peer chose, for use in a message of ours.
pub(crate) fn excerpt(text: &str) -> &str {
    const LONGEST: usize = 200;
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}

impl<'a> From<&'a RawValue> for JsonText<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

impl<'a> From<&'a Json> for JsonText<'a> {
    fn from(json: &'a Json) -> Self {
        Self(json.as_str())
    }
}

impl fmt::Debug for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for JsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::write::serialize_verbatim(self.0, serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(Self::from)
    }
}
