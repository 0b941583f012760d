//! Following a conversation: which revision a message belongs to, and what it answers.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass::model::{Era, ProtocolVersion};
use windlass_sim::Side;

const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// What was said so far, as far as later messages depend on it.
#[derive(Default)]
pub struct Conversation {
    /// What the last handshake came to.
    negotiated: Option<ProtocolVersion>,
    spoke_modern: bool,
    /// By sender and id. Ids are used again, by mistake or after an answer, so the newest is last.
    requests: BTreeMap<(Side, String), Vec<Request>>,
    /// The revision of the request that asked for progress, by the sender of the request and the token.
    progress: BTreeMap<(Side, String), ProtocolVersion>,
}

#[derive(Clone)]
struct Request {
    method: String,
    version: ProtocolVersion,
}

/// Where a message belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The revision that decides how it should look.
    pub version: ProtocolVersion,
    /// What kind of message it is.
    pub kind: Kind,
}

/// The kinds of messages.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Kind {
    /// A request.
    Request {
        /// What it wants.
        method: String,
    },
    /// A notification.
    Notification {
        /// What it is about.
        method: String,
    },
    /// The result of a request.
    Result {
        /// What the request wanted; `None` if nothing is known that this could answer.
        method: Option<String>,
    },
    /// An error.
    Error,
    /// None of these.
    Unknown,
}

impl Conversation {
    /// The next message comes with a header that names its revision.
    pub fn speak(&mut self, version: ProtocolVersion) {
        match version.era() {
            Era::Legacy => self.negotiated = Some(version),
            Era::Modern => self.spoke_modern = true,
        }
    }

    /// Takes note of the next message. Whoever sends it may be wrong: whatever cannot be understood changes nothing.
    ///
    /// There is more than one place where a message may belong if it is an answer and the other side has asked several
    /// things under the same id, which is wrong and has to be lived with.
    pub fn follow(&mut self, sender: Side, message: &Value) -> Vec<Place> {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => vec![self.request(sender, method, id, message)],
            (Some(method), None) => vec![self.notification(sender, method, message)],
            (None, id) if message.get("error").is_some() => self.error(sender, id),
            (None, Some(id)) if message.get("result").is_some() => self.result(sender, id, message),
            (None, _) => vec![Place { version: self.version(), kind: Kind::Unknown }],
        }
    }

    fn request(&mut self, sender: Side, method: &str, id: &Value, message: &Value) -> Place {
        let version = if message.pointer(VERSION).is_some() {
            self.spoke_modern = true;
            ProtocolVersion::LATEST
        } else if method == "initialize" {
            offered(message.pointer("/params/protocolVersion"))
        } else {
            self.negotiated.unwrap_or(ProtocolVersion::LATEST_LEGACY)
        };
        if let Some(token) = message.pointer("/params/_meta/progressToken") {
            self.progress.insert((sender, token.to_string()), version);
        }
        let request = Request { method: method.to_owned(), version };
        self.requests.entry((sender, id.to_string())).or_default().push(request);
        Place { version, kind: Kind::Request { method: method.to_owned() } }
    }

    fn notification(&self, sender: Side, method: &str, message: &Value) -> Place {
        let asked_by = |side| Some((side, message.pointer("/params/progressToken")?.to_string()));
        let version = if message.pointer(SUBSCRIPTION).is_some() {
            Some(ProtocolVersion::LATEST)
        } else if method == "notifications/progress" {
            asked_by(sender.other()).and_then(|key| self.progress.get(&key).copied())
        } else if method == "notifications/cancelled" {
            message.pointer("/params/requestId").and_then(|id| self.cancelled(sender, id))
        } else {
            None
        };
        let version = version.unwrap_or_else(|| self.version());
        Place { version, kind: Kind::Notification { method: method.to_owned() } }
    }

    /// The revision of a request that its sender gives up, or of a subscription that the server ends.
    fn cancelled(&self, sender: Side, id: &Value) -> Option<ProtocolVersion> {
        let newest = |side| self.requests.get(&(side, id.to_string()))?.last();
        let subscription = newest(Side::Client).filter(|request| request.method == "subscriptions/listen");
        let request = if sender == Side::Server { subscription.or(newest(sender)) } else { newest(sender) };
        request.map(|request| request.version)
    }

    /// An error answers nothing for good: it may be for a line with the same id that could not be read.
    fn error(&self, sender: Side, id: Option<&Value>) -> Vec<Place> {
        let asked = id.and_then(|id| self.requests.get(&(sender.other(), id.to_string())));
        let asked = asked.map(Vec::as_slice).unwrap_or_default();
        if asked.is_empty() {
            return vec![Place { version: self.version(), kind: Kind::Error }];
        }
        asked.iter().rev().map(|request| Place { version: request.version, kind: Kind::Error }).collect()
    }

    fn result(&mut self, sender: Side, id: &Value, message: &Value) -> Vec<Place> {
        let asked = self.answered(sender, id);
        if asked.is_empty() {
            return vec![Place { version: self.version(), kind: Kind::Result { method: None } }];
        }
        let place = |request: Request| {
            let mut version = request.version;
            if request.method == "initialize" {
                version = offered(message.pointer("/result/protocolVersion"));
                self.negotiated = Some(version);
            }
            Place { version, kind: Kind::Result { method: Some(request.method) } }
        };
        asked.into_iter().map(place).collect()
    }

    /// What an answer may be for, the newest first. If that is one thing it is answered now.
    fn answered(&mut self, sender: Side, id: &Value) -> Vec<Request> {
        let Some(asked) = self.requests.get_mut(&(sender.other(), id.to_string())) else { return Vec::new() };
        if asked.len() == 1 { std::mem::take(asked) } else { asked.iter().rev().cloned().collect() }
    }

    /// The revision of what belongs to no request.
    fn version(&self) -> ProtocolVersion {
        match self.negotiated {
            Some(version) => version,
            None if self.spoke_modern => ProtocolVersion::LATEST,
            None => ProtocolVersion::LATEST_LEGACY,
        }
    }
}

