//! The fields that a form may have.

use alloc::string::String;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema, wire,
};
use crate::json::{Json, JsonText, RawText};

/// The schema of one field of a form.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum PropertySchema {
    /// Text.
    String(StringSchema),
    /// A number, whole or not.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of several values.
    UntitledSingleSelect(UntitledSingleSelectEnumSchema),
    /// One of several values that have titles (2025-11-25).
    TitledSingleSelect(TitledSingleSelectEnumSchema),
    /// Some of several values (2025-11-25).
    UntitledMultiSelect(UntitledMultiSelectEnumSchema),
    /// Some of several values that have titles (2025-11-25).
    TitledMultiSelect(TitledMultiSelectEnumSchema),
    /// A schema beyond what the specification allows here, kept as it came.
    Other(Json),
}

impl PropertySchema {
    /// The value that stands in the field before the user touches it.
    pub fn default_value(&self) -> Option<Json> {
        #[derive(Deserialize)]
        struct Default {
            #[serde(default, deserialize_with = "wire::present")]
            default: Option<Json>,
        }

        fn of<V: Serialize>(value: &Option<V>) -> Option<Json> {
            Json::of(value.as_ref()?).ok()
        }

        match self {
            Self::String(schema) => of(&schema.default),
            Self::Number(schema) => of(&schema.default.map(WholeOrNot)),
            Self::Boolean(schema) => of(&schema.default),
            Self::UntitledSingleSelect(schema) => of(&schema.default),
            Self::TitledSingleSelect(schema) => of(&schema.default),
            Self::UntitledMultiSelect(schema) => of(&schema.default),
            Self::TitledMultiSelect(schema) => of(&schema.default),
            Self::Other(json) => json.as_text().read::<Default>().ok()?.default,
        }
    }
}

#[derive(Serialize)]
struct WholeOrNot(#[serde(serialize_with = "wire::number")] f64);

impl Serialize for PropertySchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(schema) => schema.serialize(serializer),
            Self::Number(schema) => schema.serialize(serializer),
            Self::Boolean(schema) => schema.serialize(serializer),
            Self::UntitledSingleSelect(schema) => schema.serialize(serializer),
            Self::TitledSingleSelect(schema) => schema.serialize(serializer),
            Self::UntitledMultiSelect(schema) => schema.serialize(serializer),
            Self::TitledMultiSelect(schema) => schema.serialize(serializer),
            Self::Other(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PropertySchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawText::deserialize(deserializer)?;
        // A form with one odd field is still a form: the user can fill in the others.
        Ok(read_known(raw.as_text()).unwrap_or_else(|| Self::Other(raw.into())))
    }
}

/// The schema, if it has one of the shapes that the specification lists.
fn read_known(text: JsonText<'_>) -> Option<PropertySchema> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Shape {
        #[serde(rename = "type")]
        kind: String,
        r#enum: Option<IgnoredAny>,
        one_of: Option<IgnoredAny>,
        items: Option<ItemsShape>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ItemsShape {
        any_of: Option<IgnoredAny>,
    }

    fn read<'de, T: Deserialize<'de>>(text: JsonText<'de>) -> Option<T> {
        text.read().ok()
    }

    let shape: Shape = read(text)?;
    match shape.kind.as_str() {
        "string" if shape.r#enum.is_some() => read(text).map(PropertySchema::UntitledSingleSelect),
        "string" if shape.one_of.is_some() => read(text).map(PropertySchema::TitledSingleSelect),
        "string" => read(text).map(PropertySchema::String),
        "number" | "integer" => read(text).map(PropertySchema::Number),
        "boolean" => read(text).map(PropertySchema::Boolean),
        "array" if shape.items?.any_of.is_some() => read(text).map(PropertySchema::TitledMultiSelect),
        "array" => read(text).map(PropertySchema::UntitledMultiSelect),
        _ => None,
    }
}

macro_rules! property_schemas {
    ($($schema:ident => $variant:ident,)+) => {
        $(
            impl From<$schema> for PropertySchema {
                fn from(schema: $schema) -> Self {
                    Self::$variant(schema)
                }
            }
        )+
    };
}

property_schemas! {
    StringSchema => String,
    NumberSchema => Number,
    BooleanSchema => Boolean,
    UntitledSingleSelectEnumSchema => UntitledSingleSelect,
    TitledSingleSelectEnumSchema => TitledSingleSelect,
    UntitledMultiSelectEnumSchema => UntitledMultiSelect,
    TitledMultiSelectEnumSchema => TitledMultiSelect,
}

constant! {
    /// The `type` of text.
    pub struct StringType = "string";
}

constant! {
    /// The `type` of yes or no.
    pub struct BooleanType = "boolean";
}

/// Text.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StringSchema {
    /// Always `string`.
    pub r#type: StringType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many characters at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// How many characters at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// What form the text has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// The value to start with (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl StringSchema {
    /// Any text.
    pub fn new() -> Self {
        Self::default()
    }
}

setters!(StringSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_min_length(min_length: u64),
    with_max_length(max_length: u64),
    with_format(format: StringFormat),
    with_default(default: impl Into<String>),
});

open_enum! {
    /// What form a text has.
    pub enum StringFormat {
        /// A mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A day.
        Date = "date",
        /// A moment.
        DateTime = "date-time",
    }
}

/// A number.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NumberSchema {
    /// Whether it must be whole.
    pub r#type: NumberType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The least value.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The greatest value.
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The value to start with (2025-11-25).
    #[serde(default, serialize_with = "wire::optional_number", skip_serializing_if = "Option::is_none")]
    pub default: Option<f64>,
}

/// Whether a number must be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberType {
    /// Any number.
    Number,
    /// A whole one.
    Integer,
}

impl NumberSchema {
    /// Any number.
    pub fn number() -> Self {
        Self::new(NumberType::Number)
    }

    /// A whole number.
    pub fn integer() -> Self {
        Self::new(NumberType::Integer)
    }

    /// A number of this type.
    pub fn new(r#type: NumberType) -> Self {
        Self { r#type, title: None, description: None, minimum: None, maximum: None, default: None }
    }
}

setters!(NumberSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_minimum(minimum: f64),
    with_maximum(maximum: f64),
    with_default(default: f64),
});

/// Yes or no.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BooleanSchema {
    /// Always `boolean`.
    pub r#type: BooleanType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The value to start with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

impl BooleanSchema {
    /// Yes or no.
    pub fn new() -> Self {
        Self::default()
    }
}

setters!(BooleanSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_default(default: bool),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_reads_back() {
        for (text, known) in [
            (r#"{"type":"string","minLength":1,"format":"email"}"#, true),
            (r#"{"type":"string","format":"phone"}"#, true),
            (r#"{"type":"integer","minimum":18,"default":20}"#, true),
            (r#"{"type":"number","maximum":0.5}"#, true),
            (r#"{"type":"boolean","default":false}"#, true),
            (r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#, true),
            (r#"{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"}"#, true),
            (r#"{"type":"array","minItems":1,"items":{"type":"string","enum":["a"]}}"#, true),
            (r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":["a"]}"#, true),
            (r#"{"type":"array","items":{"type":"number"}}"#, false),
            (r#"{"type":"object","properties":{}}"#, false),
            (r#"{"type":["string","null"]}"#, false),
            (r#"{"type":"string","minLength":-1}"#, false),
            ("true", false),
        ] {
            let schema: PropertySchema = serde_json::from_str(text).unwrap();
            assert_eq!(!matches!(schema, PropertySchema::Other(_)), known, "{text}");
            assert_eq!(serde_json::to_string(&schema).unwrap(), text);
        }
    }
}
