//! What holds for every conversation, whatever was said: read off its transcript, line by line.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_sim::Side;

/// Those whose lines are held to the laws. A script may say anything.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Held {
    Both,
    Only(Side),
}

/// What one side has asked for and not been answered.
#[derive(Default)]
struct Asked {
    /// How often each id is open, and the last progress on it, if its request wants to know.
    open: BTreeMap<String, (u32, Option<f64>)>,
}

/// Every request is answered once at most and nothing else is answered; progress belongs to an open request that wants it,
/// and goes forward; an id is not used twice at a time; nothing is said to or of what is over.
#[track_caller]
pub(crate) fn assert_obeyed(transcript: &str, held: Held) {
    let mut asked = [Asked::default(), Asked::default()];
    for line in transcript.lines() {
        if line.contains("asks for another stream") {
            asked = [Asked::default(), Asked::default()];
        }
        let side = match line.as_bytes() {
            [b'>', ..] => Side::Client,
            [b'<', ..] => Side::Server,
            _ => continue,
        };
        // A last line may be cut off, and a script may say what is no message.
        let Ok(message) = serde_json::from_str::<Value>(&line[2..]) else { continue };
        let entries = message.as_array().cloned().unwrap_or_else(|| vec![message]);
        let is_held = matches!(held, Held::Both) || held == Held::Only(side);
        for entry in entries {
            if let Err(law) = say(&mut asked, side, &entry, is_held) {
                panic!("{law}: {line}\n\n{transcript}");
            }
        }
    }
}

fn say(asked: &mut [Asked; 2], side: Side, message: &Value, is_held: bool) -> Result<(), &'static str> {
    let other = side.other() as usize;
    let law = |obeyed: bool, law| if obeyed || !is_held { Ok(()) } else { Err(law) };
    match (message.get("method").and_then(Value::as_str), message.get("id")) {
        (Some(_), Some(id)) => {
            let wants_progress = message["params"]["_meta"].get("progressToken").is_some();
            let own = asked[side as usize].open.entry(id.to_string()).or_insert((0, None));
            own.0 += 1;
            own.1 = wants_progress.then_some(f64::NEG_INFINITY);
            law(own.0 == 1, "an id is used twice at a time")
        }
        (Some("notifications/progress"), None) => {
            let token = message["params"]["progressToken"].to_string();
            let progress = message["params"]["progress"].as_f64().unwrap_or(f64::NAN);
            match asked[other].open.get_mut(&token) {
                Some((_, Some(last))) => {
                    let forward = progress > *last;
                    *last = progress;
                    law(forward, "progress does not go forward")
                }
                _ => law(false, "progress that nobody wants"),
            }
        }
        (Some(_), None) => Ok(()),
        (None, Some(id)) => {
            let theirs = asked[other].open.get_mut(&id.to_string());
            let is_asked = theirs.is_some_and(|(count, _)| {
                *count -= 1;
                true
            });
            asked[other].open.retain(|_, (count, _)| *count > 0);
            law(is_asked || id.is_null(), "an answer to what was not asked, or a second one")
        }
        // An error that answers what could not be read.
        (None, None) => law(message.get("error").is_some(), "neither a request nor an answer"),
    }
}
