//! How many values a message has. A byte of text becomes up to eighty bytes of a tree, so that a limit of bytes alone is
//! none for whoever makes a tree of it.

use super::envelope::end_of_string;
use crate::json::MOST_LEVELS;

/// Whether a text has more values than `most`.
pub(super) fn are_more_than(most: usize, text: &str) -> bool {
    // The most that fit are in `[],[],`, which has two for three bytes: what is short need not be looked at.
    if text.len() / 3 * 2 + MOST_LEVELS < most {
        return false;
    }
    let bytes = text.as_bytes();
    let (mut count, mut at) = (1, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b',' | b'[' | b'{' => count += 1,
            _ => {}
        }
        at += 1;
    }
    count > most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        (0..).find(|most| !are_more_than(*most, text)).unwrap_or_default()
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(count("0"), 1);
        assert_eq!(count(r#"{"a":1,"b":[2,3]}"#), 5);
        assert_eq!(count(r#""[1,2,\",{3]""#), 1);
        assert_eq!(count(r#"["a,\\",1]"#), 3);
    }

    #[test]
    fn what_is_short_is_not_more_than_it_can_be() {
        let densest = alloc::format!("[{}[]]", "[],".repeat(5000));
        assert_eq!(count(&densest), 10_003);
        assert!(!are_more_than(10_003, &densest) && are_more_than(10_002, &densest));
        assert!(!are_more_than(1, ""));
    }
}
