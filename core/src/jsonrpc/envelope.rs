//! Reading envelopes: one pass over the text, parameters and results borrowed as they stand.
//!
//! What is wrong with a message and what to answer to it is decided here and nowhere else; see [`MalformedKind`].

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{Id, RpcError, code, values};
use crate::json::{self, Fault, JsonText};
use crate::limits::Limits;

/// One message, borrowed from the text it was read from.
#[derive(Debug)]
pub enum Message<'a> {
    /// The peer wants an answer.
    Request {
        /// To be echoed.
        id: Id,
        /// What is asked for.
        method: Cow<'a, str>,
        /// A JSON object.
        params: Option<JsonText<'a>>,
    },
    /// The peer wants no answer.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// A JSON object.
        params: Option<JsonText<'a>>,
    },
    /// The peer answers. An error may come without an id, if the peer could not read ours.
    Response {
        /// Which request this answers.
        id: Option<Id>,
        /// A JSON object, or an error.
        outcome: Result<JsonText<'a>, RpcError>,
    },
}

/// What one text holds.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A single message.
    Message(Message<'a>),
    /// A batch: its entries, each to be read by [`parse_entry`], so that a bad one spoils no other.
    Batch(Vec<JsonText<'a>>),
}

/// A text that is no message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Malformed {
    /// What is wrong.
    pub kind: MalformedKind,
    /// The id, if it could be read.
    pub id: Option<Id>,
    /// Whether it was meant as an answer to a request of ours.
    pub response: bool,
    /// Whether it was meant as a notification, which is never answered.
    pub notification: bool,
    /// Details for a person.
    pub detail: String,
    /// How it begins, if it came on a line of its own: a server's log that has gone the wrong way is known by it.
    pub beginning: Box<str>,
}

// What is rare must not make what is usual larger: both are returned in the same place.
const _: () = assert!(size_of::<Malformed>() <= size_of::<Message<'static>>());

/// The ways in which a text can fail to be a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedKind {
    /// Not UTF-8.
    NotUtf8,
    /// Not JSON.
    NotJson,
    /// Nested deeper than [`Limits::nesting`].
    TooDeep,
    /// More values than [`Limits::message_values`].
    TooManyValues,
    /// Longer than [`Limits::message_bytes`].
    TooLong,
    /// The stream ended inside a message.
    Truncated,
    /// JSON, but neither an object nor a batch.
    NotAnObject,
    /// A batch without entries.
    EmptyBatch,
    /// A batch with more entries than [`Limits::batch_entries`].
    BatchTooLong,
    /// A batch where the negotiated revision has none.
    BatchNotAllowed,
    /// The same member twice in the envelope: two readers could understand it differently.
    DuplicateMember,
    /// `jsonrpc` is missing or not `"2.0"`.
    WrongVersion,
    /// The id is null, a fraction, a boolean or a structure.
    BadId,
    /// `method` is not a string, or there are parameters without one.
    NoMethod,
    /// Neither method, parameters, result nor error. If a call of ours with this id is open, it is an answer that says
    /// nothing, and fails that call; if not, it is a request without a method.
    NoContent,
    /// `params` is not an object.
    BadParams,
    /// A response with both result and error, or a result without an id.
    AmbiguousResponse,
    /// A result that is not an object.
    BadResult,
    /// An error object without an integer code and a message.
    BadError,
}

impl Malformed {
    pub(crate) fn new(kind: MalformedKind, detail: impl Into<String>) -> Self {
        Self { kind, id: None, response: false, notification: false, detail: detail.into(), beginning: Box::default() }
    }

