//! The fields of a server's question, and what the user types into them.

use serde_json::Value;
use windlass::model::ElicitSchema;

use crate::coerce;
use crate::table::{cut, first_line};

/// Choices that are shown. Whoever offers more is not waited for to be read through; they can be typed all the same.
const MOST_SHOWN: usize = 50;

/// Characters of a default that is shown.
const DEFAULT: usize = 200;

/// One field of a form.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    schema: Value,
    required: bool,
    /// The values to choose from with their titles, if there is a choice.
    choices: Vec<(String, String)>,
    /// Whether several may be chosen.
    many: bool,
}

/// The fields of a form, in the order in which they are to be asked for.
pub(crate) fn fields(schema: &ElicitSchema) -> Vec<Field> {
    let field = |(name, property): &(String, _)| {
        // Through text, because what is kept as text can only be read from text.
        let text = serde_json::to_string(property).unwrap_or_default();
        Field::new(name, serde_json::from_str(&text).unwrap_or_default(), schema.is_required(name))
    };
    schema.properties.iter().map(field).collect()
}

impl Field {
    fn new(name: &str, schema: Value, required: bool) -> Self {
        let many = schema["type"] == "array";
        let choices = choices(if many { &schema["items"] } else { &schema });
        Self { name: name.to_owned(), schema, required, choices, many }
    }

    /// What to show above the line for the answer.
    pub(crate) fn question(&self) -> String {
        let mut question = first_line(self.schema["title"].as_str().unwrap_or(&self.name));
        if let Some(description) = self.schema["description"].as_str() {
            question += &format!(": {}", first_line(description));
        }
        for (number, (value, title)) in (1..).zip(self.choices.iter().take(MOST_SHOWN)) {
            let title = if title == value { String::new() } else { format!(" ({})", first_line(title)) };
            question += &format!("\n  {number}. {}{title}", first_line(value));
        }
        if let Some(more @ 1..) = self.choices.len().checked_sub(MOST_SHOWN) {
            question += &format!("\n  and {more} more");
        }
        question
    }

    /// What to show before the cursor.
    pub(crate) fn prompt(&self) -> String {
        let kind = match (self.choices.is_empty(), self.many) {
            (true, _) => first_line(&coerce::type_name(&self.schema, &self.schema)),
            (false, false) => "one of these".into(),
            (false, true) => "some of these, with commas".into(),
        };
        match (self.default(), self.required) {
            (Some(default), _) => format!("{kind}, empty for {}> ", cut(&first_line(&default.to_string()), DEFAULT)),
            (None, true) => format!("{kind}> "),
            (None, false) => format!("{kind}, empty to leave out> "),
        }
    }

    /// What the typed line means: a value, or `None` to leave the field out.
    pub(crate) fn read(&self, line: &str) -> Result<Option<Value>, String> {
        let line = line.trim();
        if line.is_empty() {
            return match (self.default(), self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err("this has to be filled in".into()),
            };
        }
        if self.choices.is_empty() {
            return coerce::value(&self.name, line, &self.schema, &self.schema).map(Some);
        }
        if !self.many {
            return self.choice(line).map(Some);
        }
        line.split(',')
            .map(|part| self.choice(part.trim()))
            .collect::<Result<_, _>>()
            .map(|all| Some(Value::Array(all)))
    }

    fn default(&self) -> Option<&Value> {
        self.schema.get("default")
    }

    /// A choice by its value, its title or its number.
    fn choice(&self, typed: &str) -> Result<Value, String> {
        let by_text = self.choices.iter().find(|(value, title)| value == typed || title == typed);
        let by_number = || self.choices.get(typed.parse::<usize>().ok()?.checked_sub(1)?);
        match by_text.or_else(by_number) {
            Some((value, _)) => Ok(value.clone().into()),
            None => Err(format!("`{typed}` is not among the choices")),
        }
    }
}

/// The choices of a schema in each of the forms that the specification has had.
fn choices(schema: &Value) -> Vec<(String, String)> {
    if let Some(values) = schema["enum"].as_array() {
        let title = |at: usize, value: &str| schema["enumNames"][at].as_str().unwrap_or(value).to_owned();
        let values = values.iter().filter_map(Value::as_str).enumerate();
        return values.map(|(at, value)| (value.to_owned(), title(at, value))).collect();
    }
    let options = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let option = |option: &Value| {
        let value = option["const"].as_str()?;
        Some((value.to_owned(), option["title"].as_str().unwrap_or(value).to_owned()))
    };
    options.into_iter().flatten().filter_map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(schema: Value, required: bool) -> Field {
        Field::new("field", schema, required)
    }

    #[test]
    fn plain_fields_follow_their_type() {
        assert_eq!(field(json!({"type": "string"}), true).read(" Ada \n"), Ok(Some(json!("Ada"))));
        assert_eq!(field(json!({"type": "integer"}), true).read("3"), Ok(Some(json!(3))));
        assert!(field(json!({"type": "integer"}), true).read("three").unwrap_err().contains("an integer"));
        assert_eq!(field(json!({"type": "boolean"}), true).read("true"), Ok(Some(json!(true))));
    }

    #[test]
    fn an_empty_line_is_the_default_or_nothing() {
        assert_eq!(field(json!({"type": "integer", "default": 7}), true).read("\n"), Ok(Some(json!(7))));
        assert_eq!(field(json!({"type": "integer"}), false).read("\n"), Ok(None));
        assert!(field(json!({"type": "integer"}), true).read("\n").is_err());
    }

    #[test]
    fn choices_go_by_value_title_or_number() {
        let titled =
            json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]});
        for typed in ["g", "Green", "2"] {
            assert_eq!(field(titled.clone(), true).read(typed), Ok(Some(json!("g"))), "{typed}");
        }
        for typed in ["3", "0", "blue"] {
            assert!(field(titled.clone(), true).read(typed).is_err(), "{typed}");
        }
        let old = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
        assert_eq!(field(old, true).read("Red"), Ok(Some(json!("r"))));
    }

    #[test]
    fn several_choices_are_separated_by_commas() {
        let many = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}});
        assert_eq!(field(many.clone(), true).read("a, 3"), Ok(Some(json!(["a", "c"]))));
        assert!(field(many, true).read("a, x").is_err());
    }

    #[test]
    fn a_question_shows_what_can_be_answered() {
        let style = json!({"type": "string", "title": "Style", "description": "How", "enum": ["plain", "warm"]});
        let style = field(style, false);
        assert_eq!(style.question(), "Style: How\n  1. plain\n  2. warm");
        assert_eq!(style.prompt(), "one of these, empty to leave out> ");
    }
}
