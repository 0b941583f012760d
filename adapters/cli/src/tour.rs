//! What is shown when nothing was typed: a walk through the demo server.

use crate::arguments::Arguments;
use crate::invocation::{Options, ToolCall};
use crate::listing::{Listing, introduction};

/// What the tour calls, one after the other: something that takes a moment, and something with a structured result.
const CALLS: [(&str, &[&str]); 2] = [
    ("countdown", &["steps=5", "milliseconds=120"]),
    ("word_count", &["text=One drum, any crank: the engine does no I/O, the adapter turns it."]),
];

/// The calls of the tour, each with what to type for it.
pub(crate) fn calls() -> impl Iterator<Item = (String, ToolCall)> {
    CALLS.into_iter().map(|(tool, words)| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let typed = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let arguments = Arguments::parse(&words).unwrap_or_else(|error| unreachable!("{error}"));
        (format!("\n$ windlass call {tool} {typed} -- windlass serve\n"), ToolCall { tool: tool.to_owned(), arguments })
    })
}

pub(crate) fn opening(options: &Options, listing: &Listing) -> String {
    let runtime = options.runtime.name();
    format!(
        "windlass {} on {runtime}, with its demo server as a child\nconnected to {}\n\ntools\n{}",
        env!("CARGO_PKG_VERSION"),
        introduction(&listing.peer),
        listing.tools_in_short(),
    )
}

pub(crate) const CLOSING: &str = "
Any other server works the same way: windlass list -- COMMAND ARGS…, or windlass list URL
More: windlass help
";

fn quoted(word: &str) -> String {
    match word.split_once('=') {
        Some((key, value)) if value.contains(' ') => format!("{key}=\"{value}\""),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_can_be_typed() {
        assert_eq!(calls().count(), CALLS.len());
        assert_eq!(quoted("a=b c"), "a=\"b c\"");
        assert_eq!(quoted("a=b"), "a=b");
    }
}
