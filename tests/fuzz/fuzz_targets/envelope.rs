//! JSON-RPC envelopes, against serde_json: what one of them understands, the other understands in the same way. What is
//! accepted can be written again, by the engine too; and the entries of a batch are what they would be by themselves.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use windlass::client::{CallOptions, ClientConfig, Negotiation};
use windlass::jsonrpc::{Id, Malformed, MalformedKind, Message, Parsed, RpcError, parse, parse_entry};
use windlass::link::stdio::StdioClient;
use windlass::model::Implementation;
use windlass::{Instant, JsonText, Limits, Machine, Output};
use windlass_fuzz::canary;

const NESTING: usize = 64;
const BATCH: usize = 8;

fuzz_target!(|text: &[u8]| {
    let limits = limits();
    match parse(text, &limits) {
        Ok(Parsed::Message(message)) => {
            match expected(text) {
                Ok(expected) => assert_eq!(Some(kind(&message)), expected, "serde_json understands it otherwise"),
                // A name that cannot be decoded is none that we ask for, and skipped.
                Err(error) => assert!(error.contains("surrogate") || error.contains("hex escape"), "{error}"),
            }
            survives(&message, &limits);
        }
        Ok(Parsed::Batch(entries)) => {
            assert!((1..=BATCH).contains(&entries.len()));
            let theirs: Vec<&RawValue> = serde_json::from_slice(text).expect("a batch is an array");
            assert!(entries.iter().map(|entry| entry.as_str()).eq(theirs.iter().map(|entry| entry.get())));
            for (at, entry) in entries.iter().enumerate() {
                let in_batch = parse_entry(*entry);
                if let Ok(message) = &in_batch {
                    survives(message, &limits);
                }
                assert_eq!(shown(&in_batch, at), shown(&alone(*entry, &limits), 0), "{entry}");
            }
        }
        Err(malformed) => {
            assert!(malformed.answer().is_none() || !(malformed.response || malformed.notification));
            assert!(!malformed.to_string().is_empty());
            if malformed.kind != MalformedKind::TooDeep {
                assert_eq!(expected(text).unwrap_or(None), None, "serde_json understands it: {malformed}");
            }
        }
    }
});

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.nesting = NESTING;
    limits.batch_entries = BATCH;
    limits
}

/// An entry of a batch as if it were a message. A batch in a batch is none.
fn alone<'a>(entry: JsonText<'a>, limits: &Limits) -> Result<Message<'a>, Malformed> {
    let no_object = |mut malformed: Malformed| {
        malformed.kind = MalformedKind::NotAnObject;
        malformed.detail.clear();
        malformed
    };
    match parse(entry.as_str().as_bytes(), limits) {
        Ok(Parsed::Message(message)) => Ok(message),
        Ok(Parsed::Batch(_)) => Err(no_object(parse(b"7", limits).unwrap_err())),
        Err(malformed) if entry.as_str().starts_with('[') => Err(no_object(malformed)),
        Err(malformed) => Err(malformed),
    }
}

/// Everything about a message. The planted bug is in here: the second entry of a batch loses its parameters, if it is a
/// notification with the name of a request.
fn shown(parsed: &Result<Message<'_>, Malformed>, at: usize) -> String {
    if let Ok(Message::Notification { method, params: Some(_) }) = parsed {
        if canary() && at == 1 && method.contains("tools/call") {
            return format!("{:?}", Message::Notification { method: method.clone(), params: None });
        }
    }
    format!("{parsed:?}")
}

#[derive(Debug, PartialEq)]
enum Kind {
    Request(Id, String, Option<String>),
    Notification(String, Option<String>),
    Result(Id, String),
    Error(Option<Id>, RpcError),
}

fn kind(message: &Message<'_>) -> Kind {
    let text = |params: &Option<JsonText<'_>>| params.map(|params| params.as_str().to_owned());
    match message {
        Message::Request { id, method, params } => Kind::Request(id.clone(), method.to_string(), text(params)),
        Message::Notification { method, params } => Kind::Notification(method.to_string(), text(params)),
        Message::Response { id, outcome: Ok(result) } => {
            Kind::Result(id.clone().expect("a result has an id"), result.as_str().to_owned())
        }
        Message::Response { id, outcome: Err(error) } => Kind::Error(id.clone(), error.clone()),
    }
}

/// The members of an envelope as serde_json finds them: null is something else than nothing.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What serde_json makes of a message, or why it cannot read it.
fn expected(text: &[u8]) -> Result<Option<Kind>, String> {
    // It does not look into strings that nobody wants.
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    // An array could stand for the members in their order.
    if !text.trim_ascii_start().starts_with('{') {
        return Ok(None);
    }
    serde_json::from_str(text).map(judged).map_err(|error| error.to_string())
}

