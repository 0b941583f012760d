//! Reading transcripts: `> …` is a line from client to server, `< …` one from server to client.

use windlass_sim::Side;

/// What a transcript adds to a line that was begun and never ended.
const UNFINISHED: &str = " (without a newline)";

/// A line that was on a wire.
#[derive(Debug, PartialEq)]
pub struct Line<'a> {
    /// Who wrote it.
    pub sender: Side,
    /// What it says.
    pub text: &'a str,
    /// Whether the transcript has only its beginning, because it was too long to be read by anybody.
    pub is_cut: bool,
    /// Whether it was begun and never ended.
    pub is_unfinished: bool,
}

/// The lines that were on the wire, in order. What programs saw and when is left out.
pub fn lines(transcript: &str) -> impl Iterator<Item = Line<'_>> {
    transcript.lines().filter_map(|line| {
        let (sender, text) = match line.split_at_checked(2)? {
            ("> ", text) => (Side::Client, text),
            ("< ", text) => (Side::Server, text),
            _ => return None,
        };
        let is_cut = text.ends_with(" bytes)") && text.contains("… (");
        Some(Line { sender, text: as_received(text), is_cut, is_unfinished: text.ends_with(UNFINISHED) })
    })
}

/// The text without what a receiver ignores around a frame, which transcripts write out to make it visible.
fn as_received(text: &str) -> &str {
    let text = text.strip_suffix(UNFINISHED).unwrap_or(text);
    let text = text.strip_prefix("\\u{feff}").or(text.strip_prefix('\u{feff}')).unwrap_or(text);
    text.strip_suffix("\\r").unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wire_lines_are_read() {
        let text =
            "> {\"a\":1}\n! client: ready\n@ 3s\n< \\u{feff} 7 \\r\n> [ (without a newline)\n< [{… (5806 bytes)\n";
        let line = |sender, text, is_cut| Line { sender, text, is_cut, is_unfinished: text == "[" };
        let expected = [
            line(Side::Client, "{\"a\":1}", false),
            line(Side::Server, "7", false),
            line(Side::Client, "[", false),
            line(Side::Server, "[{… (5806 bytes)", true),
        ];
        assert_eq!(lines(text).collect::<Vec<_>>(), expected);
    }
}
