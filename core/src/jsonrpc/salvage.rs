//! Finding out whose message was lost when a line was too long to keep.
//!
//! An oversized request that goes unanswered lets its sender wait for ever, and so does an oversized answer that is
//! dropped. The id is nearly always among the first or the last bytes.

use super::envelope::end_of_string;
use super::{Id, Malformed};
use crate::codec::ndjson::Oversized;
use crate::json::JsonText;

/// Finds out what an oversized line was, as far as its ends tell.
pub(crate) fn salvage(line: &Oversized, mut malformed: Malformed) -> Malformed {
    let Some(mut rest) = line.head.trim_ascii_start().strip_prefix(b"{") else { return malformed };
    let mut asks = false;
    while let Some((name, value, after)) = flat_member(rest) {
        match name {
            b"id" => malformed.id = id_from(value),
            b"method" => asks = true,
            _ => {}
        }
        let Some(next) = after.trim_ascii_start().strip_prefix(b",") else { break };
        rest = next;
    }
    // Where the flat members end, the large one begins; its name tells as well.
    let large = rest.trim_ascii_start();
    asks |= large.starts_with(b"\"params\"");
    malformed.response = !asks && (large.starts_with(b"\"result\"") || large.starts_with(b"\"error\""));
    malformed.id = malformed.id.or_else(|| id_at_end(&line.tail));
    malformed.notification = asks && malformed.id.is_none();
    malformed
}

/// The id in `…,"id":7}` or `…,"id":7,"jsonrpc":"2.0"}`: followed by flat members only, so it is the envelope's own.
fn id_at_end(tail: &[u8]) -> Option<Id> {
    let at = memchr::memmem::rfind(tail, br#""id""#)?;
    let (_, value, mut rest) = flat_member(&tail[at..])?;
    while let Some(next) = rest.trim_ascii_start().strip_prefix(b",") {
        rest = flat_member(next)?.2;
    }
    if rest.trim_ascii() == b"}" { id_from(value) } else { None }
}

/// Reads `"name": scalar` and returns the name, the scalar's text and what follows.
fn flat_member(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let text = text.trim_ascii_start().strip_prefix(b"\"")?;
    let quote = end_of_string(text, 0);
    let name = text.get(..quote)?;
    let value = text.get(quote + 1..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let end = match value.first()? {
        b'"' => end_of_string(value, 1) + 1,
        b'{' | b'[' => return None,
        _ => value.iter().position(|byte| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace())?,
    };
    Some((name, value.get(..end)?, value.get(end..)?))
}

fn id_from(text: &[u8]) -> Option<Id> {
    Id::from_text(JsonText::parse(core::str::from_utf8(text).ok()?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::MalformedKind;

    /// The id that was found, and whether the line was a response.
    fn salvaged(head: &str, tail: &str) -> (Option<Id>, bool) {
        let line = Oversized::excerpts(head.as_bytes(), tail.as_bytes());
        let found = salvage(&line, Malformed::new(MalformedKind::TooLong, ""));
        (found.id, found.response)
    }

    #[test]
    fn ids_are_found_at_either_end() {
        assert_eq!(salvaged(r#"{"jsonrpc":"2.0","id":7,"result":{"x":"#, "}}"), (Some(7.into()), true));
        assert_eq!(salvaged(r#"{"id":"a b","method":"m","params":{"#, "}}"), (Some("a b".into()), false));
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#"},"jsonrpc":"2.0","id":9}"#), (Some(9.into()), true));
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#"},"id":9,"jsonrpc":"2.0"}"#), (Some(9.into()), true));
        assert_eq!(salvaged(r#"{"method":"m","params":{"x":"#, r#"},"id":9}"#), (Some(9.into()), false));
    }

    #[test]
    fn what_is_escaped_in_a_string_ends_nothing() {
        // A quote, a backslash before the end, and what looks like a member.
        assert_eq!(salvaged(r#"{"id":"a\"b","method":"m","params":{"#, "}}"), (Some("a\"b".into()), false));
        assert_eq!(salvaged(r#"{"x":"\\","id":7,"result":{"x":"#, "}}"), (Some(7.into()), true));
        assert_eq!(salvaged(r#"{"x":"\",\"id\":8,\"","id":7,"result":{"x":"#, "}}"), (Some(7.into()), true));
        assert_eq!(salvaged(r#"{"\"id":8,"id":7,"result":{"x":"#, "}}"), (Some(7.into()), true));
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#"},"id":"\"","x":"\"}"}"#), (Some("\"".into()), true));
        // A string that does not end in what is kept tells nothing.
        assert_eq!(salvaged(r#"{"x":"\"#, ""), (None, false));
    }

    #[test]
    fn an_inner_id_is_not_taken_for_the_envelopes() {
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#""id":9}}"#), (None, true));
        assert_eq!(salvaged("xxxxx", "xxxxx"), (None, false));
        assert_eq!(salvaged("", ""), (None, false));
    }

    #[test]
    fn what_asks_without_an_id_is_a_notification() {
        for head in [r#"{"method":"m","params":{"x":"#, r#"{"jsonrpc":"2.0","params":{"x":"#] {
            let line = Oversized::excerpts(head.as_bytes(), b"}}");
            assert!(salvage(&line, Malformed::new(MalformedKind::TooLong, "")).notification);
        }
    }
}
