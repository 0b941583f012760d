//! What listings tell of tools that matters to HTTP: which arguments are mirrored as headers, and which calls may be
//! repeated.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::mirror::{self, Annotation};
use super::exchanges::Exchanges;
use crate::error::CallError;
use crate::json::{JsonText, MOST_LEVELS, elements, members, pick};
use crate::jsonrpc::{Message, Parsed, RpcError, excerpt, parse};
use crate::limits::Limits;
use crate::model::PaginatedParams;
use crate::rpc::Outgoing;

/// Bytes of what is remembered of all tools. A thousand tools with a few annotations each need a tenth of it; what does
/// not fit is not remembered, and its calls are sent without headers.
const MOST_BYTES: usize = 1024 * 1024;

/// Pages of a listing that are searched for one tool.
const MOST_PAGES: u32 = 16;

/// The tools that are worth remembering.
#[derive(Default)]
pub(super) struct KnownTools {
    tools: BTreeMap<String, KnownTool>,
    bytes: usize,
    /// Calls that wait for a fresh listing, by the number of the request for it.
    mismatches: BTreeMap<i64, Mismatch>,
}

/// A call whose headers did not match the server's idea of the tool, and that waits for a fresh listing.
pub(super) struct Mismatch {
    pub(super) message: Outgoing,
    pub(super) tool: String,
    pub(super) error: RpcError,
    pub(super) pages: u32,
}

struct KnownTool {
    annotations: Vec<Annotation>,
    repeatable: bool,
    bytes: usize,
}

/// What came of a listing.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The message without the tools that cannot be used, if there were any.
    pub(super) rewritten: Option<Vec<u8>>,
    /// Names and reasons.
    pub(super) left_out: Vec<(String, String)>,
    pub(super) next_cursor: Option<String>,
}

impl KnownTools {
    pub(super) fn annotations(&self, tool: &str) -> &[Annotation] {
        self.tools.get(tool).map(|tool| &tool.annotations[..]).unwrap_or_default()
    }

    pub(super) fn is_repeatable(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.repeatable)
    }

    /// Reads an answer to `tools/list`. Only a modern server's tools are left out of it.
    pub(super) fn learn(&mut self, text: &[u8], modern: bool, limits: &Limits) -> Option<Listing> {
        let Ok(Parsed::Message(Message::Response { outcome: Ok(result), .. })) = parse(text, limits) else {
            return None;
        };
        let [tools, cursor] = pick(result, ["tools", "nextCursor"]).ok()?;
        let tools = tools?;
        let mut listing =
            Listing { next_cursor: cursor.and_then(JsonText::as_text).map(Cow::into_owned), ..Listing::default() };
        let mut kept = Vec::new();
        elements(tools.as_str(), MOST_LEVELS, |tool| match self.learn_tool(tool, modern) {
            Ok(()) => kept.push(tool),
            Err(left_out) => listing.left_out.push(left_out),
        })
        .ok()?;
        if !listing.left_out.is_empty() {
            let kept: Vec<_> = kept.iter().map(|tool| tool.as_str()).collect();
            let start = (tools.as_str().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            let after = text.get(start + tools.as_str().len()..)?;
            listing.rewritten = Some([text.get(..start)?, b"[", kept.join(",").as_bytes(), b"]", after].concat());
        }
        Some(listing)
    }

    fn learn_tool(&mut self, tool: JsonText<'_>, modern: bool) -> Result<(), (String, String)> {
        let (mut name, mut schema, mut hints) = (None, None, None);
        let read = members(tool.as_str(), MOST_LEVELS, |member, value| match &*member {
            "name" => name = value.as_text(),
            "inputSchema" => schema = Some(value),
            "annotations" => hints = Some(value),
            _ => {}
        });
        // What is no tool is for the reader of the listing to complain about.
        let (Ok(()), Some(name)) = (read, name) else { return Ok(()) };
        let annotations = match schema.filter(|_| modern).map(mirror::annotations) {
            None => Vec::new(),
            Some(Ok(annotations)) => annotations,
            Some(Err(reason)) => {
                self.forget(&name);
                return Err((excerpt(&name).to_string(), reason.to_string()));
            }
        };
        let holds = |hint: Option<JsonText<'_>>| hint.is_some_and(|hint| hint.as_str() == "true");
        let repeatable = hints
            .and_then(|hints| pick(hints, ["readOnlyHint", "idempotentHint"]).ok())
            .is_some_and(|[read_only, idempotent]| holds(read_only) || holds(idempotent));
        self.forget(&name);
        if annotations.is_empty() && !repeatable {
            return Ok(());
        }
        let path_bytes = |annotation: &Annotation| annotation.path.iter().map(String::len).sum::<usize>();
        let bytes = name.len() + annotations.iter().map(|it| it.header.len() + path_bytes(it)).sum::<usize>();
        if self.bytes + bytes <= MOST_BYTES {
            self.bytes += bytes;
            self.tools.insert(name.into_owned(), KnownTool { annotations, repeatable, bytes });
        }
        Ok(())
    }

    fn forget(&mut self, name: &str) {
        if let Some(tool) = self.tools.remove(name) {
            self.bytes -= tool.bytes;
        }
    }

    /// Whether no call waits for a listing.
    pub(super) fn is_idle(&self) -> bool {
        self.mismatches.is_empty()
    }

    /// The call that waits for this request for a listing.
    pub(super) fn take_mismatch(&mut self, number: i64) -> Option<Mismatch> {
        self.mismatches.remove(&number)
    }

    /// The client closes: no call waits any more.
    pub(super) fn abandon(&mut self) {
        self.mismatches.clear();
    }
}

