//! What the generator of the official schemas got wrong, put right before anything is held against them.

use serde_json::{Map, Value, json};

/// Corrects the definitions of a schema.
pub(crate) fn correct(definitions: &mut Map<String, Value>) {
    // The form fields of type `number` can be filled in with 1.5, yet the content of the answer allows integers only.
    if let Some(content) = definitions.get_mut("ElicitResult") {
        allow(content, &["number"]);
    }
    // `JSONValue` stands for any JSON, yet numbers with a fraction and null are left out.
    if let Some(value) = definitions.get_mut("JSONValue") {
        allow(value, &["number", "null"]);
    }
}

/// Adds types wherever the choice is between string, integer and boolean.
fn allow(schema: &mut Value, types: &[&str]) {
    if schema.get("type") == Some(&json!(["string", "integer", "boolean"])) {
        schema["type"].as_array_mut().into_iter().for_each(|all| all.extend(types.iter().map(|&one| one.into())));
    }
    match schema {
        Value::Object(members) => members.values_mut().for_each(|member| allow(member, types)),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| allow(entry, types)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_changes() {
        let wrong = json!({"properties": {"content": {"anyOf": [{"type": ["string", "integer", "boolean"]}]}}});
        let mut definitions = Map::new();
        definitions.insert("ElicitResult".to_owned(), wrong.clone());
        definitions.insert("Other".to_owned(), wrong.clone());
        correct(&mut definitions);
        let types = &definitions["ElicitResult"]["properties"]["content"]["anyOf"][0]["type"];
        assert_eq!(types, &json!(["string", "integer", "boolean", "number"]));
        assert_eq!(definitions["Other"], wrong);
    }
}
