//! What comes from a peer, as text that a terminal only shows.
//!
//! A terminal obeys control characters wherever they come from: it moves the cursor, changes what was written before,
//! fills the clipboard, answers as if somebody had typed. And Unicode has characters that hide text or turn it around.
//! All of them are made visible here, and everything that the program writes for people goes through here: see `output`.

use std::borrow::Cow;
use std::fmt::Write;

/// Text for people. Line breaks and tabs stay, everything else that a terminal would obey is written as an escape.
pub(crate) fn text(from_peer: &str) -> Cow<'_, str> {
    escaped(from_peer, |out, character, next| match character {
        '\n' | '\t' => out.push(character),
        // The other way to end a line.
        '\r' if next == Some('\n') => {}
        '\r' => out.push_str("\\r"),
        _ => {
            let _ = write!(out, "{}", character.escape_unicode());
        }
    })
}

/// JSON, which stays the same JSON: what is dangerous in its strings is written as JSON's own escapes. Control characters
/// of ASCII do not occur in JSON, but for those that stand between its parts.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    escaped(text, |out, character, _| match character {
        character if character.is_ascii() && character != '\u{7f}' => out.push(character),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    })
}

fn escaped(text: &str, escape: impl Fn(&mut String, char, Option<char>)) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match steers(character) {
            true => escape(&mut out, character, characters.peek().copied()),
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// Whether a character does more than to be seen. What joins letters and emoji (U+200C, U+200D, variation selectors) is
/// part of writing and stays.
fn steers(character: char) -> bool {
    matches!(character,
        // Controls, and those of the second set, which terminals obey as they do escape sequences.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // The direction of writing: what is read is not what is there.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Other ends of lines.
        | '\u{2028}' | '\u{2029}'
        // Text that is not seen.
        | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_lines_and_letters_and_nothing_that_steers() {
        for plain in ["", "a\n\tb\n", "äöü 漢字 🇫🇷 👩‍💻 ❤️", "نمی‌خواهم"] {
            assert_eq!(text(plain), plain);
        }
        assert_eq!(text("a\r\nb\rc"), "a\nb\\rc");
        assert_eq!(text("\x1b[2J\x07\x08\x7f\u{9b}31m"), r"\u{1b}[2J\u{7}\u{8}\u{7f}\u{9b}31m");
        assert_eq!(text("\u{202e}cba\u{2066}\u{200f}\u{2028}\u{85}"), r"\u{202e}cba\u{2066}\u{200f}\u{2028}\u{85}");
        assert_eq!(text("a\u{200b}\u{feff}\u{e0041}"), r"a\u{200b}\u{feff}\u{e0041}");
        // What went through once is harmless.
        assert_eq!(text(&text("\x1b")), r"\u{1b}");
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"a\u{9b}": "\x1b\x7f\u{202e}\u{e0041}\u{2028}ü\n"});
        let written = serde_json::to_string_pretty(&value).unwrap();
        let shown = json(&written);
        assert!(shown.contains('ü') && !shown.contains(|character: char| steers(character) && character != '\n'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
