//! The form of an elicitation: a flat object schema, its fields in the order in which they are to be shown.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{ElicitContent, PropertySchema, wire};

constant! {
    /// The `type` of a form's schema.
    pub struct ObjectType = "object";
}

/// The fields of a form.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitSchema {
    /// The dialect of JSON Schema (2025-11-25); 2020-12 when absent.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Always `object`.
    #[serde(default)]
    pub r#type: ObjectType,
    /// The fields by name, in the order in which they came.
    #[serde(default, with = "wire::ordered")]
    pub properties: Vec<(String, PropertySchema)>,
    /// The names of the fields that must be filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

impl ElicitSchema {
    /// A form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that may be left empty.
    #[must_use]
    pub fn with_property(mut self, name: impl Into<String>, schema: impl Into<PropertySchema>) -> Self {
        self.properties.push((name.into(), schema.into()));
        self
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn with_required_property(mut self, name: impl Into<String>, schema: impl Into<PropertySchema>) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.with_property(name, schema)
    }

    /// The field `name`.
    pub fn property(&self, name: &str) -> Option<&PropertySchema> {
        self.properties.iter().find(|(own, _)| own == name).map(|(_, schema)| schema)
    }

    /// Whether the field `name` must be filled in.
    pub fn is_required(&self, name: &str) -> bool {
        self.required.as_ref().is_some_and(|required| required.iter().any(|own| own == name))
    }
}

/// Fills every field that `content` lacks with its default, where it has one.
///
/// ```
/// use windlass::model::{BooleanSchema, ElicitContent, ElicitSchema, StringSchema, apply_defaults};
///
/// let schema = ElicitSchema::new()
///     .with_property("name", StringSchema::new().with_default("anonymous"))
///     .with_property("public", BooleanSchema::new());
/// let mut content = ElicitContent::new();
/// apply_defaults(&schema, &mut content);
/// assert_eq!(serde_json::to_string(&content)?, r#"{"name":"anonymous"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn apply_defaults(schema: &ElicitSchema, content: &mut ElicitContent) {
    for (name, property) in &schema.properties {
        if content.contains_key(name) {
            continue;
        }
        if let Some(default) = property.default_value() {
            content.insert_json(name.as_str(), default);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order() {
        let text = concat!(
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
            r#""properties":{"z":{"type":"boolean"},"a":{"type":"object","x":1.0}},"required":["z"]}"#
        );
        let schema: ElicitSchema = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&schema).unwrap(), text);
        assert!(schema.is_required("z") && !schema.is_required("a"));
        assert!(matches!(schema.property("a"), Some(PropertySchema::Other(_))));
    }

    #[test]
    fn defaults_of_every_kind_fill_in_and_answers_stay() {
        let schema: ElicitSchema = serde_json::from_str(
            r##"{"type":"object","properties":{
                "name":{"type":"string","default":"John"},
                "age":{"type":"integer","default":30},
                "score":{"type":"number","default":95.5},
                "status":{"type":"string","enum":["active","idle"],"default":"active"},
                "color":{"type":"string","oneOf":[{"const":"#f00","title":"Red"}],"default":"#f00"},
                "tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"]},
                "verified":{"type":"boolean","default":true},
                "strange":{"type":["string","null"],"default":null},
                "bare":{"type":"string"}}}"##,
        )
        .unwrap();
        let mut content = ElicitContent::new();
        content.insert("name", "Jane").unwrap();
        apply_defaults(&schema, &mut content);
        assert_eq!(
            serde_json::to_string(&content).unwrap(),
            concat!(
                r##"{"age":30,"color":"#f00","name":"Jane","score":95.5,"status":"active","##,
                r#""strange":null,"tags":["a"],"verified":true}"#
            )
        );
    }
}
