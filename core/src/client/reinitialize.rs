//! Another negotiation with a server that has changed: one that has forgotten the session, or that speaks another revision
//! than it did.
//!
//! The negotiation is gone through once more while the connection counts as ready. Calls may be made meanwhile; the link
//! defers them, and [`Client::rewritten`] makes of them what the revision of then wants.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::cache::Cache;
use super::negotiate::{Phase, is_modern_error, supported_by};
use super::{Call, CallOptions, Client, Event, Peer, gate};
use crate::error::CallError;
use crate::json::{JsonText, MOST_LEVELS, members};
use crate::jsonrpc::{RpcError, Splice, code};
use crate::model::{Discover, Era, Method, MethodInfo, Ping, ProtocolVersion, key};
use crate::rpc::Outgoing;
use crate::time::Instant;

impl<T> Client<T> {
    /// Negotiates once more: a modern server is probed, a legacy one asked for another session. Returns whether that was possible.
    pub(crate) fn reinitialize(&mut self, now: Instant) -> bool {
        let Some(peer) = self.peer.clone().filter(|_| matches!(*self.phase, Phase::Ready)) else { return false };
        self.reinitializing = true;
        // What the server asked in the old session it does not remember having asked.
        self.queue.extend(self.rpc.forget_requests().into_iter().map(Event::InputCancelled));
        match peer.version.era() {
            Era::Modern => self.probe(peer.version, 1, now),
            Era::Legacy => self.initialize(peer.version, now),
        }
        true
    }

    pub(crate) fn is_reinitializing(&self) -> bool {
        self.reinitializing && self.closed().is_none()
    }

    /// The request of the handshake that is open.
    pub(crate) fn handshake(&self) -> Option<i64> {
        self.rpc.find(|call| matches!(call, Call::Probe | Call::Initialize))
    }

    /// Whether a refusal, with the error in it if there is one, speaks for a server that is not of the era that it was, or
    /// not in the same revision. It is a reason to ask, no proof.
    pub(crate) fn may_have_changed(&self, error: Option<&RpcError>) -> bool {
        let Some(peer) = &self.peer else { return false };
        if peer.version.era() == Era::Legacy {
            return self.config.negotiation.allows(ProtocolVersion::LATEST) && error.is_some_and(is_modern_error);
        }
        let still_modern = match error.map(|error| (error.code, error)) {
            Some((code::UNSUPPORTED_PROTOCOL_VERSION, error)) => {
                supported_by(error).iter().any(|offered| offered == peer.version.as_str())
            }
            // What a modern server says of a call that it does not like.
            Some((
                code::HEADER_MISMATCH
                | code::MISSING_REQUIRED_CLIENT_CAPABILITY
                | code::PARSE_ERROR
                | code::METHOD_NOT_FOUND
                | code::INVALID_PARAMS
                | code::INTERNAL_ERROR,
                _,
            )) => true,
            _ => false,
        };
        !still_modern && self.may_be_legacy()
    }

    /// The negotiation has been gone through once more.
    pub(super) fn reinitialized(&mut self, before: &Peer, peer: Arc<Peer>, now: Instant) {
        let era = peer.version.era();
        if era == Era::Modern && before.version == peer.version {
            // It was a false alarm.
            return;
        }
        self.cache = Cache::default();
        for (call, gathering) in core::mem::take(&mut self.gathering) {
            self.queue.extend(gathering.open_inputs().map(Event::InputCancelled));
            self.fail(call, gathering.into_token(), CallError::SessionLost);
        }
        if era == Era::Modern {
            self.keep_alive = None;
            for (call, listen) in core::mem::take(&mut self.legacy_listens) {
                self.fail(call, listen.into_token(), CallError::SessionLost);
            }
        } else {
            self.resubscribe(now);
        }
        self.queue.push_back(Event::Reinitialized(peer));
    }

    /// A request of the program's that was written for another revision, as the one of now wants it. None if it has no
    /// such request, or if it cannot be asked for any more.
    pub(crate) fn rewritten(&mut self, message: &Outgoing) -> Option<Outgoing> {
        let modern = self.is_modern();
        let number = message.request_id()?;
        if !matches!(self.rpc.token(number), Some(Call::User(_))) {
            return None;
        }
        let method = message.label.method.as_ref()?;
        let method = match method.as_str() {
            Ping::NAME if modern => Discover::NAME,
            Discover::NAME if !modern => Ping::NAME,
            other => other,
        };
        let known = MethodInfo::find(method);
        if let Some(known) = known {
            gate::check(known, self.peer.as_deref()?).ok()?;
        }
        let params = OldParams::read(message.content())?;
        let mut meta = Vec::new();
        for (name, value) in &params.meta {
            if !meta.is_empty() {
                meta.push(b',');
            }
            crate::json::write_json(&mut meta, name).ok()?;
            meta.push(b':');
            meta.extend_from_slice(value.as_str().as_bytes());
        }
        self.write_meta(&mut meta, modern, None, None);
        let message = Outgoing::request(number, method, &params, Splice { members: b"", meta: &meta }).ok()?;
        let timing = self.timing(&CallOptions::new());
        let handled = known.filter(|known| known.handled && modern);
        let written = message.content().map_or(&b""[..], |params| params.as_str().as_bytes());
        let retry = handled.map(|method| self.spare_retries.fill(method, written, timing));
        if let Some(Call::User(user)) = self.rpc.token_mut(number) {
            (user.retry, user.cache) = (retry, None);
        }
        Some(message)
    }
}

/// The parameters of a request without what its revision wanted in them.
struct OldParams<'a> {
    own: Vec<(Cow<'a, str>, JsonText<'a>)>,
    meta: Vec<(Cow<'a, str>, JsonText<'a>)>,
}

impl<'a> OldParams<'a> {
    /// None if they belong to a round of a call that the server does not know of any more.
    fn read(params: Option<JsonText<'a>>) -> Option<Self> {
        const WANTED: [&str; 4] = [key::PROTOCOL_VERSION, key::CLIENT_INFO, key::CLIENT_CAPABILITIES, key::LOG_LEVEL];
        let (mut own, mut inner) = (Vec::new(), None);
        members(params.unwrap_or(JsonText::EMPTY_OBJECT).as_str(), MOST_LEVELS, |name, value| match &*name {
            "_meta" => inner = Some(value),
            _ => own.push((name, value)),
        })
        .ok()?;
        if own.iter().any(|(name, _)| matches!(&**name, "inputResponses" | "requestState")) {
            return None;
        }
        let mut meta = Vec::new();
        if let Some(inner) = inner {
            members(inner.as_str(), MOST_LEVELS, |name, value| {
                if !WANTED.contains(&&*name) {
                    meta.push((name, value));
                }
            })
            .ok()?;
        }
        Some(Self { own, meta })
    }
}

impl Serialize for OldParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.own.len()))?;
        for (name, value) in &self.own {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