/// The revision that a handshake names; the newest with a handshake if there is no such revision.
fn offered(version: Option<&Value>) -> ProtocolVersion {
    version.and_then(Value::as_str).and_then(ProtocolVersion::parse).unwrap_or(ProtocolVersion::LATEST_LEGACY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result_of(method: &str) -> Kind {
        Kind::Result { method: Some(method.to_owned()) }
    }

    #[test]
    fn a_handshake_decides_and_a_modern_request_stands_alone() {
        let mut conversation = Conversation::default();
        let offer = json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
        assert_eq!(conversation.follow(Side::Client, &offer)[0].version, ProtocolVersion::V2025_06_18);
        let answer = json!({"id": 1, "result": {"protocolVersion": "2024-11-05"}});
        let place = conversation.follow(Side::Server, &answer);
        assert_eq!(place, [Place { version: ProtocolVersion::V2024_11_05, kind: result_of("initialize") }]);
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        conversation.follow(Side::Client, &json!({"id": 2, "method": "tools/list", "params": {"_meta": meta}}));
        conversation.follow(Side::Client, &json!({"id": 3, "method": "ping"}));
        let place = conversation.follow(Side::Server, &json!({"id": 2, "result": {}}));
        assert_eq!(place, [Place { version: ProtocolVersion::LATEST, kind: result_of("tools/list") }]);
        let place = conversation.follow(Side::Server, &json!({"id": 3, "result": {}}));
        assert_eq!(place, [Place { version: ProtocolVersion::V2024_11_05, kind: result_of("ping") }]);
    }

    #[test]
    fn an_answer_belongs_to_the_other_side_and_to_its_own_type_of_id() {
        let mut conversation = Conversation::default();
        conversation.follow(Side::Client, &json!({"id": 1, "method": "ping"}));
        let nothing = Kind::Result { method: None };
        assert_eq!(conversation.follow(Side::Client, &json!({"id": 1, "result": {}}))[0].kind, nothing);
        assert_eq!(conversation.follow(Side::Server, &json!({"id": "1", "result": {}}))[0].kind, nothing);
        assert_eq!(conversation.follow(Side::Server, &json!({"id": 1, "result": {}}))[0].kind, result_of("ping"));
        assert_eq!(conversation.follow(Side::Server, &json!({"id": 1, "result": {}}))[0].kind, nothing);
    }

    #[test]
    fn an_answer_may_belong_to_each_of_several_requests_with_its_id() {
        let mut conversation = Conversation::default();
        for method in ["ping", "tools/list"] {
            conversation.follow(Side::Client, &json!({"id": 1, "method": method}));
        }
        let places = conversation.follow(Side::Server, &json!({"id": 1, "result": {}}));
        let kinds: Vec<_> = places.into_iter().map(|place| place.kind).collect();
        assert_eq!(kinds, [result_of("tools/list"), result_of("ping")]);
    }
}
