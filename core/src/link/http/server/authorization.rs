//! Who asks, where a server is protected: a token is shown, verified by the program, and its principal goes with the request.
//!
//! ```text
//!   head with a token ─┬─ seen lately ──────────────────────────────────────────► its principal ──► the body is read
//!                      └─ new ──► the program verifies it, once for all who show it ──┘ └── no: 401; too late, too many: 503
//! ```
//!
//! A request without one is refused by its head. Nobody's body is read before it is known who they are.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hmac_sha256::Hash;

use super::HttpServer;
use super::admission::Refusal;
use super::config::HttpServerConfig;
use crate::auth::ProtectedResource;
use crate::codec::http1::{Framing, RequestHead};
use crate::jsonrpc::{Message, Parsed, parse_entry};
use crate::machine::ConnId;
use crate::model::{CallTool, Method};
use crate::observer::Observation;
use crate::secret::Secret;
use crate::server::{Params, Principal, ServerEvent, TokenRejected, VerifyReply};
use crate::time::Instant;

/// What a token is known by here. The token itself is not kept.
type Digest = [u8; 32];

/// The tokens that are being verified, and those that were.
#[derive(Default)]
pub(super) struct Tokens {
    /// By number. All have as long, so the first is due first.
    verifications: BTreeMap<u64, Verification>,
    numbers: BTreeMap<Digest, u64>,
    known: BTreeMap<Digest, Arc<Principal>>,
    /// Until when they are, oldest first.
    known_until: VecDeque<(Instant, Digest)>,
    next: u64,
}

struct Verification {
    token: Digest,
    deadline: Instant,
    /// Who shows it.
    waiting: Vec<ConnId>,
}

impl Tokens {
    pub(super) fn is_idle(&self) -> bool {
        self.verifications.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.verifications.first_key_value().map(|(_, verification)| verification.deadline)
    }

    /// Whose a token is, if that was found out lately.
    fn known(&mut self, token: &Digest, now: Instant) -> Option<Arc<Principal>> {
        while self.known_until.front().is_some_and(|(until, _)| *until <= now) {
            self.forget_oldest();
        }
        self.known.get(token).cloned()
    }

    fn forget_oldest(&mut self) {
        if let Some((_, oldest)) = self.known_until.pop_front() {
            self.known.remove(&oldest);
        }
    }

    fn remember(&mut self, token: Digest, principal: Arc<Principal>, resource: &ProtectedResource, now: Instant) {
        if resource.cache_for.is_zero() || resource.cached_tokens == 0 {
            return;
        }
        while self.known.len() >= resource.cached_tokens {
            self.forget_oldest();
        }
        self.known_until.push_back((now + resource.cache_for, token));
        self.known.insert(token, principal);
    }

    /// Has `conn` wait for what is being found out about its token already.
    fn join(&mut self, token: &Digest, conn: ConnId) -> bool {
        let verification = self.numbers.get(token).and_then(|number| self.verifications.get_mut(number));
        verification.map(|verification| verification.waiting.push(conn)).is_some()
    }

    fn begin(&mut self, token: Digest, conn: ConnId, deadline: Instant) -> VerifyReply {
        let number = self.next;
        self.next += 1;
        self.numbers.insert(token, number);
        self.verifications.insert(number, Verification { token, deadline, waiting: Vec::from([conn]) });
        VerifyReply(number)
    }

    fn end(&mut self, number: u64) -> Option<Verification> {
        let verification = self.verifications.remove(&number)?;
        self.numbers.remove(&verification.token);
        Some(verification)
    }

    fn next_overdue(&mut self, now: Instant) -> Option<Verification> {
        let (&number, _) = self.verifications.first_key_value().filter(|(_, it)| it.deadline <= now)?;
        self.end(number)
    }
}

