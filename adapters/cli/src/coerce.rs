//! Typed text as JSON, by a JSON Schema.

use serde_json::{Number, Value};

/// References may go in circles; no honest schema is nested this deep.
const DEEPEST: usize = 8;

/// Schemas that are looked at for one argument. Those that branch in circles would never come to an end.
const MOST_VISITED: usize = 1_000;

/// The text as a value that `schema` allows; `root` is where its references lead. The most specific type wins, so that
/// `5` for "a string or an integer" is an integer. Without a type it is a string.
pub(crate) fn value(key: &str, text: &str, schema: &Value, root: &Value) -> Result<Value, String> {
    let mut types = types_of(schema, root);
    if types.is_empty() {
        return Ok(text.into());
    }
    // A string takes any text, so it comes last.
    types.sort_by_key(|name| *name == "string");
    let fitting = types.iter().find_map(|name| read(text, name));
    fitting.ok_or_else(|| {
        let wanted: Vec<_> = types.iter().map(|name| with_article(name)).collect();
        format!("the argument `{key}` must be {}, and `{text}` is not", wanted.join(" or "))
    })
}

/// The names of the types that a schema allows, for people.
pub(crate) fn type_name(schema: &Value, root: &Value) -> String {
    let mut types = types_of(schema, root);
    types.retain(|name| *name != "null");
    if types.is_empty() { "any".into() } else { types.join("|") }
}

/// The names of the types that a schema allows, each once.
fn types_of<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    let (mut types, mut left) = (Vec::new(), MOST_VISITED);
    collect_types(schema, root, DEEPEST, &mut left, &mut types);
    types
}

fn collect_types<'a>(schema: &'a Value, root: &'a Value, depth: usize, left: &mut usize, types: &mut Vec<&'a str>) {
    let (Some(depth), Some(fewer)) = (depth.checked_sub(1), left.checked_sub(1)) else { return };
    *left = fewer;
    let mut add = |name: &'a str| {
        if !types.contains(&name) && types.len() < MOST_VISITED {
            types.push(name);
        }
    };
    match &schema["type"] {
        Value::String(name) => add(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).take(MOST_VISITED).for_each(add),
        _ => {
            for alternative in
                ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| schema[name].as_array()).flatten()
            {
                collect_types(alternative, root, depth, left, types);
            }
            let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
            if let Some(target) = target {
                collect_types(target, root, depth, left, types);
            }
        }
    }
}

/// The text as a value of this type, if it is one.
fn read(text: &str, name: &str) -> Option<Value> {
    let parsed = || serde_json::from_str::<Value>(text).ok();
    match name {
        "null" => parsed().filter(Value::is_null),
        "boolean" => parsed().filter(Value::is_boolean),
        "integer" => parsed().filter(|value| value.is_i64() || value.is_u64()),
        "number" => match text.parse::<Number>() {
            Ok(number) => Some(number.into()),
            // What JSON does not write but people do, such as `.5`.
            Err(_) => text.parse().ok().and_then(Number::from_f64).map(Value::from),
        },
        "array" => parsed().filter(Value::is_array),
        "object" => parsed().filter(Value::is_object),
        // A type that JSON Schema does not have is for the server to judge.
        _ => Some(text.into()),
    }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => "null".into(),
        "integer" | "array" | "object" => format!("an {name}"),
        "boolean" => "a boolean (true or false)".into(),
        _ => format!("a {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn coerced(text: &str, schema: Value) -> Result<Value, String> {
        value("key", text, &schema, &schema)
    }

    fn typed(text: &str, name: &str) -> Option<Value> {
        coerced(text, json!({"type": name})).ok()
    }

    #[test]
    fn every_type_takes_its_own() {
        for (text, name, expected) in [
            ("5", "integer", json!(5)),
            ("-5", "integer", json!(-5)),
            ("18446744073709551615", "integer", json!(u64::MAX)),
            ("5", "number", json!(5)),
            ("-1.5e3", "number", json!(-1500.0)),
            (".5", "number", json!(0.5)),
            ("true", "boolean", json!(true)),
            ("[1, \"a\"]", "array", json!([1, "a"])),
            ("{\"a\":1}", "object", json!({"a": 1})),
            ("null", "null", json!(null)),
            ("5", "string", json!("5")),
            ("true", "string", json!("true")),
        ] {
            assert_eq!(typed(text, name), Some(expected), "{text} as {name}");
        }
    }

    #[test]
    fn schemas_that_branch_in_circles_come_to_an_end() {
        let many = vec![json!({"$ref": "#"}); 200];
        assert_eq!(coerced("5", json!({"anyOf": many})), Ok(json!("5")));
    }

    #[test]
    fn no_type_takes_another_ones() {
        for (text, name) in [
            ("", "integer"),
            ("1.5", "integer"),
            ("x", "number"),
            ("NaN", "number"),
            ("inf", "number"),
            ("yes", "boolean"),
            ("1", "boolean"),
            ("1,2", "array"),
            ("{}", "array"),
            ("[]", "object"),
        ] {
            assert_eq!(typed(text, name), None, "{text} as {name}");
        }
    }

    #[test]
    fn the_error_names_the_key_the_types_and_the_value() {
        let error = coerced("x", json!({"type": ["integer", "null"]})).unwrap_err();
        assert_eq!(error, "the argument `key` must be an integer or null, and `x` is not");
    }

    #[test]
    fn the_most_specific_alternative_wins() {
        let schema = json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]});
        assert_eq!(coerced("5", schema.clone()), Ok(json!(5)));
        assert_eq!(coerced("null", schema.clone()), Ok(json!(null)));
        assert_eq!(coerced("five", schema), Ok(json!("five")));
    }

    #[test]
    fn references_are_followed_but_not_for_ever() {
        let root = json!({"$defs": {"Count": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}}});
        assert_eq!(value("key", "5", &json!({"$ref": "#/$defs/Count"}), &root), Ok(json!(5)));
        assert_eq!(value("key", "5", &json!({"$ref": "#/$defs/Loop"}), &root), Ok(json!("5")));
        assert_eq!(value("key", "5", &json!({"$ref": "https://example.com/count"}), &root), Ok(json!("5")));
    }

    #[test]
    fn without_a_type_it_is_a_string() {
        for schema in [json!(null), json!(true), json!({}), json!({"type": 7}), json!({"type": "money"})] {
            assert_eq!(coerced("5", schema.clone()), Ok(json!("5")), "{schema}");
        }
    }

    #[test]
    fn types_have_names_for_people() {
        let name = |schema: Value| type_name(&schema, &schema);
        assert_eq!(name(json!({"type": "array"})), "array");
        assert_eq!(name(json!({"type": ["string", "null"]})), "string");
        assert_eq!(name(json!({"anyOf": [{"type": "string"}, {"type": "number"}]})), "string|number");
        assert_eq!(name(json!({})), "any");
    }
}
