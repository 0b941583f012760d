//! Going through conversations: every frame of ours is held against the schema of its revision, and what others got
//! wrong is told.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize as _;
use serde_json::Value;
use windlass::model::ProtocolVersion;
use windlass_tests::wires::Speaker;

use crate::check::check;
use crate::conversation::{Conversation, Place};
use crate::http::{self, Said};
use crate::recording::Head;
use crate::schemas::Schemas;
use crate::shape::shape;
use crate::transcript::{self, Line};

/// A frame of ours that is not as it should be.
#[derive(Debug)]
pub struct Fault {
    /// The test that put it on a wire.
    pub test: String,
    /// The frame.
    pub frame: String,
    /// What the schema says, or the reader.
    pub complaints: Vec<String>,
}

/// What was seen of one source.
#[derive(Debug, Default)]
pub struct Figures {
    /// How many conversations there were.
    pub conversations: usize,
    /// How many frames of ours, by revision.
    pub frames: BTreeMap<ProtocolVersion, usize>,
    /// How many of them differ in more than numbers, by revision. Only these were held against the schema.
    pub shapes: BTreeMap<ProtocolVersion, usize>,
    /// Frames of ours that the transcript cut short.
    pub cut: usize,
    /// Recordings of connections whose end was not recorded.
    pub read_in_part: usize,
    /// Frames of ours whose null id was let pass; see [`check`].
    pub null_ids: usize,
    /// Frames of other implementations.
    pub foreign: usize,
    /// What is wrong with them: an example for each method and rule that is violated.
    pub foreign_faults: BTreeMap<String, Fault>,
}

/// Goes through conversations.
pub struct Examiner {
    schemas: Schemas,
    figures: BTreeMap<String, Figures>,
    /// Methods that no revision has and that tests use on purpose.
    own_methods: BTreeSet<String>,
    faults: Vec<Fault>,
    seen: HashSet<u64>,
}

impl Examiner {
    /// An examiner who has seen nothing yet.
    pub fn new(schemas: Schemas) -> Self {
        let (figures, own_methods, faults, seen) = Default::default();
        Self { schemas, figures, own_methods, faults, seen }
    }

    /// What was wrong so far.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// What was seen so far, by source.
    pub fn figures(&self) -> &BTreeMap<String, Figures> {
        &self.figures
    }

    /// The methods that no revision has, and that were called on purpose.
    pub fn own_methods(&self) -> &BTreeSet<String> {
        &self.own_methods
    }

    /// The schemas.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// Goes through one recording.
    pub fn recording(&mut self, head: &Head, text: &str) -> Result<(), String> {
        if http::is_http(text) {
            let found = http::read(text)?;
            self.connections(head, &found.said);
            self.of_source(head).read_in_part += usize::from(found.is_cut);
            for (sender, why) in found.broken {
                if head.speaker(sender) == Speaker::Ours {
                    let line = Line { sender, text: "(not HTTP)", is_cut: false, is_unfinished: false };
                    self.faults.push(fault(head, &line, vec![why.to_string()]));
                }
            }
        } else {
            self.conversation(head, text);
        }
        Ok(())
    }

    /// Goes through the conversations on some connections.
    pub fn connections(&mut self, head: &Head, messages: &[Said]) {
        let mut conversations = BTreeMap::<usize, Conversation>::new();
        for Said { sender, text, conversation, version } in messages {
            let conversation = conversations.entry(*conversation).or_default();
            if let Some(version) = version {
                conversation.speak(*version);
            }
            let line = Line { sender: *sender, text: text.trim(), is_cut: false, is_unfinished: false };
            self.line(head, &line, conversation);
        }
        self.of_source(head).conversations += conversations.len();
    }

    /// Goes through one conversation.
    pub fn conversation(&mut self, head: &Head, text: &str) {
        self.of_source(head).conversations += 1;
        let mut conversation = Conversation::default();
        for line in transcript::lines(text) {
            self.line(head, &line, &mut conversation);
        }
    }

    fn line(&mut self, head: &Head, line: &Line<'_>, conversation: &mut Conversation) {
        let speaker = head.speaker(line.sender);
        match parse(line.text, speaker) {
            // Ours never sends batches; others may, and their requests are to be known.
            Ok(Value::Array(entries)) if speaker != Speaker::Ours => {
                for entry in &entries {
                    self.frame(head, line, entry, conversation);
                }
            }
            Ok(message) => self.frame(head, line, &message, conversation),
            Err(_) if speaker == Speaker::Raw => {}
            // Whoever gives up a peer that does not read may be in the middle of a frame.
            Err(_) if line.is_unfinished => {}
            Err(_) if line.is_cut => self.of_source(head).cut += usize::from(speaker == Speaker::Ours),
            Err(error) if speaker == Speaker::Ours => self.faults.push(fault(head, line, vec![error.to_string()])),
            Err(error) => {
                let example = || fault(head, line, vec![error.to_string()]);
                self.of_source(head).foreign_faults.entry("no JSON".to_owned()).or_insert_with(example);
            }
        }
    }

