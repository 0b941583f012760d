//! JSON text that is being read: borrowed where it lies there in one piece, else put together.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::write::RAW_VALUE;
use super::{Json, JsonText};

/// The text of a value, whatever it is read from: text, a stream, a tree of values, or one of serde's own buffers, which
/// values pass through in a program's untagged enums and flattened members.
pub(crate) struct RawText<'de>(Cow<'de, str>);

impl RawText<'_> {
    pub(crate) fn as_text(&self) -> JsonText<'_> {
        JsonText::trusted(&self.0)
    }

    /// Reads the text into a type, on behalf of a type that is being read.
    pub(crate) fn read<'a, V: Deserialize<'a>, E: de::Error>(&'a self) -> Result<V, E> {
        self.as_text().read().map_err(E::custom)
    }
}

impl From<&RawText<'_>> for Json {
    fn from(raw: &RawText<'_>) -> Self {
        raw.as_text().to_json()
    }
}

impl From<RawText<'_>> for Json {
    fn from(raw: RawText<'_>) -> Self {
        Self(raw.0.into())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW_VALUE, Verbatim).map(Self)
    }
}

/// Takes the text of a value.
struct Verbatim;

impl<'de> Visitor<'de> for Verbatim {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    /// Our own reader knows what is asked for.
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    /// So does serde_json, and gives the text in the guise of an object.
    fn visit_map<A: MapAccess<'de>>(self, mut guise: A) -> Result<Self::Value, A::Error> {
        match guise.next_entry_seed(Content, Content)? {
            Some((name, text)) if name == RAW_VALUE => Ok(text),
            _ => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }

    /// Any other reader gives the value itself.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        serde_json::Value::deserialize(value).map(|value| value.to_string().into())
    }
}

/// Takes the content of a string.
struct Content;

impl<'de> DeserializeSeed<'de> for Content {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Content {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    const EXAMPLE: &str = r#"{"b":[1.50,{"a":"\u00e9"}],"a":null}"#;

    #[test]
    fn text_that_lies_there_is_borrowed_as_it_is() {
        let raw: RawText<'_> = serde_json::from_str(EXAMPLE).unwrap();
        assert!(matches!(raw.0, Cow::Borrowed(EXAMPLE)));
    }

    #[test]
    fn values_are_read_from_anything() {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Buffered {
            It(Json),
        }

        let tree: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
        let Buffered::It(buffered) = serde_json::from_str(EXAMPLE).unwrap();
        for json in [buffered, Json::deserialize(&tree).unwrap(), serde_json::from_value(tree.clone()).unwrap()] {
            assert_eq!(json.decode::<serde_json::Value>().unwrap(), tree);
        }
    }
}
