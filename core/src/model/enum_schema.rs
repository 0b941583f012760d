//! Fields of a form that offer a choice.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::StringType;

constant! {
    /// The `type` of a multiple choice.
    pub struct ArrayType = "array";
}

/// One of several values.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UntitledSingleSelectEnumSchema {
    /// Always `string`.
    pub r#type: StringType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    pub r#enum: Vec<String>,
    /// Titles in the order of the values: the way of 2025-06-18, deprecated since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    /// The value to start with (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl UntitledSingleSelectEnumSchema {
    /// One of these values.
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self {
            r#type: StringType,
            title: None,
            description: None,
            r#enum: values.into_iter().map(Into::into).collect(),
            enum_names: None,
            default: None,
        }
    }
}

setters!(UntitledSingleSelectEnumSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_enum_names(enum_names: impl Into<Vec<String>>),
    with_default(default: impl Into<String>),
});

/// A value with its title.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnumOption {
    /// The value.
    pub r#const: String,
    /// What to show for it.
    pub title: String,
}

impl EnumOption {
    /// A value with its title.
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self { r#const: value.into(), title: title.into() }
    }
}

/// One of several values that have titles (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TitledSingleSelectEnumSchema {
    /// Always `string`.
    pub r#type: StringType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    pub one_of: Vec<EnumOption>,
    /// The value to start with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl TitledSingleSelectEnumSchema {
    /// One of these values.
    pub fn new(options: impl Into<Vec<EnumOption>>) -> Self {
        Self { r#type: StringType, title: None, description: None, one_of: options.into(), default: None }
    }
}

setters!(TitledSingleSelectEnumSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_default(default: impl Into<String>),
});

/// Some of several values (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UntitledMultiSelectEnumSchema {
    /// Always `array`.
    pub r#type: ArrayType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The values.
    pub items: EnumItems,
    /// The values to start with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

/// The values of a multiple choice.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnumItems {
    /// Always `string`.
    pub r#type: StringType,
    /// The values.
    pub r#enum: Vec<String>,
}

impl UntitledMultiSelectEnumSchema {
    /// Some of these values.
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self {
            r#type: ArrayType,
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            items: EnumItems { r#type: StringType, r#enum: values.into_iter().map(Into::into).collect() },
            default: None,
        }
    }
}

setters!(UntitledMultiSelectEnumSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_min_items(min_items: u64),
    with_max_items(max_items: u64),
    with_default(default: impl Into<Vec<String>>),
});

/// Some of several values that have titles (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TitledMultiSelectEnumSchema {
    /// Always `array`.
    pub r#type: ArrayType,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The values.
    pub items: TitledEnumItems,
    /// The values to start with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

/// The values of a multiple choice, with titles.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TitledEnumItems {
    /// The values.
    pub any_of: Vec<EnumOption>,
}

impl TitledMultiSelectEnumSchema {
    /// Some of these values.
    pub fn new(options: impl Into<Vec<EnumOption>>) -> Self {
        Self {
            r#type: ArrayType,
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            items: TitledEnumItems { any_of: options.into() },
            default: None,
        }
    }
}

setters!(TitledMultiSelectEnumSchema {
    with_title(title: impl Into<String>),
    with_description(description: impl Into<String>),
    with_min_items(min_items: u64),
    with_max_items(max_items: u64),
    with_default(default: impl Into<Vec<String>>),
});