    /// Adds how the line begins. It is for our own side: peers are not told what they said.
    pub(crate) fn on_line(mut self, line: &[u8]) -> Self {
        const LONGEST: usize = 80;
        let beginning = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]);
        self.beginning = beginning.trim_end_matches('\u{fffd}').into();
        self
    }

    fn with(mut self, id: Option<Id>, response: bool) -> Self {
        self.id = id;
        self.response = response;
        self
    }

    /// What a server answers. Nothing is ever answered to a response or a notification.
    pub fn answer(&self) -> Option<RpcError> {
        if self.response || self.notification {
            return None;
        }
        let code = match self.kind {
            MalformedKind::NotUtf8 | MalformedKind::NotJson | MalformedKind::Truncated => code::PARSE_ERROR,
            MalformedKind::BadParams => code::INVALID_PARAMS,
            _ => code::INVALID_REQUEST,
        };
        Some(RpcError::new(code, alloc::format!("{self}")))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            MalformedKind::NotUtf8 => "the message is not UTF-8",
            MalformedKind::NotJson => "the message is not JSON",
            MalformedKind::TooDeep => "the message is nested too deeply",
            MalformedKind::TooManyValues => "the message has too many values",
            MalformedKind::TooLong => "the message is too long",
            MalformedKind::Truncated => "the stream ended inside a message",
            MalformedKind::NotAnObject => "the message is not a JSON object",
            MalformedKind::EmptyBatch => "the batch is empty",
            MalformedKind::BatchTooLong => "the batch has too many entries",
            MalformedKind::BatchNotAllowed => "this protocol version has no batches",
            MalformedKind::DuplicateMember => "a member of the envelope is there twice",
            MalformedKind::WrongVersion => "\"jsonrpc\" is not \"2.0\"",
            MalformedKind::BadId => "the id is neither a string nor an integer",
            MalformedKind::NoContent if self.response => "the response has neither a result nor an error",
            MalformedKind::NoMethod | MalformedKind::NoContent => "there is no method, result or error",
            MalformedKind::BadParams => "params is not an object",
            MalformedKind::AmbiguousResponse => "a response has one id and either a result or an error",
            MalformedKind::BadResult => "the result is not an object",
            MalformedKind::BadError => "the error has no integer code or no message",
        })?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl core::error::Error for Malformed {}

/// Reads one text: a message or a batch.
///
/// ```
/// use windlass::Limits;
/// use windlass::jsonrpc::{Message, Parsed, parse};
///
/// let text = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
/// let Ok(Parsed::Message(Message::Request { id, method, .. })) = parse(text, &Limits::default()) else { panic!() };
/// assert_eq!((id, &*method), (7.into(), "ping"));
/// ```
pub fn parse<'a>(text: &'a [u8], limits: &Limits) -> Result<Parsed<'a>, Malformed> {
    let text = core::str::from_utf8(text).map_err(|error| {
        Malformed::new(MalformedKind::NotUtf8, alloc::format!("byte {} is not", error.valid_up_to()))
    })?;
    if values::are_more_than(limits.message_values, text) {
        let detail = alloc::format!("{} are allowed", limits.message_values);
        return Err(Malformed::new(MalformedKind::TooManyValues, detail));
    }
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => parse_object(text, limits.nesting).map(Parsed::Message),
        Some(b'[') => parse_batch(text, limits).map(Parsed::Batch),
        _ => match json::check(text, limits.nesting) {
            Ok(()) => Err(Malformed::new(MalformedKind::NotAnObject, "")),
            Err(fault) => Err(not_json(fault, limits.nesting)),
        },
    }
}

/// Reads one entry of a batch.
pub fn parse_entry(entry: JsonText<'_>) -> Result<Message<'_>, Malformed> {
    if entry.is_object() {
        parse_object(entry.as_str(), json::MOST_LEVELS)
    } else {
        Err(Malformed::new(MalformedKind::NotAnObject, ""))
    }
}

fn parse_object(text: &str, nesting: usize) -> Result<Message<'_>, Malformed> {
    /// How nearly all messages begin.
    const USUAL: &str = r#"{"jsonrpc":"2.0","#;
    let mut envelope = Envelope::default();
    let read = if text.starts_with(USUAL) {
        envelope.jsonrpc = Some(JsonText::TWO_ZERO);
        json::members_from(text, USUAL.len(), nesting, |name, value| envelope.take(&name, value))
    } else {
        json::members(text, nesting, |name, value| envelope.take(&name, value))
    };
    match read {
        Ok(()) => envelope.into_message(),
        Err(fault) => Err(not_json(fault, nesting)),
    }
}