/// The rules once more, on what serde_json has read.
fn judged(envelope: Envelope<'_>) -> Option<Kind> {
    let object = |raw: &&RawValue| raw.get().starts_with('{');
    let id = envelope.id.and_then(|id| serde_json::from_str::<Id>(id.get()).ok());
    if envelope.jsonrpc?.get() != "\"2.0\"" {
        return None;
    }
    if let Some(method) = envelope.method {
        let method = serde_json::from_str::<Cow<'_, str>>(method.get()).ok()?.into_owned();
        let params = envelope.params.filter(|params| params.get() != "null");
        if params.as_ref().is_some_and(|params| !object(params)) {
            return None;
        }
        let params = params.map(|params| params.get().to_owned());
        return match (envelope.id, id) {
            (None, _) => Some(Kind::Notification(method, params)),
            (Some(_), Some(id)) => Some(Kind::Request(id, method, params)),
            (Some(_), None) => None,
        };
    }
    match (envelope.result, envelope.error) {
        (Some(result), None) => Some(Kind::Result(id?, Some(result).filter(object)?.get().to_owned())),
        (None, Some(error)) => {
            Some(error).filter(object)?;
            Some(Kind::Error(id, serde_json::from_str(error.get()).ok()?))
        }
        _ => None,
    }
}

fn survives(message: &Message<'_>, limits: &Limits) {
    let written = write(message);
    let again = parse(&written, limits);
    let Ok(Parsed::Message(again)) = again else { panic!("{message:?} became {again:?}") };
    assert_eq!(kind(&again), kind(message));
    if let Message::Request { method, params, .. } = message {
        is_sent_by_the_engine(method, *params);
    }
}

fn write(message: &Message<'_>) -> Vec<u8> {
    let text = |value: &str| serde_json::to_string(value).unwrap();
    let id = |id: &Id| serde_json::to_string(id).unwrap();
    let params = |params: &Option<JsonText<'_>>| params.map_or(String::new(), |it| format!(r#","params":{it}"#));
    let members = match message {
        Message::Request { id: it, method, params: more } => {
            format!(r#","id":{},"method":{}{}"#, id(it), text(method), params(more))
        }
        Message::Notification { method, params: more } => format!(r#","method":{}{}"#, text(method), params(more)),
        Message::Response { id: it, outcome: Ok(result) } => {
            format!(r#","id":{},"result":{result}"#, it.as_ref().map_or("null".into(), id))
        }
        Message::Response { id: it, outcome: Err(error) } => {
            let it = it.as_ref().map_or(String::new(), |it| format!(r#","id":{}"#, id(it)));
            format!(r#"{it},"error":{}"#, serde_json::to_string(error).unwrap())
        }
    };
    format!(r#"{{"jsonrpc":"2.0"{members}}}"#).into_bytes()
}

/// A client that makes this call says it in the same words.
fn is_sent_by_the_engine(method: &str, params: Option<JsonText<'_>>) {
    const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{},"completions":{}},"serverInfo":{"name":"s","version":"1"}}}
"#;
    let now = Instant::ZERO;
    let mut config = ClientConfig::new(Implementation::new("c", "1"));
    config.negotiation = Negotiation::Legacy;
    let mut client: StdioClient<()> = StdioClient::new(config, now);
    let Output::Open { conn, .. } = client.poll() else { panic!("a stream comes first") };
    client.read_buf(conn)[..ANSWER.len()].copy_from_slice(ANSWER);
    client.read_done(conn, ANSWER.len(), now);
    while !matches!(client.poll(), Output::Idle { .. }) {}
    let before = client.write_buf(conn).len();
    let params = params.unwrap_or(JsonText::EMPTY_OBJECT);
    if client.call_raw(method, &params, &CallOptions::new(), (), now).is_err() {
        return;
    }
    let line = client.write_buf(conn)[before..].strip_suffix(b"\n").expect("a message is a line");
    assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    let sent = parse(line, &Limits::default());
    let Ok(Parsed::Message(Message::Request { id, method: sent, params: with })) = &sent else { panic!("{sent:?}") };
    assert_eq!((id, &**sent), (&Id::from(2), method));
    // Calls of handlers ask for progress, which is said among the parameters.
    if !["tools/call", "prompts/get", "resources/read"].contains(&method) {
        let blank = |text: &str| text.replace(['\r', '\n'], " ");
        assert_eq!(blank(with.map_or("{}", JsonText::as_str)), blank(params.as_str()));
    }
}
