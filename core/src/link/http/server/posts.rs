//! What a request wants, by its message and its session.

use alloc::string::ToString;
use alloc::sync::Arc;

use super::admission::{Refusal, Verb, VersionHeader, version_header};
use super::connection::Arrival;
use super::{HttpServer, ReplyPath, STATELESS, mirrored};
use crate::codec::http1::RequestHead;
use crate::error::CloseReason;
use crate::json::{Fault, Json, JsonText};
use crate::jsonrpc::{Id, Malformed, MalformedKind, Message, Parsed, RpcError, code, parse, parse_entry};
use crate::machine::ConnId;
use crate::model::{Initialize, Method};
use crate::rpc::LinkedRole;
use crate::server::{Params, Principal, Server, ServerEvent};

/// Who sent a request, and what its head says.
#[derive(Clone, Copy)]
struct Asker<'a> {
    conn: ConnId,
    head: &'a RequestHead,
    principal: Option<&'a Arc<Principal>>,
}

impl<T, H: Clone> HttpServer<T, H> {
    pub(super) fn arrived(&mut self, conn: ConnId, arrival: Arrival) {
        let outcome = match arrival {
            Arrival::Refused(refusal) => Err(refusal),
            Arrival::Shown(token) => return self.show(conn, token),
            Arrival::Request { .. } if self.connections.is_draining() => {
                Err(Refusal::new(503, "the server is shutting down"))
            }
            Arrival::Request { head, verb, principal, body } => {
                let asker = Asker { conn, head: &head, principal: principal.as_ref() };
                match verb {
                    Verb::Post => self.post(asker, &body),
                    Verb::Get => self.get(asker),
                    Verb::Delete => self.delete(asker),
                    Verb::Metadata => return self.tell_metadata(conn),
                }
            }
        };
        if let Err(refusal) = outcome {
            self.connections.refuse(conn, &refusal, self.now);
        }
    }

    fn post(&mut self, asker: Asker<'_>, body: &[u8]) -> Result<(), Refusal> {
        let version = version_header(asker.head)?;
        let parsed = parse(body, &self.offer.config.limits);
        if let (Ok(Parsed::Message(message)), Some(stateless)) = (&parsed, self.sessions.role(STATELESS)) {
            // Which session it belongs to is not known yet, and does not matter to whoever watches.
            stateless.observe_incoming(message, body.len());
        }
        let params = Params::read(match &parsed {
            Ok(Parsed::Message(Message::Request { params, .. } | Message::Notification { params, .. })) => *params,
            _ => None,
        });
        self.check_scopes(asker.principal, parsed.as_ref().ok().map(|parsed| (parsed, params.as_ref().ok())))?;
        match version.is_modern() || states_version(&params) {
            true => self.post_modern(asker, parsed, params),
            false => self.post_legacy(asker, version, parsed, params),
        }
    }

