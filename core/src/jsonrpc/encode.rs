//! Writing envelopes: straight into the outbox, serialised once.
//!
//! The engine adds members of its own to what the caller serialises (`_meta` keys, `resultType`). They are spliced
//! into the text around the caller's object, so that nothing is serialised twice or held as a tree.
//!
//! Whoever writes a message is told where its parameters or its result stand. A message is one line, and how it ends is the
//! business of whoever sends it.

use alloc::vec::Vec;
use core::ops::Range;

use serde::Serialize;
use serde::ser::Error as _;

use super::{Id, RpcError};
use crate::json::write_json;

/// Members that the engine adds to a params or result object.
#[derive(Clone, Copy, Default)]
pub(crate) struct Splice<'a> {
    /// Members of the object itself, as JSON text without braces: `"resultType":"complete"`.
    pub(crate) members: &'a [u8],
    /// Members of its `_meta`, likewise.
    pub(crate) meta: &'a [u8],
}

/// Appends a request. On an error of the caller's `Serialize`, `out` is as it was.
pub(crate) fn encode_request<P: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    id: i64,
    method: &str,
    params: &P,
    splice: Splice<'_>,
) -> Result<Range<usize>, serde_json::Error> {
    message(out, |out| {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        write_json(out, &id)?;
        method_and_params(out, method, params, splice)
    })
}

/// Appends a notification.
pub(crate) fn encode_notification<P: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    method: &str,
    params: &P,
    splice: Splice<'_>,
) -> Result<Range<usize>, serde_json::Error> {
    message(out, |out| {
        out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        method_and_params(out, method, params, splice)
    })
}

