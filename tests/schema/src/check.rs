//! Holding one frame against the schema of its revision.

use std::fmt;

use serde_json::Value;
use windlass::model::ProtocolVersion;
use windlass_sim::Side;

use crate::conversation::{Kind, Place};
use crate::schemas::{ErrorDefinition, Schema, Schemas};

/// What is wrong with a frame.
#[derive(Debug)]
pub struct Violation {
    version: ProtocolVersion,
    definition: String,
    reason: String,
}

impl Violation {
    /// What it violates, without saying how.
    pub fn rule(&self) -> String {
        format!("{} {}", self.version.as_str(), self.definition)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule(), self.reason)
    }
}

/// Methods that no revision has, and that tests call by name to see what becomes of them. Anybody may have such methods;
/// of these the schemas know only that they are requests or notifications.
pub const OWN_METHODS: [&str; 5] =
    ["no/such/method", "notifications/radar/echo", "radar/off", "radar/scan", "radar/tune"];

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong.
    pub violations: Vec<Violation>,
    /// Whether the frame passed only because its null id was let pass; see [`check`].
    pub null_id_waived: bool,
    /// The method, if it is one of [`OWN_METHODS`].
    pub own_method: Option<String>,
}

/// Holds a frame against everything that the schema of its revision says about it.
///
/// One thing is let pass. JSON-RPC answers what it cannot read with an error whose id is null. From 2025-11-25 on the
/// id may be left out instead; the schemas before that want an id, and there is none to give.
pub fn check(schemas: &Schemas, sender: Side, frame: &Value, place: &Place) -> Findings {
    let null_id_waived = place.kind == Kind::Error && place.version.requires_id_in_errors() && frame["id"].is_null();
    let mut frame = frame.clone();
    if null_id_waived {
        frame["id"] = 0.into();
    }
    let schema = schemas.of(place.version);
    let mut checking = Checking { schema, version: place.version, violations: Vec::new() };
    checking.envelope(&place.kind, &frame);
    let own_method = match &place.kind {
        Kind::Request { method } | Kind::Notification { method } if OWN_METHODS.contains(&method.as_str()) => {
            Some(method.clone())
        }
        _ => None,
    };
    match &place.kind {
        _ if own_method.is_some() => {}
        Kind::Request { method } => checking.call(sender, "Request", method, &frame),
        Kind::Notification { method } => checking.call(sender, "Notification", method, &frame),
        Kind::Result { method: Some(method) } => checking.result(method, &frame["result"]),
        Kind::Result { method: None } => checking.fault("JSONRPCResponse", "this answers nothing that was asked"),
        Kind::Error => checking.error(&frame),
        Kind::Unknown => checking.fault("JSONRPCMessage", "this is no message"),
    }
    Findings { violations: checking.violations, null_id_waived, own_method }
}

struct Checking<'a> {
    schema: &'a Schema,
    version: ProtocolVersion,
    violations: Vec<Violation>,
}

