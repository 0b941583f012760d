//! Request ids.

use alloc::boxed::Box;
use core::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::{JsonText, content_of};

/// A request id, which keeps its JSON type: `1` and `"1"` are different ids, and `1.0` is none.
///
/// ```
/// use windlass::jsonrpc::Id;
///
/// assert_ne!(Id::from(1), Id::from("1"));
/// assert!(serde_json::from_str::<Id>("1.0").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A JSON integer.
    Number(i64),
    /// A JSON string.
    String(Box<str>),
}

impl Id {
    /// Reads an id from its JSON text; `None` for null, fractions, and everything that is neither integer nor string.
    pub fn from_text(text: JsonText<'_>) -> Option<Self> {
        // A bare digit run is the common case; parsing it by hand is a tenth of serde's way there.
        let text = text.as_str();
        if let Ok(number) = text.parse::<i64>() {
            // `-0` is a number that integers do not have: it could not be given back as it came.
            return (number != 0 || text == "0").then_some(Self::Number(number));
        }
        if text.starts_with('"') { content_of(text).map(|text| Self::String(text.into())) } else { None }
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::String(text) => write!(f, "{text:?}"),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;

        impl Visitor<'_> for IdVisitor {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Id, E> {
                Ok(Id::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
                i64::try_from(number).map(Id::Number).map_err(|_| E::custom("an id beyond 64-bit range"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id::from(text))
            }
        }

        deserializer.deserialize_any(IdVisitor)
    }
}
