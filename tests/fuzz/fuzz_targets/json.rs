//! The protocol's types, read by the engine and by serde_json. What one of them accepts, the other accepts and reads in the
//! same way, but for what is named in [`agree`]; and what was read can be written and read again.
//!
//! The first byte says which type, the rest is its text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use windlass::jsonrpc::{MalformedKind, Parsed, parse};
use windlass::model::*;
use windlass::{JsonText, Limits};
use windlass_fuzz::canary;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    scans_alike(text);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(text) = JsonText::parse(text) else { return };
    let check = READERS[usize::from(choice) % READERS.len()];
    check(text);
});

type Check = fn(JsonText<'_>);

/// Every type that the engine reads with its own reader, by way of the methods that are public.
const READERS: [Check; 23] = [
    result_of::<CallTool>,
    result_of::<ListTools>,
    result_of::<ListResources>,
    result_of::<ListResourceTemplates>,
    result_of::<ReadResource>,
    result_of::<ListPrompts>,
    result_of::<GetPrompt>,
    result_of::<Complete>,
    result_of::<Initialize>,
    result_of::<Discover>,
    result_of::<CreateMessage>,
    result_of::<Elicit>,
    result_of::<ListRoots>,
    result_of::<Listen>,
    result_of::<Ping>,
    told_by::<LoggingMessage>,
    told_by::<Progress>,
    told_by::<Cancelled>,
    told_by::<ResourceUpdated>,
    told_by::<SubscriptionsAcknowledged>,
    told_by::<ElicitationComplete>,
    told_by::<ToolListChanged>,
    told_by::<Initialized>,
];

fn result_of<M: Method>(text: JsonText<'_>) {
    agree(M::read, text);
}

fn told_by<N: Notice>(text: JsonText<'_>) {
    agree(N::read, text);
}

fn agree<V: Serialize + DeserializeOwned>(
    read: impl Fn(JsonText<'_>) -> Result<V, serde_json::Error>,
    text: JsonText<'_>,
) {
    match (read(text), text.decode::<V>()) {
        (Ok(ours), Ok(theirs)) => {
            let ours = serde_json::to_string(&ours).expect("what was read can be written");
            let theirs = serde_json::to_string(&theirs).expect("what was read can be written");
            assert_eq!(damaged(ours.clone()), theirs, "{text}");
            let again = read(JsonText::parse(&ours).expect("what is written is JSON"));
            let again = again.unwrap_or_else(|error| panic!("{error}: {ours}, read from {text}"));
            assert_eq!(serde_json::to_string(&again).unwrap(), ours, "{text}");
        }
        (Err(_), Err(_)) => {}
        // serde_json takes an array for an object's members in the order of their declaration, and any root.
        (Err(ours), Ok(_)) => {
            let known = ["invalid type: sequence, expected", "a root has to be a file:// URI"];
            assert!(known.iter().any(|known| ours.to_string().contains(known)), "{ours}: {text}");
        }
        // It counts one level less.
        (Ok(_), Err(theirs)) => assert!(theirs.to_string().contains("recursion limit"), "{theirs}: {text}"),
    }
}

/// The scanner that finds values in a text finds those that serde_json finds. Texts that are nested too deeply are not
/// looked at any further.
fn scans_alike(text: &[u8]) {
    let array = [b"[", text, b"]"].concat();
    let mut limits = Limits::default();
    limits.batch_entries = usize::MAX;
    let theirs = serde_json::from_slice::<Vec<&RawValue>>(&array);
    match (parse(&array, &limits), theirs) {
        (Ok(Parsed::Batch(ours)), Ok(theirs)) => {
            assert!(ours.iter().map(|entry| entry.as_str()).eq(theirs.iter().map(|entry| entry.get())));
        }
        (Ok(Parsed::Message(message)), _) => panic!("{message:?} is an array"),
        (Err(ours), Ok(theirs)) => {
            let alike = match ours.kind {
                MalformedKind::EmptyBatch => theirs.is_empty(),
                MalformedKind::TooDeep => true,
                _ => false,
            };
            assert!(alike, "{ours}");
        }
        (Ok(_), Err(theirs)) => panic!("{theirs}"),
        (Err(_), Err(_)) => {}
    }
}

/// The planted bug: the result of a tool loses a number that is beyond all bounds, or a text that looks like it.
fn damaged(ours: String) -> String {
    if canary() && ours.starts_with(r#"{"content":"#) && ours.contains("1e400") {
        return ours.replace("1e400", "");
    }
    ours
}
