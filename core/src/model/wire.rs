//! How the odd members of the protocol are read and written.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::{Json, RawText};

/// The `type` member of an object.
///
/// Unions are read by way of their text because serde's own way, a buffer of values, cannot give back verbatim JSON.
pub(super) fn kind<'a, E: de::Error>(raw: &'a RawText<'_>) -> Result<Cow<'a, str>, E> {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }

    raw.read::<Tag<'a>, E>().map(|tag| tag.kind)
}

/// A value that may be null and still counts as present.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// A value that counts as absent when it has the wrong type, so that it does not spoil its whole message.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let raw = RawText::deserialize(deserializer)?;
    Ok(raw.as_text().read::<Option<T>>().ok().flatten())
}

/// A duration hint: a number that is no whole, non-negative one counts as 0, anything but a number as absent.
pub(super) fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let raw = RawText::deserialize(deserializer)?;
    if let Ok(whole) = raw.as_text().as_str().parse::<u64>() {
        return Ok(Some(whole));
    }
    Ok(raw.as_text().read::<f64>().ok().map(|number| {
        // A cast saturates, so the way there and back only keeps what was whole and in range.
        let whole = number as u64;
        if whole as f64 == number { whole } else { 0 }
    }))
}

/// Writes a whole number without a fraction: `50`, not `50.0`, which strict readers of integers refuse.
pub(super) fn number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let whole = *number as i64;
    if whole as f64 == *number && whole != i64::MAX {
        serializer.serialize_i64(whole)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// [`number`] for a member that may be absent.
pub(super) fn optional_number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// The JSON text `{}`.
pub(super) fn empty_object() -> Json {
    Json::from(serde_json::Value::Object(serde_json::Map::new()))
}

/// An object whose members keep their order.
pub(super) mod ordered {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer, T: Serialize>(
        members: &[(String, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, T)>, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_integers_where_they_are() {
        #[derive(Serialize)]
        struct One(#[serde(serialize_with = "number")] f64);
        let written = |value| serde_json::to_string(&One(value)).unwrap();
        assert_eq!(written(50.0), "50");
        assert_eq!(written(-3.0), "-3");
        assert_eq!(written(0.25), "0.25");
        assert_eq!(written(1e19).parse(), Ok(1e19));
        assert_eq!(written(f64::NAN), "null");
    }

    #[test]
    fn a_strange_duration_is_no_error() {
        #[derive(Deserialize)]
        struct One(#[serde(deserialize_with = "milliseconds")] Option<u64>);
        let read = |text| serde_json::from_str::<One>(text).unwrap().0;
        assert_eq!(read("60000"), Some(60000));
        assert_eq!(read("6e4"), Some(60000));
        assert_eq!(read("-1"), Some(0));
        assert_eq!(read("1.5"), Some(0));
        assert_eq!(read("\"60000\""), None);
        assert_eq!(read("null"), None);
    }
}
