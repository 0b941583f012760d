//! A prompt, with completion of one of its arguments.

use std::collections::BTreeMap;

use windlass::RpcError;
use windlass::model::{CompleteParams, CompleteResult, GetPromptResult, Prompt, PromptArgument, PromptMessage};
use windlass::server::HandlerError;

pub(crate) const NAME: &str = "code_review";

const LANGUAGES: [&str; 18] = [
    "Bash",
    "C",
    "C#",
    "C++",
    "Elixir",
    "Go",
    "Haskell",
    "Java",
    "JavaScript",
    "Kotlin",
    "Lua",
    "OCaml",
    "Python",
    "Ruby",
    "Rust",
    "Swift",
    "TypeScript",
    "Zig",
];

pub(crate) fn definition() -> Prompt {
    Prompt::new(NAME)
        .with_title("Code review")
        .with_description("Asks for a review of a piece of code")
        .with_argument(PromptArgument::required("language").with_description("The programming language"))
        .with_argument(PromptArgument::required("code").with_description("The code to review"))
}

pub(crate) fn fill_in(arguments: &BTreeMap<String, String>) -> Result<GetPromptResult, HandlerError> {
    let argument = |name: &str| {
        let missing = || RpcError::invalid_params(format!("the prompt {NAME:?} needs the argument {name:?}"));
        arguments.get(name).ok_or_else(missing)
    };
    let (language, code) = (argument("language")?, argument("code")?);
    let fence = fence_around(code);
    let text = format!(
        "Review this {language} code. Look for mistakes first, then for what could be simpler. Quote the line that \
         each remark is about, and say what you would write instead.\n\n{fence}{}\n{}\n{fence}",
        language.to_lowercase(),
        code.trim_end(),
    );
    Ok(GetPromptResult::new(vec![PromptMessage::user(text)]).with_description(format!("A review of {language} code")))
}

pub(crate) fn complete(asked: &CompleteParams) -> CompleteResult {
    super::completions(asked, LANGUAGES)
}

/// A fence that the code itself does not close.
fn fence_around(code: &str) -> String {
    let longest = code.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass::model::CompletionReference;

    #[test]
    fn the_prompt_needs_both_arguments() {
        let arguments = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "Rust".to_owned())).collect();
        assert!(fill_in(&arguments(&["language", "code"])).is_ok());
        assert!(fill_in(&arguments(&["language"])).is_err());
    }

    #[test]
    fn languages_go_on_from_what_was_typed() {
        let complete = |typed: &str| {
            complete(&CompleteParams::new(CompletionReference::prompt(NAME), "language", typed)).completion.values
        };
        assert_eq!(complete("ja"), ["Java", "JavaScript"]);
        assert_eq!(complete("").len(), LANGUAGES.len());
        assert!(complete("cobol").is_empty());
    }

    #[test]
    fn a_fence_outlasts_the_code() {
        assert_eq!(fence_around("a ```` b"), "`````");
        assert_eq!(fence_around("plain"), "```");
    }
}