    fn post_modern(
        &mut self,
        asker: Asker<'_>,
        parsed: Result<Parsed<'_>, Malformed>,
        params: Result<Params<'_>, Fault>,
    ) -> Result<(), Refusal> {
        let conn = asker.conn;
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
                self.handle(STATELESS, message, ReplyPath { conn, stream: None });
                self.connections.answer(conn, 202, &[], None, self.now);
                Ok(())
            }
            Message::Request { id, method, .. } => {
                let stream = self.connections.open_stream(conn, STATELESS, None);
                let path = ReplyPath { conn, stream: Some(stream) };
                let tool = |name: &str| self.offer.registry.tool(name);
                match params
                    .as_ref()
                    .map_or(Ok(()), |params| mirrored::check(&asker.head.headers, method, params, tool))
                {
                    Err(error) => {
                        self.with_role(STATELESS, Some(path), |server, _| server.refuse(id, &error));
                    }
                    Ok(()) => self.request(STATELESS, id, method, params, asker.principal, path),
                }
                Ok(())
            }
        }
    }

    fn post_legacy(
        &mut self,
        asker: Asker<'_>,
        version: VersionHeader,
        parsed: Result<Parsed<'_>, Malformed>,
        params: Result<Params<'_>, Fault>,
    ) -> Result<(), Refusal> {
        let conn = asker.conn;
        let initializes =
            matches!(&parsed, Ok(Parsed::Message(Message::Request { method, .. })) if method == Initialize::NAME);
        let index = match (self.session_of(asker)?, initializes) {
            (Some(_), true) => return Err(Refusal::new(400, "the session is initialized already")),
            (Some(index), false) => index,
            (None, true) if version == VersionHeader::Unknown => return Err(unknown_version()),
            (None, true) => return self.initialize(asker, parsed, params),
            (None, false) => {
                return Err(match parsed {
                    Err(malformed) => unreadable(&malformed),
                    Ok(_) => Refusal::new(400, "Mcp-Session-Id is missing; send initialize first"),
                });
            }
        };
        self.check_version(index, version)?;
        let batches = self.sessions.role(index).is_some_and(Server::allows_batches);
        match parsed {
            Ok(Parsed::Message(Message::Request { id, method, .. })) => {
                let version = self.sessions.version(index);
                let stream = self.connections.open_stream(conn, index, version);
                self.request(index, &id, &method, params, asker.principal, ReplyPath { conn, stream: Some(stream) });
                Ok(())
            }
            Ok(Parsed::Message(message)) => {
                self.handle(index, message, ReplyPath { conn, stream: None });
                self.connections.answer(conn, 202, &[], None, self.now);
                Ok(())
            }
            Ok(Parsed::Batch(entries)) if batches => {
                self.batch(asker, index, &entries);
                Ok(())
            }
            Ok(Parsed::Batch(_)) => self.malformed(conn, index, Malformed::new(MalformedKind::BatchNotAllowed, "")),
            Err(malformed) => self.malformed(conn, index, malformed),
        }
    }

    fn initialize(
        &mut self,
        asker: Asker<'_>,
        parsed: Result<Parsed<'_>, Malformed>,
        params: Result<Params<'_>, Fault>,
    ) -> Result<(), Refusal> {
        let Ok(Parsed::Message(Message::Request { id, method, .. })) = parsed else { return Ok(()) };
        if !self.has_place_for_session() {
            return Err(Refusal::new(503, "there are too many sessions, and all are in use; try again later"));
        }
        let Asker { conn, principal, .. } = asker;
        let client = self.connections.client_of(conn);
        let identity = principal.map(|principal| principal.identity());
        let index = self.sessions.begin(self.offer.clone(), client, identity, &mut self.entropy, self.now);
        let stream = self.connections.open_stream(conn, index, None);
        if let Some(session) = self.sessions.legacy(index) {
            self.connections.announce(stream, &session.id);
        }
        self.request(index, &id, &method, params, principal, ReplyPath { conn, stream: Some(stream) });
        if self.sessions.version(index).is_none() {
            self.end_session(index, CloseReason::PeerClosed);
        }
        Ok(())
    }

    /// Lets a role handle a request whose answer has a stream.
    fn request(
        &mut self,
        index: u32,
        id: &Id,
        method: &str,
        params: Result<Params<'_>, Fault>,
        principal: Option<&Arc<Principal>>,
        path: ReplyPath,
    ) {
        let now = self.now;
        self.with_role(index, Some(path), |server, connections| {
            let key = server.request(id, method, params, principal, now);
            if let Some((stream, key)) = path.stream.zip(key) {
                connections.expect(stream, key);
            }
        });
    }

    fn handle(&mut self, index: u32, message: Message<'_>, path: ReplyPath) {
        let now = self.now;
        let event = self.with_role(index, Some(path), |server, _| server.handle(message, now));
        if let Some(ServerEvent::Notification { method, params }) = event.flatten() {
            let method = method.into_owned().into();
            self.events.push_back((ServerEvent::Notification { method, params: None }, params.map(Json::from)));
        }
    }

    fn batch(&mut self, asker: Asker<'_>, index: u32, entries: &[JsonText<'_>]) {
        let Asker { conn, principal, .. } = asker;
        let asks = |entry: &JsonText<'_>| matches!(parse_entry(*entry), Ok(Message::Request { .. }) | Err(_));
        let stream = entries.iter().any(asks).then(|| {
            let version = self.sessions.version(index);
            self.connections.open_batch(conn, index, version)
        });
        let (path, now) = (ReplyPath { conn, stream }, self.now);
        for entry in entries {
            match parse_entry(*entry) {
                Ok(Message::Request { id, method, params }) => {
                    self.request(index, &id, &method, Params::read(params), principal, path);
                }
                Ok(message) => self.handle(index, message, path),
                Err(malformed) => {
                    self.with_role(index, Some(path), |server, _| server.malformed(malformed, now));
                }
            }
        }
        match stream {
            Some(stream) => self.connections.all_asked(stream, self.now),
            None => self.connections.answer(conn, 202, &[], None, self.now),
        }
    }

    /// A body that is no message. The role says what to answer, if anything.
    fn malformed(&mut self, conn: ConnId, index: u32, mut malformed: Malformed) -> Result<(), Refusal> {
        if let Some(server) = self.sessions.role(index) {
            server.recognize(&mut malformed);
        }
        let answered = malformed.answer().is_some();
        let refusal = unreadable(&malformed);
        let now = self.now;
        self.with_role(index, Some(ReplyPath { conn, stream: None }), |server, _| server.malformed(malformed, now));
        if answered { Ok(()) } else { Err(refusal) }
    }

    fn get(&mut self, asker: Asker<'_>) -> Result<(), Refusal> {
        self.check_scopes(asker.principal, None)?;
        let version = version_header(asker.head)?;
        if version.is_modern() {
            return Err(Refusal::new(405, "this protocol version has no GET; use subscriptions/listen"));
        }
        let index = self.session_of(asker)?.ok_or_else(|| Refusal::new(400, "Mcp-Session-Id is missing"))?;
        self.check_version(index, version)?;
        let conn = asker.conn;
        if let Some(event) = asker.head.headers.get("last-event-id") {
            return self.connections.resume(conn, index, event, self.now);
        }
        if let Some(stream) = self.sessions.standalone(index, &mut self.connections) {
            self.connections.take_over(stream, conn, self.now);
        }
        Ok(())
    }

    fn delete(&mut self, asker: Asker<'_>) -> Result<(), Refusal> {
        self.check_scopes(asker.principal, None)?;
        let version = version_header(asker.head)?;
        if version.is_modern() {
            return Err(Refusal::new(405, "this protocol version has no sessions"));
        }
        let index = self.session_of(asker)?.ok_or_else(|| Refusal::new(400, "Mcp-Session-Id is missing"))?;
        self.check_version(index, version)?;
        self.end_session(index, CloseReason::PeerClosed);
        self.connections.answer(asker.conn, 204, &[], None, self.now);
        Ok(())
    }

    /// The session that a request belongs to, which is alive.
    fn session_of(&mut self, asker: Asker<'_>) -> Result<Option<u32>, Refusal> {
        let id = match asker.head.headers.only("mcp-session-id") {
            Ok(None) => return Ok(None),
            Ok(Some(id)) => id,
            Err(_) => return Err(Refusal::new(400, "Mcp-Session-Id is there twice")),
        };
        let index = self.sessions.find(id, asker.principal.map(|principal| principal.identity()));
        let index = index.ok_or_else(|| Refusal::new(404, "there is no such session; send initialize to begin one"))?;
        self.sessions.heard(index, self.now);
        Ok(Some(index))
    }

    fn check_version(&self, index: u32, version: VersionHeader) -> Result<(), Refusal> {
        let negotiated = self.sessions.version(index);
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
    Refusal { status: 400, code: error.code, detail: error.message.into(), header: None }
}
