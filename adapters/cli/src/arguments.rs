//! The arguments of a tool as they are typed: `key=value`, `key:=JSON`, or one JSON object.

use serde_json::{Map, Value};
use windlass::Json;
use windlass::link::http::redacted;

use crate::coerce;

/// What was typed after a tool's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arguments {
    /// All arguments at once.
    Object(Map<String, Value>),
    /// One by one.
    Pairs(Vec<(String, Given)>),
}

/// The value of one argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// Its type is for the schema to say.
    Text(String),
    /// It is what it is.
    Json(Value),
}

impl Arguments {
    /// Takes the words apart. An error says what is wrong with which of them.
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        if let [object] = words {
            if object.trim_start().starts_with('{') {
                return serde_json::from_str(object)
                    .map(Self::Object)
                    .map_err(|error| format!("`{object}` is not a JSON object: {error}"));
            }
        }
        let mut pairs: Vec<(String, Given)> = Vec::new();
        for word in words {
            let (key, given) = pair(word)?;
            if pairs.iter().any(|(other, _)| other == key) {
                return Err(format!("the argument `{key}` is given twice; an array is written `{key}:=[…]`"));
            }
            pairs.push((key.to_owned(), given));
        }
        Ok(Self::Pairs(pairs))
    }

    /// Whether the types of some values are for the tool's schema to say.
    pub(crate) fn need_schema(&self) -> bool {
        matches!(self, Self::Pairs(pairs) if pairs.iter().any(|(_, given)| matches!(given, Given::Text(_))))
    }

    /// The arguments as a JSON object, by the input schema of the tool. What the schema does not know is a string.
    pub(crate) fn into_object(self, schema: Option<&Json>) -> Result<Map<String, Value>, String> {
        let pairs = match self {
            Self::Object(object) => return Ok(object),
            Self::Pairs(pairs) => pairs,
        };
        // A schema that is no JSON has nothing to say about types.
        let schema: Value = schema.and_then(|schema| schema.decode().ok()).unwrap_or_default();
        let value = |key: &str, given| match given {
            Given::Json(value) => Ok(value),
            Given::Text(text) => coerce::value(key, &text, &schema["properties"][key], &schema),
        };
        pairs.into_iter().map(|(key, given)| value(&key, given).map(|value| (key, value))).collect()
    }
}

fn pair(word: &str) -> Result<(&str, Given), String> {
    // One that was meant as a URL may hold a secret.
    let shown = || if word.contains("://") { redacted(word) } else { word.to_owned() };
    let not_a_pair = || format!("`{}` is no argument; write key=value, key:=JSON, or one JSON object for all", shown());
    let (key, value) = word.split_once('=').ok_or_else(not_a_pair)?;
    let (key, given) = match key.strip_suffix(':') {
        None => (key, Given::Text(value.to_owned())),
        Some(key) => {
            let value = serde_json::from_str(value)
                .map_err(|error| format!("the value of `{key}` is not JSON: {error}; a string is written {key}=…"))?;
            (key, Given::Json(value))
        }
    };
    // A word that begins with a brace was meant as an object, and is not the only word.
    if key.is_empty() || key.starts_with('{') { Err(not_a_pair()) } else { Ok((key, given)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(words: &[&str]) -> Result<Value, String> {
        let schema = Json::from(json!({
            "type": "object",
            "properties": {"count": {"type": "integer"}, "name": {"type": "string"}, "list": {"type": "array"}},
        }));
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Arguments::parse(&words)?.into_object(Some(&schema)).map(Value::Object)
    }

    #[test]
    fn values_follow_the_schema() {
        assert_eq!(object(&["count=3", "name=3", "list=[1]"]), Ok(json!({"count": 3, "name": "3", "list": [1]})));
        assert_eq!(object(&[]), Ok(json!({})));
    }

    #[test]
    fn unknown_keys_are_strings_and_values_may_hold_anything() {
        assert_eq!(object(&["other=3", "name=a=b:=c"]), Ok(json!({"other": "3", "name": "a=b:=c"})));
        assert_eq!(object(&["name="]), Ok(json!({"name": ""})));
    }

    #[test]
    fn raw_json_needs_no_schema() {
        assert_eq!(object(&["count:=\"x\"", "new:={\"a\":1}"]), Ok(json!({"count": "x", "new": {"a": 1}})));
        assert_eq!(object(&["{\"count\": \"x\"}"]), Ok(json!({"count": "x"})));
        let need_schema = |word: &str| Arguments::parse(&[word.to_owned()]).unwrap().need_schema();
        assert!(need_schema("a=1") && !need_schema("a:=1") && !need_schema("{}"));
    }

    #[test]
    fn a_missing_schema_makes_strings() {
        let arguments = Arguments::parse(&["count=3".to_owned()]).unwrap();
        assert_eq!(arguments.into_object(None).map(Value::Object), Ok(json!({"count": "3"})));
    }

    #[test]
    fn mistakes_name_the_word() {
        for (words, part) in [
            (&["count=x"][..], "`count`"),
            (&["name"], "`name`"),
            (&["=x"], "`=x`"),
            (&["count:=x"], "`count`"),
            (&["count=1", "count=2"], "twice"),
            (&["{\"count\"}"], "JSON object"),
            (&["{\"a\":\"=\"}", "count=1"], "one JSON object for all"),
        ] {
            let complaint = object(words).unwrap_err();
            assert!(complaint.contains(part), "{words:?}: {complaint}");
        }
    }
}
