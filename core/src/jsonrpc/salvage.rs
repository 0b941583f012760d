//! Finding out whose message was lost when a line was too long to keep.
//!
//! An oversized request that goes unanswered lets its sender wait for ever, and so does an oversized answer that is
//! dropped. The id is nearly always among the first or the last bytes.

use serde_json::value::RawValue;

use super::Id;
use super::envelope::end_of_string;
use crate::codec::ndjson::Oversized;

/// What could be told of a lost message.
#[derive(Debug, PartialEq)]
pub(crate) struct Salvaged {
    pub(crate) id: Id,
    /// Whether it was an answer rather than a request.
    pub(crate) response: bool,
}

/// Looks for the id of an oversized line.
pub(crate) fn salvage(line: &Oversized) -> Option<Salvaged> {
    let mut id = None;
    let mut method = false;
    let mut rest = line.head.trim_ascii_start().strip_prefix(b"{")?;
    while let Some((name, value, after)) = flat_member(rest) {
        match name {
            b"id" => id = id_from(value),
            b"method" => method = true,
            _ => {}
        }
        let Some(next) = after.trim_ascii_start().strip_prefix(b",") else { break };
        rest = next;
    }
    let id = id.or_else(|| id_at_end(&line.tail))?;
    Some(Salvaged { id, response: !method })
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
    Id::from_raw(serde_json::from_slice::<&RawValue>(text).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn salvaged(head: &str, tail: &str) -> Option<(Id, bool)> {
        let line = crate::codec::ndjson::Oversized::excerpts(head.as_bytes(), tail.as_bytes());
        salvage(&line).map(|found| (found.id, found.response))
    }

    #[test]
    fn ids_are_found_at_either_end() {
        assert_eq!(salvaged(r#"{"jsonrpc":"2.0","id":7,"result":{"x":"#, "}}"), Some((7.into(), true)));
        assert_eq!(salvaged(r#"{"id":"a b","method":"m","params":{"#, "}}"), Some(("a b".into(), false)));
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#"},"jsonrpc":"2.0","id":9}"#), Some((9.into(), true)));
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#"},"id":9,"jsonrpc":"2.0"}"#), Some((9.into(), true)));
        assert_eq!(salvaged(r#"{"method":"m","params":{"x":"#, r#"},"id":9}"#), Some((9.into(), false)));
    }

    #[test]
    fn an_inner_id_is_not_taken_for_the_envelopes() {
        assert_eq!(salvaged(r#"{"result":{"x":"#, r#""id":9}}"#), None);
        assert_eq!(salvaged("xxxxx", "xxxxx"), None);
        assert_eq!(salvaged("", ""), None);
    }
}