fn parse_batch<'a>(text: &'a str, limits: &Limits) -> Result<Vec<JsonText<'a>>, Malformed> {
    let mut entries = Vec::new();
    let mut count = 0_usize;
    let read = json::elements(text, limits.nesting, |entry| {
        count += 1;
        // The text is bounded, but a pointer for every `0,` would be eight times as much.
        if count <= limits.batch_entries {
            entries.push(entry);
        }
    });
    match read {
        Err(fault) => Err(not_json(fault, limits.nesting)),
        Ok(()) if count == 0 => Err(Malformed::new(MalformedKind::EmptyBatch, "")),
        Ok(()) if count == entries.len() => Ok(entries),
        Ok(()) => {
            let detail = alloc::format!("it has {count}, {} are allowed", limits.batch_entries);
            Err(Malformed::new(MalformedKind::BatchTooLong, detail))
        }
    }
}

fn not_json(fault: Fault, nesting: usize) -> Malformed {
    match fault {
        Fault::TooDeep => Malformed::new(MalformedKind::TooDeep, alloc::format!("{nesting} levels are allowed")),
        _ => Malformed::new(MalformedKind::NotJson, alloc::format!("{fault}")),
    }
}

/// The position of the quote that ends the string whose content begins at `at`.
pub(super) fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}

/// The members of an envelope as they were found, before judging them.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<JsonText<'a>>,
    id: Option<JsonText<'a>>,
    method: Option<JsonText<'a>>,
    params: Option<JsonText<'a>>,
    result: Option<JsonText<'a>>,
    error: Option<JsonText<'a>>,
    duplicate: bool,
    duplicate_id: bool,
}

impl<'a> Envelope<'a> {
    /// Keeps a member. Names are matched exactly: `Method` is not `method`.
    fn take(&mut self, name: &str, value: JsonText<'a>) {
        let slot = match name {
            "jsonrpc" => &mut self.jsonrpc,
            "id" => &mut self.id,
            "method" => &mut self.method,
            "params" => &mut self.params,
            "result" => &mut self.result,
            "error" => &mut self.error,
            _ => return,
        };
        let duplicate = slot.replace(value).is_some();
        self.duplicate |= duplicate;
        self.duplicate_id |= duplicate && name == "id";
    }

    fn into_message(self) -> Result<Message<'a>, Malformed> {
        // Of two ids neither is to be trusted: it could be that of somebody else's request.
        let id = self.id.filter(|_| !self.duplicate_id).and_then(Id::from_text);
        let response = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        let malformed = |kind, id: Option<Id>| Err(Malformed::new(kind, "").with(id, response));
        if self.duplicate {
            return malformed(MalformedKind::DuplicateMember, id);
        }
        if self.jsonrpc.is_none_or(|version| version != JsonText::TWO_ZERO) {
            return malformed(MalformedKind::WrongVersion, id);
        }
        if response {
            return self.into_response(id);
        }
        let Some(method) = self.method.and_then(JsonText::as_text) else {
            let says_something = self.method.is_some() || self.params.is_some();
            return malformed(if says_something { MalformedKind::NoMethod } else { MalformedKind::NoContent }, id);
        };
        // A sloppy peer's `"params":null` is as good as none.
        let params = self.params.filter(|params| !params.is_null());
        if params.is_some_and(|params| !params.is_object()) {
            let mut bad = Malformed::new(MalformedKind::BadParams, "").with(id, false);
            bad.notification = self.id.is_none();
            return Err(bad);
        }
        match (self.id, id) {
            (None, _) => Ok(Message::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Message::Request { id, method, params }),
            (Some(_), None) => malformed(MalformedKind::BadId, None),
        }
    }

    fn into_response(self, id: Option<Id>) -> Result<Message<'a>, Malformed> {
        let malformed = |kind, id: Option<Id>| Err(Malformed::new(kind, "").with(id, true));
        match (self.result, self.error) {
            (Some(result), None) if id.is_some() => {
                if result.is_object() {
                    Ok(Message::Response { id, outcome: Ok(result) })
                } else {
                    malformed(MalformedKind::BadResult, id)
                }
            }
            (None, Some(error)) => match error.read::<RpcError>() {
                Ok(error) => Ok(Message::Response { id, outcome: Err(error) }),
                Err(_) => malformed(MalformedKind::BadError, id),
            },
            _ => malformed(MalformedKind::AmbiguousResponse, id),
        }
    }
}