impl Checking<'_> {
    /// That a frame is a message says little: in the older revisions a request with a wrong id is a notification.
    fn envelope(&mut self, kind: &Kind, frame: &Value) {
        self.hold("JSONRPCMessage", frame);
        let (own, older) = match kind {
            Kind::Request { .. } => ("JSONRPCRequest", "JSONRPCRequest"),
            Kind::Notification { .. } => ("JSONRPCNotification", "JSONRPCNotification"),
            Kind::Result { .. } => ("JSONRPCResultResponse", "JSONRPCResponse"),
            Kind::Error => ("JSONRPCErrorResponse", "JSONRPCError"),
            Kind::Unknown => return,
        };
        self.hold(if self.schema.defines(own) { own } else { older }, frame);
    }

    /// A request or a notification: as its method wants it, and one that this side may send.
    fn call(&mut self, sender: Side, what: &str, method: &str, frame: &Value) {
        match self.schema.definition_of_method(method).map(str::to_owned) {
            Some(definition) => self.hold(&definition, frame),
            None => self.fault(what, "the revision has no such method"),
        }
        self.hold(&format!("{sender:?}{what}"), frame);
    }

    fn result(&mut self, method: &str, result: &Value) {
        let request = self.schema.definition_of_method(method).unwrap_or("Request");
        let own = request.replace("Request", "Result");
        let definition = if result["resultType"] == "input_required" {
            "InputRequiredResult"
        } else if request != "Request" && self.schema.defines(&own) {
            &own
        } else {
            "EmptyResult"
        };
        self.hold(definition, result);
    }

    fn error(&mut self, frame: &Value) {
        match frame["error"]["code"].as_i64().and_then(|code| self.schema.definition_of_error(code)) {
            Some(ErrorDefinition::Frame(definition)) => self.hold(definition, frame),
            Some(ErrorDefinition::Member(definition)) => self.hold(definition, &frame["error"]),
            None => {}
        }
    }

    fn hold(&mut self, definition: &str, value: &Value) {
        for reason in self.schema.faults(definition, value) {
            self.fault(definition, &reason);
        }
    }

    fn fault(&mut self, definition: &str, reason: &str) {
        self.violations.push(Violation {
            version: self.version,
            definition: definition.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Conversation;
    use serde_json::json;

    /// Schemas with a method of each side, an error with data, and an envelope.
    fn schemas() -> Schemas {
        let method = |name: &str, params: Value| {
            json!({
                "properties": {"method": {"const": name}, "params": params},
                "required": ["method", "params"],
            })
        };
        let text = json!({"properties": {"text": {"type": "string"}}, "required": ["text"]});
        let error = json!({"allOf": [{"properties": {"code": {"const": -7}}, "required": ["code", "data"]}]});
        let document = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {
                "JSONRPCMessage": {"properties": {"jsonrpc": {"const": "2.0"}}, "required": ["jsonrpc"]},
                "JSONRPCRequest": {},
                "JSONRPCResponse": {},
                "JSONRPCErrorResponse": {"properties": {"id": {"type": "integer"}}},
                "EchoRequest": method("echo", text.clone()),
                "EchoResult": text.clone(),
                "AskRequest": method("ask", json!({})),
                "EmptyResult": {"maxProperties": 0},
                "ClientRequest": {"anyOf": [{"$ref": "#/$defs/EchoRequest"}]},
                "ServerRequest": {"anyOf": [{"$ref": "#/$defs/AskRequest"}]},
                "DataError": {"properties": {"error": error}},
            },
        });
        Schemas::of_one(&document).unwrap()
    }

    /// The definitions that the last of some messages violates.
    fn wrong(messages: &[(Side, Value)]) -> Vec<String> {
        let (schemas, mut conversation, mut found) = (schemas(), Conversation::default(), Vec::new());
        for (sender, message) in messages {
            let mut message = message.clone();
            message["jsonrpc"] = "2.0".into();
            let places = conversation.follow(*sender, &message);
            found = check(&schemas, *sender, &message, &places[0]).violations;
        }
        found.into_iter().map(|violation| violation.definition).collect()
    }

    #[test]
    fn a_call_is_as_its_method_wants_it_and_of_its_own_side() {
        let call = |method: &str, params: Value| json!({"id": 1, "method": method, "params": params});
        assert!(wrong(&[(Side::Client, call("echo", json!({"text": "a"})))]).is_empty());
        assert_eq!(wrong(&[(Side::Client, call("echo", json!({"text": 7})))]), ["EchoRequest", "ClientRequest"]);
        assert_eq!(wrong(&[(Side::Server, call("echo", json!({"text": "a"})))]), ["ServerRequest"]);
        assert_eq!(wrong(&[(Side::Client, call("unknown", json!({})))]), ["Request", "ClientRequest"]);
    }

    #[test]
    fn a_result_is_as_the_method_of_its_request_wants_it() {
        let echo = (Side::Client, json!({"id": 1, "method": "echo", "params": {"text": "a"}}));
        let ask = (Side::Server, json!({"id": 1, "method": "ask", "params": {}}));
        let result = |result: Value| json!({"id": 1, "result": result});
        let texts = [result(json!({"text": "a"})), result(json!({}))];
        assert!(wrong(&[echo.clone(), ask.clone(), (Side::Server, texts[0].clone())]).is_empty());
        assert_eq!(wrong(&[echo.clone(), ask.clone(), (Side::Server, texts[1].clone())]), ["EchoResult"]);
        assert_eq!(wrong(&[echo.clone(), ask.clone(), (Side::Client, texts[0].clone())]), ["EmptyResult"]);
        assert_eq!(wrong(&[(Side::Server, texts[0].clone())]), ["JSONRPCResponse"]);
    }

    #[test]
    fn an_error_is_as_its_code_wants_it() {
        let error = |id: Value, error: Value| (Side::Server, json!({"id": id, "error": error}));
        assert!(wrong(&[error(json!(1), json!({"code": -7, "data": 1}))]).is_empty());
        assert_eq!(wrong(&[error(json!(1), json!({"code": -7}))]), ["DataError"]);
        assert_eq!(wrong(&[error(json!(null), json!({"code": 1}))]), ["JSONRPCErrorResponse"]);
        // In older revisions there was no other way.
        let version = json!({"protocolVersion": "2025-06-18"});
        let offer = (Side::Client, json!({"id": 1, "method": "initialize", "params": version}));
        let agreed = (Side::Server, json!({"id": 1, "result": version}));
        assert!(wrong(&[offer, agreed, error(json!(null), json!({"code": 1}))]).is_empty());
    }
}
