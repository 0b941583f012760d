//! What a request wants, by its message and its session.

use alloc::string::ToString;

use super::admission::{Refusal, Verb, VersionHeader, version_header};
use super::connection::Arrival;
use super::{Exchange, HttpServer, STATELESS, mirrored};
use crate::codec::http1::RequestHead;
use crate::error::CloseReason;
use crate::json::{Fault, Json, JsonText};
use crate::jsonrpc::{Id, Malformed, MalformedKind, Message, Parsed, RpcError, code, parse, parse_entry};
use crate::machine::ConnId;
use crate::server::{Params, Server, ServerEvent};
use crate::session::LinkedRole;

impl<T, H: Clone> HttpServer<T, H> {
    pub(super) fn arrived(&mut self, conn: ConnId, arrival: Arrival) {
        let outcome = match arrival {
            Arrival::Refused(refusal) => Err(refusal),
            Arrival::Request { .. } if self.front.is_draining() => {
                Err(Refusal::new(503, "the server is shutting down"))
            }
            Arrival::Request { head, verb: Verb::Post, body } => self.post(conn, &head, &body),
            Arrival::Request { head, verb: Verb::Get, .. } => self.get(conn, &head),
            Arrival::Request { head, verb: Verb::Delete, .. } => self.delete(conn, &head),
        };
        if let Err(refusal) = outcome {
            self.front.refuse(conn, &refusal, self.now);
        }
    }

    fn post(&mut self, conn: ConnId, head: &RequestHead, body: &[u8]) -> Result<(), Refusal> {
        let version = version_header(head)?;
        let parsed = parse(body, &self.offer.config.limits);
        if let (Ok(Parsed::Message(message)), Some(stateless)) = (&parsed, self.sessions.role(STATELESS)) {
            // Which session it belongs to is not known yet, and does not matter to whoever watches.
            stateless.observe_incoming(message, body.len());
        }
        let params = Params::read(match &parsed {
            Ok(Parsed::Message(Message::Request { params, .. } | Message::Notification { params, .. })) => *params,
            _ => None,
        });
        match version.is_modern() || states_version(&params) {
            true => self.post_modern(conn, head, parsed, params),
            false => self.post_legacy(conn, head, version, parsed, params),
        }
    }

    fn post_modern(
        &mut self,
        conn: ConnId,
        head: &RequestHead,
        parsed: Result<Parsed<'_>, Malformed>,
        params: Result<Params<'_>, Fault>,
    ) -> Result<(), Refusal> {
        let message = match parsed {
            Ok(Parsed::Message(message)) => message,
            Ok(Parsed::Batch(_)) => {
                return self.malformed(conn, STATELESS, Malformed::new(MalformedKind::BatchNotAllowed, ""));
            }
            Err(malformed) => return self.malformed(conn, STATELESS, malformed),
        };
        match &message {
            Message::Response { .. } => Err(Refusal::new(400, "this protocol version has no responses of clients")),
            Message::Notification { .. } => {
                self.handle(STATELESS, message, Exchange { conn, stream: None });
                self.front.answer(conn, 202, &[], None, self.now);
                Ok(())
            }
            Message::Request { id, method, .. } => {
                let stream = self.front.open_stream(conn, STATELESS, None, false);
                let exchange = Exchange { conn, stream: Some(stream) };
                let tool = |name: &str| self.offer.registry.tool(name);
                match params.as_ref().map_or(Ok(()), |params| mirrored::check(&head.headers, method, params, tool)) {
                    Err(error) => {
                        self.with_role(STATELESS, Some(exchange), |server, _| server.refuse(id, &error));
                    }
                    Ok(()) => self.request(STATELESS, id, method, params, exchange),
                }
                Ok(())
            }
        }
    }

