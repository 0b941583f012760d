//! Comparing a transcript with the one that was expected.

use std::fmt::Write as _;
use std::path::Path;

/// The variable that makes [`assert_transcript_file`] rewrite what is expected.
pub const UPDATE: &str = "UPDATE_TRANSCRIPTS";

/// Compares a transcript with an expected one, and shows where they differ. White space around the lines does not
/// count, so that expectations may be indented.
///
/// # Panics
///
/// If they differ.
///
/// ```
/// windlass_sim::assert_transcript("! client: ready\n", "
///     ! client: ready
/// ");
/// ```
#[track_caller]
pub fn assert_transcript(actual: &str, expected: &str) {
    let (actual, expected) = (lines(actual), lines(expected));
    assert!(actual == expected, "the transcript is not the expected one:\n{}", difference(&expected, &actual));
}

/// Compares a transcript with a file. With the environment variable `UPDATE_TRANSCRIPTS=1` the file is written
/// instead; read the difference before keeping it.
///
/// # Panics
///
/// If they differ, or the file is missing.
#[track_caller]
pub fn assert_transcript_file(actual: &str, path: impl AsRef<Path>) {
    let path = path.as_ref();
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, actual));
        assert!(written.is_ok(), "{} cannot be written: {written:?}", path.display());
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let (actual, expected) = (lines(actual), lines(&expected));
    assert!(
        actual == expected,
        "the transcript is not the one in {} (set {UPDATE}=1 to rewrite it):\n{}",
        path.display(),
        difference(&expected, &actual)
    );
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Both texts in one: `-` before what was expected, `+` before what came, nothing before what they share.
fn difference(expected: &[&str], actual: &[&str]) -> String {
    // shared[i][j] is the length of the longest common sequence of what is left from i and j on.
    let mut shared = vec![vec![0_usize; actual.len() + 1]; expected.len() + 1];
    for i in (0..expected.len()).rev() {
        for j in (0..actual.len()).rev() {
            shared[i][j] = if expected[i] == actual[j] {
                shared[i + 1][j + 1] + 1
            } else {
                shared[i + 1][j].max(shared[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < expected.len() || j < actual.len() {
        let (mark, line) = match (expected.get(i), actual.get(j)) {
            (Some(wanted), Some(came)) if wanted == came => {
                (i, j) = (i + 1, j + 1);
                (' ', wanted)
            }
            (Some(wanted), came) if came.is_none() || shared[i + 1][j] >= shared[i][j + 1] => {
                i += 1;
                ('-', wanted)
            }
            (_, Some(came)) => {
                j += 1;
                ('+', came)
            }
            (_, None) => break,
        };
        let _ = writeln!(text, "{mark} {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_keeps_what_is_shared() {
        assert_eq!(difference(&["a", "b", "c"], &["a", "x", "c", "d"]), "  a\n- b\n+ x\n  c\n+ d\n");
        assert_eq!(difference(&["a"], &[]), "- a\n");
    }
}