impl<T> Exchanges<T> {
    /// The server says that the headers do not match the body: its tools may have changed since they were listed.
    pub(super) fn list_tools_again(&mut self, mut mismatch: Mismatch, cursor: Option<String>) {
        let params = PaginatedParams::at(cursor);
        mismatch.pages += 1;
        match self.client.list_tools_again(&params, self.now) {
            Some(number) => drop(self.tools.mismatches.insert(number, mismatch)),
            None => self.mismatch_stays(mismatch),
        }
    }

    /// A fresh listing is there: the call is made again, once the tool is found in it.
    pub(super) fn tools_listed(&mut self, number: i64, next_cursor: Option<String>) {
        let Some(mismatch) = self.tools.take_mismatch(number) else { return };
        let found = !self.tools.annotations(&mismatch.tool).is_empty();
        match next_cursor {
            Some(cursor) if !found && mismatch.pages < MOST_PAGES => self.list_tools_again(mismatch, Some(cursor)),
            _ => {
                self.repeat(&mismatch.message);
            }
        }
    }

    /// There is no fresh listing, so the call has failed for the reason that the server gave.
    pub(super) fn mismatch_stays(&mut self, mismatch: Mismatch) {
        if let Some(number) = mismatch.message.request_id() {
            self.client.call_failed(number, CallError::Remote(mismatch.error), self.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_learnt_and_freed_of_what_cannot_be_used() {
        let text = br#"{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"n","tools":[
            {"name":"a","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}},
            {"name":"bad","inputSchema":{"type":"object","properties":{"r":{"type":"number","x-mcp-header":"R"}}}},
            {"name":"safe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"ttlMs":5}}"#;
        let mut tools = KnownTools::default();
        let listing = tools.learn(text, true, &Limits::default()).unwrap();
        let rewritten = String::from_utf8(listing.rewritten.unwrap()).unwrap();
        assert!(!rewritten.contains("bad") && rewritten.ends_with(r#"],"ttlMs":5}}"#), "{rewritten}");
        assert!(parse(rewritten.as_bytes(), &Limits::default()).is_ok());
        assert_eq!(listing.left_out[0].0, "bad");
        assert_eq!(listing.next_cursor.as_deref(), Some("n"));
        assert_eq!(tools.annotations("a")[0].header, "R");
        assert!(tools.is_repeatable("safe") && !tools.is_repeatable("a") && tools.annotations("bad").is_empty());

        // A legacy server means nothing by it.
        let listing = tools.learn(text, false, &Limits::default()).unwrap();
        assert!(listing.rewritten.is_none() && tools.annotations("a").is_empty());

        let none = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"safe","inputSchema":{}}]}}"#;
        tools.learn(none, true, &Limits::default()).unwrap();
        assert_eq!((tools.is_repeatable("safe"), tools.bytes), (false, 0));
    }
}
