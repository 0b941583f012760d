//! Reading envelopes: one pass over the text, parameters and results borrowed as they stand.
//!
//! What is wrong with a message and what to answer to it is decided here and nowhere else; see [`MalformedKind`].

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Id, RpcError, code};
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
        params: Option<&'a RawValue>,
    },
    /// The peer wants no answer.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// A JSON object.
        params: Option<&'a RawValue>,
    },
    /// The peer answers. An error may come without an id, if the peer could not read ours.
    Response {
        /// Which request this answers.
        id: Option<Id>,
        /// A JSON object, or an error.
        outcome: Result<&'a RawValue, RpcError>,
    },
}

/// What one text holds.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A single message.
    Message(Message<'a>),
    /// A batch: its entries, each to be read by [`parse_entry`], so that a bad one spoils no other.
    Batch(Vec<&'a RawValue>),
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
}

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
    /// `method` is not a string, or neither method, result nor error is there.
    NoMethod,
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
        Self { kind, id: None, response: false, notification: false, detail: detail.into() }
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
            MalformedKind::TooLong => "the message is too long",
            MalformedKind::Truncated => "the stream ended inside a message",
            MalformedKind::NotAnObject => "the message is not a JSON object",
            MalformedKind::EmptyBatch => "the batch is empty",
            MalformedKind::BatchTooLong => "the batch has too many entries",
            MalformedKind::BatchNotAllowed => "this protocol version has no batches",
            MalformedKind::DuplicateMember => "a member of the envelope is there twice",
            MalformedKind::WrongVersion => "\"jsonrpc\" is not \"2.0\"",
            MalformedKind::BadId => "the id is neither a string nor an integer",
            MalformedKind::NoMethod => "there is no method, result or error",
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
    if nests_deeper_than(text.as_bytes(), limits.nesting) {
        return Err(Malformed::new(MalformedKind::TooDeep, alloc::format!("{} levels are allowed", limits.nesting)));
    }
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => parse_object(text).map(Parsed::Message),
        Some(b'[') => parse_batch(text, limits.batch_entries).map(Parsed::Batch),
        _ => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Err(Malformed::new(MalformedKind::NotAnObject, "")),
            Err(error) => Err(not_json(&error)),
        },
    }
}

/// Reads one entry of a batch.
pub fn parse_entry(entry: &RawValue) -> Result<Message<'_>, Malformed> {
    if entry.get().starts_with('{') {
        parse_object(entry.get())
    } else {
        Err(Malformed::new(MalformedKind::NotAnObject, ""))
    }
}

fn parse_object(text: &str) -> Result<Message<'_>, Malformed> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    envelope.into_message()
}

fn parse_batch(text: &str, most: usize) -> Result<Vec<&RawValue>, Malformed> {
    /// The entries, or `None` if there are too many.
    struct Entries<'a>(Option<Vec<&'a RawValue>>);

    impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_seq(EntriesVisitor).map(Self)
        }
    }

    struct EntriesVisitor;

    impl<'de> Visitor<'de> for EntriesVisitor {
        type Value = Option<Vec<&'de RawValue>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a batch")
        }

        fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = seq.next_element::<&RawValue>()? {
                entries.push(entry);
                // The text is bounded, but a pointer for every `0,` would be eight times as much.
                if entries.len() > 1 << 16 {
                    while seq.next_element::<IgnoredAny>()?.is_some() {}
                    return Ok(None);
                }
            }
            Ok(Some(entries))
        }
    }

    let Entries(entries) = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    match entries {
        Some(entries) if entries.is_empty() => Err(Malformed::new(MalformedKind::EmptyBatch, "")),
        Some(entries) if entries.len() <= most => Ok(entries),
        _ => Err(Malformed::new(MalformedKind::BatchTooLong, alloc::format!("{most} are allowed"))),
    }
}

fn not_json(error: &serde_json::Error) -> Malformed {
    Malformed::new(MalformedKind::NotJson, alloc::format!("{error}"))
}

/// Whether brackets nest deeper than `most`, without recursion and, for ordinary messages, without looking.
fn nests_deeper_than(text: &[u8], most: usize) -> bool {
    if text.len() <= most || memchr::memchr2_iter(b'{', b'[', text).take(most + 1).count() <= most {
        return false;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at + 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
        at += 1;
    }
    false
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
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    duplicate: bool,
    duplicate_id: bool,
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, Malformed> {
        // Of two ids neither is to be trusted: it could be that of somebody else's request.
        let id = self.id.filter(|_| !self.duplicate_id).and_then(Id::from_raw);
        let response = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        let malformed = |kind, id: Option<Id>| Err(Malformed::new(kind, "").with(id, response));
        if self.duplicate {
            return malformed(MalformedKind::DuplicateMember, id);
        }
        if self.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return malformed(MalformedKind::WrongVersion, id);
        }
        if response {
            return self.into_response(id);
        }
        let Some(method) = self.method.and_then(|method| text_of(method.get())) else {
            return malformed(MalformedKind::NoMethod, id);
        };
        // A sloppy peer's `"params":null` is as good as none.
        let params = self.params.filter(|params| params.get() != "null");
        if params.is_some_and(|params| !params.get().starts_with('{')) {
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
                if result.get().starts_with('{') {
                    Ok(Message::Response { id, outcome: Ok(result) })
                } else {
                    malformed(MalformedKind::BadResult, id)
                }
            }
            (None, Some(error)) => match serde_json::from_str::<RpcError>(error.get()) {
                Ok(error) => Ok(Message::Response { id, outcome: Err(error) }),
                Err(_) => malformed(MalformedKind::BadError, id),
            },
            _ => malformed(MalformedKind::AmbiguousResponse, id),
        }
    }
}

/// The content of a JSON string, borrowed where it holds no escape.
pub(crate) fn text_of(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw).ok().map(Cow::Owned)
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;

        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Envelope<'de>, M::Error> {
                let mut envelope = Envelope::default();
                while let Some(member) = map.next_key::<Member>()? {
                    let slot = match member {
                        Member::Jsonrpc => &mut envelope.jsonrpc,
                        Member::Id => &mut envelope.id,
                        Member::Method => &mut envelope.method,
                        Member::Params => &mut envelope.params,
                        Member::Result => &mut envelope.result,
                        Member::Error => &mut envelope.error,
                        Member::Unknown => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    let duplicate = slot.replace(map.next_value()?).is_some();
                    envelope.duplicate |= duplicate;
                    envelope.duplicate_id |= duplicate && matches!(member, Member::Id);
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

/// The names of the envelope's members, matched exactly: `Method` is not `method`.
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Unknown,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl Visitor<'_> for MemberVisitor {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "jsonrpc" => Member::Jsonrpc,
                    "id" => Member::Id,
                    "method" => Member::Method,
                    "params" => Member::Params,
                    "result" => Member::Result,
                    "error" => Member::Error,
                    _ => Member::Unknown,
                })
            }
        }

        deserializer.deserialize_str(MemberVisitor).map_err(D::Error::custom)
    }
}