    fn frame(&mut self, head: &Head, line: &Line<'_>, message: &Value, conversation: &mut Conversation) {
        let places = conversation.follow(line.sender, message);
        let version = places[0].version;
        let speaker = head.speaker(line.sender);
        let figures = self.of_source(head);
        match speaker {
            Speaker::Raw => return,
            Speaker::Ours => *figures.frames.entry(version).or_default() += 1,
            Speaker::Foreign => figures.foreign += 1,
        }
        if !self.is_new(head, line, speaker, &places) {
            return;
        }
        // An answer may be for any of several requests; the newest is told of if it fits none.
        let mut found =
            places.iter().map(|place| check(&self.schemas, line.sender, message, place)).collect::<Vec<_>>();
        let fitting = found.iter().position(|findings| findings.violations.is_empty()).unwrap_or(0);
        let findings = found.swap_remove(fitting);
        let figures = self.of_source(head);
        if speaker == Speaker::Ours {
            *figures.shapes.entry(version).or_default() += 1;
            figures.null_ids += usize::from(findings.null_id_waived);
        }
        self.own_methods.extend(findings.own_method);
        match speaker {
            _ if findings.violations.is_empty() => {}
            Speaker::Ours => {
                let complaints = findings.violations.iter().map(ToString::to_string).collect();
                self.faults.push(fault(head, line, complaints));
            }
            _ => {
                let about = message.get("method").unwrap_or(&Value::Null);
                for violation in findings.violations {
                    let rule = format!("{} {about}", violation.rule());
                    let example = || fault(head, line, vec![violation.to_string()]);
                    self.of_source(head).foreign_faults.entry(rule).or_insert_with(example);
                }
            }
        }
    }

    /// Whether a frame differs from all before it in this source in more than numbers.
    fn is_new(&mut self, head: &Head, line: &Line<'_>, speaker: Speaker, places: &[Place]) -> bool {
        let mut hasher = DefaultHasher::new();
        (&head.source, line.sender as u8, speaker as u8, shape(line.text)).hash(&mut hasher);
        for place in places {
            (place.version.as_str(), &place.kind).hash(&mut hasher);
        }
        self.seen.insert(hasher.finish())
    }

    fn of_source(&mut self, head: &Head) -> &mut Figures {
        self.figures.entry(head.source.clone()).or_default()
    }
}

fn fault(head: &Head, line: &Line<'_>, complaints: Vec<String>) -> Fault {
    Fault { test: head.test.clone(), frame: line.text.to_owned(), complaints }
}

/// Reads a message. What we write may nest as deeply as the program likes; nobody else is trusted with our stack.
fn parse(text: &str, speaker: Speaker) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    if speaker == Speaker::Ours {
        reader.disable_recursion_limit();
    }
    let value = Value::deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// All that is asked of a frame is that it is one.
    fn examiner() -> Examiner {
        let any = json!({});
        let message = json!({"properties": {"jsonrpc": {"const": "2.0"}}, "required": ["jsonrpc"]});
        let ping = json!({"properties": {"method": {"const": "ping"}}});
        let definitions = json!({
            "JSONRPCMessage": message, "JSONRPCRequest": any, "JSONRPCResponse": any,
            "PingRequest": ping, "ClientRequest": any, "EmptyResult": any,
        });
        let schema = "https://json-schema.org/draft/2020-12/schema";
        Examiner::new(Schemas::of_one(&json!({"$schema": schema, "$defs": definitions})).unwrap())
    }

    fn examined(client: &str, server: &str, lines: &str) -> Examiner {
        let head = format!("# source: here\n# test: the test\n# client: {client}\n# server: {server}\n");
        let mut examiner = examiner();
        examiner.conversation(&Head::read(&head).unwrap(), &(head + lines));
        examiner
    }

    const BROKEN: &str =
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}\n";

    #[test]
    fn a_broken_frame_of_ours_is_a_fault_of_its_test() {
        let examiner = examined("ours", "ours", BROKEN);
        let [fault] = examiner.faults() else { panic!("{:?}", examiner.faults()) };
        assert_eq!(fault.test, "the test");
        assert!(fault.frame.contains("1.0") && fault.complaints[0].contains("jsonrpc"), "{fault:?}");
        assert_eq!(examined("ours", "ours", "> {\"half\":\n").faults().len(), 1);
    }

    #[test]
    fn a_broken_frame_of_others_is_told_and_one_of_a_script_is_not() {
        let examiner = examined("ours", "foreign", BROKEN);
        assert!(examiner.faults().is_empty());
        let figures = &examiner.figures()["here"];
        assert_eq!((figures.foreign, figures.foreign_faults.len()), (1, 1));
        let examiner = examined("ours", "raw", BROKEN);
        assert!(examiner.faults().is_empty() && examiner.figures()["here"].foreign_faults.is_empty());
    }

    #[test]
    fn every_frame_is_counted_and_each_shape_is_held_against_the_schema_once() {
        let calls: String =
            (10..20).map(|id| format!("> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")).collect();
        let examiner = examined("ours", "raw", &calls);
        let figures = &examiner.figures()["here"];
        assert_eq!((figures.frames.values().sum::<usize>(), figures.shapes.values().sum::<usize>()), (10, 1));
        assert_eq!(figures.conversations, 1);
    }
}
