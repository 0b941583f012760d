//! A tool with a structured result.

use serde::{Deserialize, Serialize};
use serde_json::json;
use windlass::Json;
use windlass::model::{CallToolResult, Tool};
use windlass::server::HandlerError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    text: String,
}

/// The result. The output schema describes it.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts<'a> {
    characters: usize,
    words: usize,
    lines: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_word: Option<&'a str>,
}

pub(crate) fn definition() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text to count in"}},
        "required": ["text"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "characters": {"type": "integer", "description": "Unicode characters, line ends included"},
            "words": {"type": "integer", "description": "What stands between white space"},
            "lines": {"type": "integer"},
            "longestWord": {"type": "string", "description": "Without punctuation around it; absent if there is none"},
        },
        "required": ["characters", "words", "lines"],
    });
    Tool::new("word_count", Json::from(input))
        .with_title("Word count")
        .with_description("Counts the characters, words and lines of a text, exactly")
        .with_output_schema(Json::from(output))
        .with_annotations(super::pure())
}

pub(crate) fn run(arguments: &Arguments) -> Result<CallToolResult, HandlerError> {
    Ok(CallToolResult::structured(&count(&arguments.text))?)
}

fn count(text: &str) -> Counts<'_> {
    let longest_word = text
        .split_whitespace()
        .map(|word| word.trim_matches(|character: char| !character.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        // Of several that are longest the last is taken, so this begins at the end to find the first.
        .rev()
        .max_by_key(|word| word.chars().count());
    Counts {
        characters: text.chars().count(),
        words: text.split_whitespace().count(),
        lines: text.lines().count(),
        longest_word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts() {
        assert_eq!(count(""), Counts { characters: 0, words: 0, lines: 0, longest_word: None });
        let counts = count("Ahoy, «größte»\ncaptain! —\n");
        assert_eq!(counts, Counts { characters: 26, words: 4, lines: 2, longest_word: Some("captain") });
        assert_eq!(count("one two").longest_word, Some("one"));
    }
}