/// Whether a request is for the metadata, which anybody may have, from any page: it is there to be found before one may do
/// anything else.
pub(super) fn is_for_metadata(head: &RequestHead, path: &str, config: &HttpServerConfig) -> Result<bool, Refusal> {
    let Some(resource) = config.authorization.as_ref().filter(|it| it.has_metadata_at(path, &config.path)) else {
        return Ok(false);
    };
    match (&*head.method, head.framing) {
        ("GET", Framing::Empty | Framing::Length(0)) => Ok(true),
        ("GET", _) => Err(Refusal::new(400, "a request for metadata has no body")),
        _ => {
            let detail = alloc::format!("the metadata of {} is had by GET", resource.resource());
            Err(Refusal::new(405, detail).with_header("Allow", "GET"))
        }
    }
}

/// The token that a request shows. None need be shown to a server that is not protected. One that stands in the URL, where
/// it would be in every log on the way, is no token.
pub(super) fn shown(head: &RequestHead, config: &HttpServerConfig) -> Result<Option<Secret>, Refusal> {
    let Some(resource) = &config.authorization else { return Ok(None) };
    let missing = || {
        let challenge = resource.challenge(None, &resource.needed_by_all());
        Refusal::new(401, "this server wants a token").with_header("WWW-Authenticate", challenge)
    };
    let malformed = |detail: &'static str| {
        let challenge = resource.challenge(Some(("invalid_request", detail)), &[]);
        Refusal::new(400, detail).with_header("WWW-Authenticate", challenge)
    };
    let Ok(credentials) = head.headers.only("authorization") else {
        return Err(malformed("Authorization is there twice"));
    };
    let credentials = credentials.ok_or_else(missing)?;
    let (scheme, token) = credentials.split_once(' ').unwrap_or((credentials, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(if scheme.is_empty() { malformed("Authorization says nothing") } else { missing() });
    }
    let token = token.trim_start_matches(' ');
    if !is_token68(token) {
        return Err(malformed("Authorization has no token that could be one"));
    }
    Ok(Some(Secret::new(token)))
}

