//! JSON in the order in which it came, for people: a server puts first what matters first.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The members of an object, in their order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Members(pub(crate) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

/// The same JSON text with line breaks and indentation. Values stay as they are written.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                out.push('"');
                while let Some(character) = characters.next() {
                    out.push(character);
                    match character {
                        '\\' => out.extend(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(character);
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            character if character.is_ascii_whitespace() => {}
            character => out.push(character),
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pretty_is_what_the_library_writes_but_for_the_order() {
        for value in [
            json!(null),
            json!([]),
            json!({}),
            json!([1, 2.5, "a,b:{c}\"\\", [], {}, [[true]]]),
            json!({"a": {"b": [1, {"c": "d"}]}, "e": ""}),
        ] {
            let expected = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(pretty(&value.to_string()), expected);
            assert_eq!(pretty(&expected), expected);
        }
        assert_eq!(pretty(r#"{"z":1.0,"a":{ }}"#), "{\n  \"z\": 1.0,\n  \"a\": {}\n}");
    }

    #[test]
    fn members_keep_their_order() {
        let members: Members = serde_json::from_str(r#"{"z":1,"a":2}"#).unwrap();
        assert_eq!(members.0, [("z".to_owned(), json!(1)), ("a".to_owned(), json!(2))]);
    }
}