    fn post_legacy(
        &mut self,
        conn: ConnId,
        head: &RequestHead,
        version: VersionHeader,
        parsed: Result<Parsed<'_>, Malformed>,
        params: Result<Params<'_>, Fault>,
    ) -> Result<(), Refusal> {
        let initializes =
            matches!(&parsed, Ok(Parsed::Message(Message::Request { method, .. })) if method == "initialize");
        let name = match (self.session_of(head)?, initializes) {
            (Some(_), true) => return Err(Refusal::new(400, "the session is initialized already")),
            (Some(name), false) => name,
            (None, true) if version == VersionHeader::Unknown => return Err(unknown_version()),
            (None, true) => return self.initialize(conn, parsed, params),
            (None, false) => {
                return Err(match parsed {
                    Err(malformed) => unreadable(&malformed),
                    Ok(_) => Refusal::new(400, "Mcp-Session-Id is missing; send initialize first"),
                });
            }
        };
        self.check_version(name, version)?;
        let batches = self.sessions.role(name).is_some_and(Server::allows_batches);
        match parsed {
            Ok(Parsed::Message(Message::Request { id, method, .. })) => {
                let version = self.sessions.version(name);
                let stream = self.front.open_stream(conn, name, version, false);
                self.request(name, &id, &method, params, Exchange { conn, stream: Some(stream) });
                Ok(())
            }
            Ok(Parsed::Message(message)) => {
                self.handle(name, message, Exchange { conn, stream: None });
                self.front.answer(conn, 202, &[], None, self.now);
                Ok(())
            }
            Ok(Parsed::Batch(entries)) if batches => {
                self.batch(conn, name, &entries);
                Ok(())
            }
            Ok(Parsed::Batch(_)) => self.malformed(conn, name, Malformed::new(MalformedKind::BatchNotAllowed, "")),
            Err(malformed) => self.malformed(conn, name, malformed),
        }
    }

    fn initialize(
        &mut self,
        conn: ConnId,
        parsed: Result<Parsed<'_>, Malformed>,
        params: Result<Params<'_>, Fault>,
    ) -> Result<(), Refusal> {
        let Ok(Parsed::Message(Message::Request { id, method, .. })) = parsed else { return Ok(()) };
        if !self.has_place_for_session() {
            return Err(Refusal::new(503, "there are too many sessions, and all are in use; try again later"));
        }
        let client = self.front.client_of(conn);
        let name = self.sessions.begin(self.offer.clone(), client, &mut self.entropy, self.now);
        let stream = self.front.open_stream(conn, name, None, false);
        if let Some(session) = self.sessions.legacy(name) {
            self.front.announce(stream, &session.id);
        }
        self.request(name, &id, &method, params, Exchange { conn, stream: Some(stream) });
        if self.sessions.version(name).is_none() {
            self.end_session(name, CloseReason::PeerClosed);
        }
        Ok(())
    }

    /// Lets a role handle a request whose answer has a stream.
    fn request(&mut self, name: u32, id: &Id, method: &str, params: Result<Params<'_>, Fault>, exchange: Exchange) {
        let now = self.now;
        self.with_role(name, Some(exchange), |server, front| {
            let key = server.request(id, method, params, now);
            if let Some((stream, key)) = exchange.stream.zip(key) {
                front.expect(stream, key);
            }
        });
    }

    fn handle(&mut self, name: u32, message: Message<'_>, exchange: Exchange) {
        let now = self.now;
        let event = self.with_role(name, Some(exchange), |server, _| server.handle(message, now));
        if let Some(ServerEvent::Notification { method, params }) = event.flatten() {
            let method = method.into_owned().into();
            self.events.push_back((ServerEvent::Notification { method, params: None }, params.map(Json::from)));
        }
    }