/// Whether a text is written as tokens are (RFC 6750 section 2.1).
fn is_token68(text: &str) -> bool {
    let text = text.trim_end_matches('=');
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

fn rejected(resource: &ProtectedResource, why: &TokenRejected) -> Refusal {
    let detail = why.to_string();
    if let TokenRejected::Unavailable(_) = why {
        return Refusal::new(503, detail);
    }
    let challenge = resource.challenge(Some(("invalid_token", &detail)), &resource.needed_by_all());
    Refusal::new(401, detail).with_header("WWW-Authenticate", challenge)
}

impl<T, H: Clone> HttpServer<T, H> {
    /// The program has found out whose a token is, or why it is not good. Too late is as good as never.
    pub fn verified(&mut self, reply: VerifyReply, outcome: Result<Principal, TokenRejected>, now: Instant) {
        self.now = now;
        let (VerifyReply(number), unix_time) = (reply, self.unix_time());
        let Some(resource) = &self.connections.config.authorization else { return };
        let Some(verification) = self.tokens.end(number) else { return };
        let outcome = outcome.and_then(|principal| resource.check(&principal, unix_time).map(|()| Arc::new(principal)));
        if let Ok(principal) = &outcome {
            self.tokens.remember(verification.token, principal.clone(), resource, now);
        }
        for conn in verification.waiting {
            self.decide(conn, outcome.as_ref());
        }
    }

    /// A request shows a token.
    pub(super) fn show(&mut self, conn: ConnId, token: Secret) {
        let (now, unix_time) = (self.now, self.unix_time());
        let Some(resource) = &self.connections.config.authorization else { return };
        if self.connections.is_draining() {
            return self.connections.turn_away(conn, &Refusal::new(503, "the server is shutting down"), now);
        }
        let digest = Hash::hash(token.expose().as_bytes());
        if let Some(principal) = self.tokens.known(&digest, now) {
            let outcome = resource.check(&principal, unix_time).map(|()| principal);
            return self.decide(conn, outcome.as_ref());
        }
        if self.tokens.join(&digest, conn) {
            return;
        }
        if self.tokens.verifications.len() >= resource.verifications {
            self.observe(|| Observation::LimitHit { limit: "verifications" });
            let refusal = Refusal::new(503, "too many tokens are being verified; try again later");
            return self.connections.turn_away(conn, &refusal, now);
        }
        let reply = self.tokens.begin(digest, conn, now + resource.verify_timeout);
        self.events.push_back((ServerEvent::Verify { reply, token }, None));
    }

    /// Goes on with a request whose principal is known, or refuses it.
    fn decide(&mut self, conn: ConnId, outcome: Result<&Arc<Principal>, &TokenRejected>) {
        let Some(resource) = &self.connections.config.authorization else { return };
        match outcome {
            Ok(principal) => self.connections.admit(conn, principal.clone(), self.now),
            Err(why) => {
                let refusal = rejected(resource, why);
                self.connections.turn_away(conn, &refusal, self.now);
            }
        }
    }

    /// Nobody waits longer for a verification than it may take.
    pub(super) fn end_overdue_verifications(&mut self) {
        while let Some(verification) = self.tokens.next_overdue(self.now) {
            for conn in verification.waiting {
                let refusal = Refusal::new(503, "the token could not be verified in time; try again later");
                self.connections.turn_away(conn, &refusal, self.now);
            }
        }
    }

    /// Tells who asks how to get a token.
    pub(super) fn tell_metadata(&mut self, conn: ConnId) {
        let Some(resource) = &self.connections.config.authorization else { return };
        let metadata = resource.metadata();
        let headers = [("Access-Control-Allow-Origin", "*"), ("Cache-Control", "max-age=300")];
        self.connections.answer(conn, 200, &headers, Some(&metadata), self.now);
    }

    /// Whether a principal may send a message. Everything that it needs is said at once.
    pub(super) fn check_scopes(
        &self,
        principal: Option<&Arc<Principal>>,
        message: Option<(&Parsed<'_>, Option<&Params<'_>>)>,
    ) -> Result<(), Refusal> {
        let (Some(resource), Some(principal)) = (&self.connections.config.authorization, principal) else {
            return Ok(());
        };
        let needed = match message {
            None => resource.needed_by_all(),
            Some((Parsed::Message(message), params)) => {
                let method = method_of(message).unwrap_or_default();
                let tool = params.and_then(|params| tool_of(method, params));
                resource.needed(&[(method, tool.as_deref())])
            }
            Some((Parsed::Batch(entries), _)) => {
                let entries: Vec<_> = entries.iter().filter_map(|entry| parse_entry(*entry).ok()).collect();
                let asked = entries.iter().filter_map(|message| {
                    let (method, params) = (method_of(message)?, params_of(message));
                    Some((method, params.and_then(|params| tool_of(method, &params))))
                });
                let asked: Vec<_> = asked.collect();
                let asked: Vec<_> = asked.iter().map(|(method, tool)| (*method, tool.as_deref())).collect();
                resource.needed(&asked)
            }
        };
        if resource.allows(principal, &needed) {
            return Ok(());
        }
        let detail = "the token does not allow this";
        let challenge = resource.challenge(Some(("insufficient_scope", detail)), &needed);
        Err(Refusal::new(403, detail).with_header("WWW-Authenticate", challenge))
    }

    fn unix_time(&self) -> core::time::Duration {
        self.offer.config.unix_time_at_origin.saturating_add(self.now.since(Instant::ZERO))
    }
}

fn method_of<'a>(message: &'a Message<'_>) -> Option<&'a str> {
    match message {
        Message::Request { method, .. } | Message::Notification { method, .. } => Some(method),
        Message::Response { .. } => None,
    }
}

fn params_of<'a>(message: &Message<'a>) -> Option<Params<'a>> {
    match message {
        Message::Request { params, .. } | Message::Notification { params, .. } => Params::read(*params).ok(),
        Message::Response { .. } => None,
    }
}

fn tool_of(method: &str, params: &Params<'_>) -> Option<Box<str>> {
    (method == CallTool::NAME).then(|| params.naming("name"))?.map(|name| name.into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_written_as_rfc_6750_has_it() {
        for token in ["a", "mF_9.B5f-4.1JqM", "a+/~==", "A1="] {
            assert!(is_token68(token), "{token}");
        }
        for token in ["", "=", "a b", "a,b", "a=b", "\"a\"", "é", "a\u{fffd}"] {
            assert!(!is_token68(token), "{token}");
        }
    }
}