/// Appends a successful response.
pub(crate) fn encode_result<R: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    id: &Id,
    result: &R,
    splice: Splice<'_>,
) -> Result<Range<usize>, serde_json::Error> {
    message(out, |out| {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        write_json(out, id)?;
        out.extend_from_slice(br#","result":"#);
        let start = out.len();
        write_object(out, result, splice)?;
        let end = out.len();
        out.push(b'}');
        Ok(start..end)
    })
}

/// Appends an error response. Without an id the member is left out, or null for the revisions that require it.
pub(crate) fn encode_error(
    out: &mut Vec<u8>,
    id: Option<&Id>,
    null_id: bool,
    error: &RpcError,
) -> Result<Range<usize>, serde_json::Error> {
    message(out, |out| {
        out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        match id {
            Some(id) => {
                out.extend_from_slice(br#","id":"#);
                write_json(out, id)?;
            }
            None if null_id => out.extend_from_slice(br#","id":null"#),
            None => {}
        }
        out.extend_from_slice(br#","error":"#);
        let start = out.len();
        write_json(out, error)?;
        let end = out.len();
        out.push(b'}');
        Ok(start..end)
    })
}

/// Writes a message, or nothing. Text that is passed through as it came may be pretty-printed. Between tokens a newline may
/// as well be a blank, and inside strings JSON has no raw newline, so replacing the byte never changes the meaning.
fn message(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<Range<usize>, serde_json::Error>,
) -> Result<Range<usize>, serde_json::Error> {
    let start = out.len();
    let written = write(out);
    match written {
        Ok(_) => {
            let mut from = start;
            while let Some(found) = memchr::memchr2(b'\n', b'\r', &out[from..]) {
                out[from + found] = b' ';
                from += found + 1;
            }
        }
        Err(_) => out.truncate(start),
    }
    written
}

fn method_and_params<P: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    method: &str,
    params: &P,
    splice: Splice<'_>,
) -> Result<Range<usize>, serde_json::Error> {
    out.extend_from_slice(br#","method":"#);
    write_json(out, method)?;
    let before = out.len();
    out.extend_from_slice(br#","params":"#);
    let start = out.len();
    write_object(out, params, splice)?;
    let mut content = start..out.len();
    if &out[start..] == b"{}" {
        out.truncate(before);
        content = before..before;
    }
    out.push(b'}');
    Ok(content)
}

/// Appends `value`, which must serialise as an object (or null, taken for an empty one), with the splice inside.
pub(crate) fn write_object<V: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    value: &V,
    splice: Splice<'_>,
) -> Result<(), serde_json::Error> {
    const OWN_META: &[u8] = br#"{"_meta":{"#;

    let spliced = !splice.members.is_empty() || !splice.meta.is_empty();
    if spliced {
        out.push(b'{');
        out.extend_from_slice(splice.members);
    }
    if !splice.meta.is_empty() {
        if !splice.members.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(br#""_meta":{"#);
        out.extend_from_slice(splice.meta);
        out.push(b'}');
    }

    let start = out.len();
    write_json(out, value)?;
    if &out[start..] == b"null" {
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
    if out[start] != b'{' {
        return Err(serde_json::Error::custom("params and results are JSON objects"));
    }
    if !spliced {
        return Ok(());
    }
    if out[start + 1] == b'}' {
        out.remove(start);
    } else if !splice.meta.is_empty() && out[start..].starts_with(OWN_META) {
        // The caller has a `_meta` of its own: both become one, `…,"_meta":{ours` `,` `theirs}…`.
        let theirs = start + OWN_META.len();
        if out[theirs] == b'}' {
            out.drain(start - 1..theirs);
        } else {
            out[start - 1] = b',';
            out.drain(start..theirs);
        }
    } else {
        out[start] = b',';
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: serde_json::Value, members: &str, meta: &str) -> alloc::string::String {
        let mut out = b"before".to_vec();
        write_object(&mut out, &value, Splice { members: members.as_bytes(), meta: meta.as_bytes() }).unwrap();
        alloc::string::String::from_utf8(out).unwrap().strip_prefix("before").unwrap().into()
    }

    #[test]
    fn members_and_meta_are_spliced_into_any_object() {
        assert_eq!(object(json!({}), "", ""), "{}");
        assert_eq!(object(json!(null), "", ""), "{}");
        assert_eq!(object(json!({"a":1}), "", ""), r#"{"a":1}"#);
        assert_eq!(object(json!({}), r#""r":1"#, ""), r#"{"r":1}"#);
        assert_eq!(object(json!({"a":1}), r#""r":1"#, ""), r#"{"r":1,"a":1}"#);
        assert_eq!(object(json!({"a":1}), "", r#""m":2"#), r#"{"_meta":{"m":2},"a":1}"#);
        assert_eq!(object(json!({"a":1}), r#""r":1"#, r#""m":2"#), r#"{"r":1,"_meta":{"m":2},"a":1}"#);
        assert_eq!(object(json!({"_meta":{"x":3},"a":1}), "", r#""m":2"#), r#"{"_meta":{"m":2,"x":3},"a":1}"#);
        assert_eq!(object(json!({"_meta":{"x":3}}), r#""r":1"#, r#""m":2"#), r#"{"r":1,"_meta":{"m":2,"x":3}}"#);
        assert_eq!(object(json!({"_meta":{},"a":1}), "", r#""m":2"#), r#"{"_meta":{"m":2},"a":1}"#);
    }

    #[test]
    fn a_message_is_one_line_and_says_where_its_content_is() {
        let pretty = serde_json::value::RawValue::from_string("{\r\n \"a\": 1\n}".into()).unwrap();
        let mut out = b"before\n".to_vec();
        let content = encode_request(&mut out, 1, "m", &pretty, Splice::default()).unwrap();
        assert_eq!(&out[7..], br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{   "a": 1 }}"#);
        assert_eq!(&out[content], br#"{   "a": 1 }"#);
        let content = encode_notification(&mut out, "m", &json!({}), Splice::default()).unwrap();
        assert!(content.is_empty());
        let error = RpcError::internal("no");
        let content = encode_error(&mut out, Some(&Id::Number(1)), false, &error).unwrap();
        assert_eq!(&out[content], br#"{"code":-32603,"message":"no"}"#);
    }

    #[test]
    fn what_cannot_be_written_leaves_no_trace() {
        let mut out = b"before\n".to_vec();
        assert!(encode_request(&mut out, 1, "m", &5, Splice::default()).is_err());
        assert_eq!(out, b"before\n");
    }
}
