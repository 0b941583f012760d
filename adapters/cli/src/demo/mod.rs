//! The demo server's tools, resources and prompts, one file each. They are small, but what they do is real. Nothing
//! here knows a runtime; `runtimes` puts them together.

pub(crate) mod chart;
pub(crate) mod code_review;
pub(crate) mod convert;
pub(crate) mod countdown;
pub(crate) mod echo;
pub(crate) mod greet;
pub(crate) mod guide;
mod png;
pub(crate) mod word_count;

use std::io::{IsTerminal, stderr, stdin};

use windlass::model::{CompleteParams, CompleteResult, ToolAnnotations};

use crate::output;

/// How the server introduces itself.
pub(crate) const NAME: &str = "windlass-demo";

/// How the server wants to be used, for the model to read.
pub(crate) const INSTRUCTIONS: &str = "\
A small server to try clients with. Count words with `word_count` and draw numbers with `chart` rather than guessing.
Convert units by reading demo://convert/{value}/{from}/{to}; demo://guide tells the rest.";

/// A person who starts the server by hand sees nothing happen; this tells why.
pub(crate) fn greet_people() {
    if stdin().is_terminal() {
        output::tell(
            "windlass: a server waits for a client on standard input; try `windlass list -- windlass serve`\n",
        );
    }
}

/// The same for a server that waits at a URL.
pub(crate) fn greet_people_at(url: &str) {
    if stderr().is_terminal() {
        output::tell(&format!("windlass: try `windlass list {url}` in another terminal; Ctrl-C ends this one\n"));
    }
}

/// The hints for a tool that changes nothing, knows nothing of the outside, and gives the same for the same.
fn pure() -> ToolAnnotations {
    ToolAnnotations::new().with_read_only_hint(true).with_idempotent_hint(true).with_open_world_hint(false)
}

/// Those of the values that go on from what was typed.
fn completions<'a>(asked: &CompleteParams, values: impl IntoIterator<Item = &'a str>) -> CompleteResult {
    let typed = asked.argument.value.to_lowercase();
    CompleteResult::new(values.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)))
}