    fn batch(&mut self, conn: ConnId, name: u32, entries: &[JsonText<'_>]) {
        let asks = |entry: &JsonText<'_>| matches!(parse_entry(*entry), Ok(Message::Request { .. }) | Err(_));
        let stream = entries.iter().any(asks).then(|| {
            let version = self.sessions.version(name);
            self.front.open_batch(conn, name, version)
        });
        let (exchange, now) = (Exchange { conn, stream }, self.now);
        for entry in entries {
            match parse_entry(*entry) {
                Ok(Message::Request { id, method, params }) => {
                    self.request(name, &id, &method, Params::read(params), exchange);
                }
                Ok(message) => self.handle(name, message, exchange),
                Err(malformed) => {
                    self.with_role(name, Some(exchange), |server, _| server.malformed(malformed, now));
                }
            }
        }
        match stream {
            Some(stream) => self.front.all_asked(stream, self.now),
            None => self.front.answer(conn, 202, &[], None, self.now),
        }
    }

    /// A body that is no message. The role says what to answer, if anything.
    fn malformed(&mut self, conn: ConnId, name: u32, mut malformed: Malformed) -> Result<(), Refusal> {
        if let Some(server) = self.sessions.role(name) {
            server.recognize(&mut malformed);
        }
        let answered = malformed.answer().is_some();
        let refusal = unreadable(&malformed);
        let now = self.now;
        self.with_role(name, Some(Exchange { conn, stream: None }), |server, _| server.malformed(malformed, now));
        if answered { Ok(()) } else { Err(refusal) }
    }

    fn get(&mut self, conn: ConnId, head: &RequestHead) -> Result<(), Refusal> {
        let version = version_header(head)?;
        if version.is_modern() {
            return Err(Refusal::new(405, "this protocol version has no GET; use subscriptions/listen"));
        }
        let name = self.session_of(head)?.ok_or_else(|| Refusal::new(400, "Mcp-Session-Id is missing"))?;
        self.check_version(name, version)?;
        if let Some(event) = head.headers.get("last-event-id") {
            return self.front.resume(conn, name, event, self.now);
        }
        if let Some(stream) = self.sessions.standalone(name, &mut self.front) {
            self.front.take_over(stream, conn, self.now);
        }
        Ok(())
    }

    fn delete(&mut self, conn: ConnId, head: &RequestHead) -> Result<(), Refusal> {
        let version = version_header(head)?;
        if version.is_modern() {
            return Err(Refusal::new(405, "this protocol version has no sessions"));
        }
        let name = self.session_of(head)?.ok_or_else(|| Refusal::new(400, "Mcp-Session-Id is missing"))?;
        self.check_version(name, version)?;
        self.end_session(name, CloseReason::PeerClosed);
        self.front.answer(conn, 204, &[], None, self.now);
        Ok(())
    }

    /// The session that a request belongs to, which is alive.
    fn session_of(&mut self, head: &RequestHead) -> Result<Option<u32>, Refusal> {
        let id = match head.headers.only("mcp-session-id") {
            Ok(None) => return Ok(None),
            Ok(Some(id)) => id,
            Err(_) => return Err(Refusal::new(400, "Mcp-Session-Id is there twice")),
        };
        let name = self.sessions.find(id);
        let name = name.ok_or_else(|| Refusal::new(404, "there is no such session; send initialize to begin one"))?;
        self.sessions.heard(name, self.now);
        Ok(Some(name))
    }

    fn check_version(&mut self, name: u32, version: VersionHeader) -> Result<(), Refusal> {
        let negotiated = self.sessions.version(name);
        match version {
            VersionHeader::Absent => Ok(()),
            VersionHeader::Known(version) if negotiated.is_none_or(|negotiated| negotiated == version) => Ok(()),
            VersionHeader::Known(_) => Err(Refusal::new(400, "MCP-Protocol-Version is not what was negotiated")),
            VersionHeader::Unknown => Err(unknown_version()),
        }
    }
}

fn unknown_version() -> Refusal {
    Refusal::new(400, "MCP-Protocol-Version is none that this server speaks")
}

/// Whether a message says of itself that it is modern.
fn states_version(params: &Result<Params<'_>, Fault>) -> bool {
    let meta = params.as_ref().ok().and_then(|params| params.meta().ok());
    meta.is_some_and(|meta| meta.protocol_version.is_some())
}

fn unreadable(malformed: &Malformed) -> Refusal {
    let error = malformed.answer().unwrap_or_else(|| RpcError::new(code::INVALID_REQUEST, malformed.to_string()));
    Refusal { status: 400, code: error.code, detail: error.message.into() }
}
