//! How a client and a server find out what they both speak. The phase of a connection changes here and nowhere else.
//!
//! ```text
//!            Automatic, Pinned(modern), Cached(Modern)          Legacy, Pinned(legacy), Cached(Legacy)
//!                             │                                                  │
//!                             ▼            not modern, silent or gone            ▼
//!                          Probing ───────────────────────────────────────► Initializing
//!                 modern      │  ▲                                               │
//!                 answer      │  └─ another version, at most three times         │ answer in a revision we speak
//!                             ▼                                                  ▼
//!                           Ready ◄──────────────────────────────────────────── Ready
//! ```
//!
//! A connection that was ready goes through it again when the server has changed: see `reinitialize`.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;
use core::time::Duration;

use serde::Deserialize;

use super::{Call, Client, Event, Negotiation, Peer};
use crate::error::{CloseReason, NegotiationError};
use crate::json::{JsonText, write_json};
use crate::jsonrpc::{RpcError, Splice, code};
use crate::model::{
    Discover, DiscoverResult, EmptyParams, Era, Implementation, Initialize, InitializeParams, InitializeResult,
    Initialized, Method, Notice, ProtocolVersion, Readable, RootsCapability, ServerCapabilities, key,
};
use crate::observer::Observation;
use crate::rpc::{KeepAlive, LinkKind, LinkedRole, Timing};
use crate::time::Instant;

/// Probes with one version after the other stop here: a server that keeps naming others does not mean it.
const MOST_PROBES: u32 = 3;

/// Where the connection is.
pub(super) enum Phase {
    /// No stream yet.
    Idle,
    /// `server/discover` is on its way.
    Probing { version: ProtocolVersion, probes: u32 },
    /// `initialize` is on its way.
    Initializing { retried: bool },
    /// Calls may be made.
    Ready,
    /// Over.
    Closed(Box<CloseReason>),
}

/// The phase that the connection is in. Whoever likes may look at it; this file alone changes it.
pub(super) struct Current(Phase);

impl Default for Current {
    fn default() -> Self {
        Self(Phase::Idle)
    }
}

impl Deref for Current {
    type Target = Phase;

    fn deref(&self) -> &Phase {
        &self.0
    }
}

impl Current {
    /// Closing ends every phase.
    pub(super) fn close(&mut self, reason: &CloseReason) {
        self.0 = Phase::Closed(Box::new(reason.clone()));
    }
}

impl<T> Client<T> {
    /// The stream is open: says the first word.
    pub(crate) fn start(&mut self, now: Instant) {
        match self.config.negotiation {
            Negotiation::Automatic | Negotiation::Cached(Era::Modern) => self.probe(ProtocolVersion::LATEST, 1, now),
            Negotiation::Pinned(version) if version.era() == Era::Modern => self.probe(version, 1, now),
            Negotiation::Pinned(version) => self.initialize(version, now),
            Negotiation::Legacy | Negotiation::Cached(Era::Legacy) => {
                self.initialize(ProtocolVersion::LATEST_LEGACY, now);
            }
        }
    }

    /// The stream ended. A legacy server that exits on the probe deserves a second stream: returns whether to open one.
    pub(crate) fn stream_ended(&mut self, reason: CloseReason) -> bool {
        match &*self.phase {
            Phase::Probing { .. } if self.may_be_legacy() && reason == CloseReason::PeerClosed => {
                self.rpc.abandon();
                self.rpc.outbox.clear();
                self.phase.0 = Phase::Idle;
                true
            }
            Phase::Probing { .. } | Phase::Initializing { .. } if reason == CloseReason::PeerClosed => {
                self.close(CloseReason::Negotiation(NegotiationError::ClosedEarly));
                false
            }
            _ => {
                self.close(reason);
                false
            }
        }
    }

    /// The second stream is open.
    pub(crate) fn restart_as_legacy(&mut self, now: Instant) {
        self.initialize(ProtocolVersion::LATEST_LEGACY, now);
    }

    pub(super) fn may_be_legacy(&self) -> bool {
        self.config.negotiation.allows(ProtocolVersion::LATEST_LEGACY)
    }

    pub(super) fn probe(&mut self, version: ProtocolVersion, probes: u32, now: Instant) {
        self.phase.0 = Phase::Probing { version, probes };
        self.request_meta = self.meta_for(version);
        let meta = core::mem::take(&mut self.request_meta);
        // A server that is probed again has shown that it is modern: its silence says nothing about the era.
        // And where each call has an exchange of its own, a server that does not know the probe says so by refusing it.
        let timeout = match self.may_be_legacy() && probes == 1 && self.link() == LinkKind::Stream {
            true => self.config.probe_timeout,
            false => self.config.handshake_timeout,
        };
        let splice = Splice { members: b"", meta: &meta };
        let params = EmptyParams::default();
        let sent = self.rpc.call(None, Discover::NAME, &params, splice, Timing::exactly(timeout), Call::Probe, now);
        debug_assert!(sent.is_ok(), "the probe always serialises");
        self.request_meta = meta;
    }

    /// The members of `_meta` that every modern request carries.
    pub(super) fn meta_for(&self, version: ProtocolVersion) -> Box<[u8]> {
        let mut out = Vec::new();
        let mut member = |name: &str, write: &dyn Fn(&mut Vec<u8>) -> Result<(), serde_json::Error>| {
            if !out.is_empty() {
                out.push(b',');
            }
            let _ = write_json(&mut out, name);
            out.push(b':');
            let written = write(&mut out);
            debug_assert!(written.is_ok(), "configuration always serialises");
        };
        member(key::PROTOCOL_VERSION, &|out| write_json(out, version.as_str()));
        member(key::CLIENT_INFO, &|out| write_json(out, &self.config.info));
        // Changes of the roots cannot be announced in the modern era.
        let mut capabilities = self.config.capabilities.clone();
        capabilities.roots = capabilities.roots.map(|_| RootsCapability::default());
        member(key::CLIENT_CAPABILITIES, &|out| write_json(out, &capabilities));
        out.into()
    }

    pub(super) fn probe_answered(&mut self, outcome: Result<JsonText<'_>, RpcError>, now: Instant) {
        let Phase::Probing { version, probes } = *self.phase else { return };
        let offered = match outcome {
            Ok(result) => match Discover::read(result) {
                Ok(discovered) if !discovered.supported_versions.is_empty() => {
                    if discovered.supported_versions.iter().any(|offered| offered == version.as_str()) {
                        self.modern_ready(version, discovered, now);
                        return;
                    }
                    discovered.supported_versions
                }
                _ => return self.not_modern(now),
            },
            Err(error) if error.code == code::UNSUPPORTED_PROTOCOL_VERSION => supported_by(&error),
            Err(error) if is_modern_error(&error) && self.is_modern() => return self.stay_as_before(),
            Err(error) if is_modern_error(&error) => {
                return self.close(CloseReason::Negotiation(NegotiationError::Refused(error)));
            }
            Err(_) => return self.not_modern(now),
        };
        let common = |era| common_version(&offered, self.config.negotiation, era);
        match (common(Era::Modern), common(Era::Legacy)) {
            (Some(other), _) if probes < MOST_PROBES => self.probe(other, probes + 1, now),
            (None, Some(legacy)) => self.initialize(legacy, now),
            _ => self.close(CloseReason::Negotiation(NegotiationError::NoCommonVersion { offered })),
        }
    }

    pub(super) fn probe_expired(&mut self, after: Duration, now: Instant) {
        match *self.phase {
            Phase::Probing { probes: 1, .. } if self.may_be_legacy() && self.link() == LinkKind::Stream => {
                self.initialize(ProtocolVersion::LATEST_LEGACY, now);
            }
            _ => self.initialize_expired(after),
        }
    }

    /// An error that names no request. While the probe is open it is the answer to it: a legacy server could not even
    /// read the probe, or a modern one refuses it.
    pub(super) fn unaddressed_error(&mut self, error: Option<RpcError>, now: Instant) {
        let probe = self.rpc.find(|call| matches!(call, Call::Probe));
        match (probe, error) {
            (Some(number), Some(error)) => {
                self.rpc.withdraw_failed(number);
                self.probe_answered(Err(error), now);
            }
            _ => self.rpc.count(|counters| counters.unknown_answers += 1),
        }
    }

    pub(super) fn not_modern(&mut self, now: Instant) {
        if self.may_be_legacy() {
            self.initialize(ProtocolVersion::LATEST_LEGACY, now);
        } else {
            self.close(CloseReason::Negotiation(NegotiationError::NotModern));
        }
    }

    fn modern_ready(&mut self, version: ProtocolVersion, discovered: DiscoverResult, now: Instant) {
        let info = discovered.meta.as_ref().and_then(|meta| meta.get_json(key::SERVER_INFO));
        let info = info.and_then(|info| Implementation::read(info.as_text()).ok());
        let instructions = discovered.instructions;
        self.ready(Peer { version, capabilities: discovered.capabilities, info, instructions }, now);
    }

    pub(super) fn initialize(&mut self, version: ProtocolVersion, now: Instant) {
        // After the last probe there is no way back to probing, or a server could go on like that for ever.
        let retried = matches!(*self.phase, Phase::Initializing { .. } | Phase::Probing { probes: MOST_PROBES, .. });
        self.phase.0 = Phase::Initializing { retried };
        let params = InitializeParams::new(version, self.config.capabilities.clone(), self.config.info.clone());
        let timing = Timing::exactly(self.config.handshake_timeout);
        let sent = self.rpc.call(None, Initialize::NAME, &params, Splice::default(), timing, Call::Initialize, now);
        debug_assert!(sent.is_ok(), "the handshake always serialises");
    }

    pub(super) fn initialize_answered(&mut self, outcome: Result<JsonText<'_>, RpcError>, now: Instant) {
        let Phase::Initializing { retried } = *self.phase else { return };
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return self.initialize_refused(error, retried, now),
        };
        let answer = match Initialize::read(result) {
            Ok(answer) => answer,
            Err(error) => {
                let detail = NegotiationError::InvalidAnswer(error.to_string());
                return self.close(CloseReason::Negotiation(detail));
            }
        };
        let Some(peer) = self.legacy_peer(answer) else { return };
        self.rpc.notify(None, Initialized::NAME, &EmptyParams::default(), Splice::default());
        self.keep_alive = self.config.keep_alive.map(|config| Box::new(KeepAlive::new(config, now)));
        self.ready(peer, now);
    }

    fn initialize_refused(&mut self, error: RpcError, retried: bool, now: Instant) {
        // Servers ought to make a counter-offer, but some name what they speak in an error instead; and a server that
        // was legacy when its era was cached may be modern by now, as may one that was slow to answer the probe.
        let offered = supported_by(&error);
        let negotiation = self.config.negotiation;
        if !retried {
            if let Some(legacy) = common_version(&offered, negotiation, Era::Legacy) {
                return self.initialize(legacy, now);
            }
            let modern = common_version(&offered, negotiation, Era::Modern);
            // One that knew the handshake and does not any more has a reason.
            let may_be_modern = modern.is_some() || is_modern_error(&error) || self.reinitializing;
            if negotiation.allows(ProtocolVersion::LATEST) && may_be_modern {
                return self.probe(modern.unwrap_or(ProtocolVersion::LATEST), MOST_PROBES, now);
            }
        }
        if self.is_modern() {
            return self.stay_as_before();
        }
        self.close(CloseReason::Negotiation(NegotiationError::Refused(error)));
    }

    /// The handshake was refused without a word that could be understood. Returns whether the server is asked in another
    /// way.
    pub(crate) fn handshake_refused(&mut self, number: i64, now: Instant) -> bool {
        let Phase::Initializing { retried: false } = *self.phase else { return false };
        if !self.reinitializing || !self.config.negotiation.allows(ProtocolVersion::LATEST) {
            return false;
        }
        self.rpc.withdraw_failed(number);
        self.probe(ProtocolVersion::LATEST, MOST_PROBES, now);
        true
    }

    /// What a handshake says of the server; closes the connection if it names a revision that is not spoken here.
    fn legacy_peer(&mut self, answer: InitializeResult) -> Option<Peer> {
        let version = ProtocolVersion::parse(&answer.protocol_version)
            .filter(|&version| version.era() == Era::Legacy && self.config.negotiation.allows(version));
        let Some(version) = version else {
            let offered = Vec::from([answer.protocol_version]);
            self.close(CloseReason::Negotiation(NegotiationError::NoCommonVersion { offered }));
            return None;
        };
        Some(Peer {
            version,
            capabilities: answer.capabilities,
            info: Some(answer.server_info),
            instructions: answer.instructions,
        })
    }

    pub(super) fn initialize_expired(&mut self, after: Duration) {
        if self.reinitializing {
            return self.stay_as_before();
        }
        self.close(CloseReason::Negotiation(NegotiationError::TimedOut { after }));
    }

    /// There is nothing new to be had from a server that seemed to have changed: everything stays as it was.
    pub(super) fn stay_as_before(&mut self) {
        self.reinitializing = false;
        self.phase.0 = Phase::Ready;
        if let Some(version) = self.peer.as_ref().map(|peer| peer.version).filter(|it| it.era() == Era::Modern) {
            self.request_meta = self.meta_for(version);
        }
    }

    /// The server is said to speak a revision, and is not asked. What it offers is not known.
    pub(super) fn take_for_granted(&mut self, version: ProtocolVersion) {
        if version.era() == Era::Modern {
            self.request_meta = self.meta_for(version);
        }
        let capabilities = ServerCapabilities::default();
        self.peer = Some(Arc::new(Peer { version, capabilities, info: None, instructions: None }));
        self.phase.0 = Phase::Ready;
    }

    fn ready(&mut self, peer: Peer, now: Instant) {
        self.rpc.observe(|| Observation::Negotiated(peer.version));
        let peer = Arc::new(peer);
        let before = self.peer.replace(peer.clone());
        self.phase.0 = Phase::Ready;
        if peer.version.era() == Era::Legacy {
            self.request_meta = Box::default();
        }
        match before.filter(|_| core::mem::take(&mut self.reinitializing)) {
            Some(before) => self.reinitialized(&before, peer, now),
            None => self.queue.push_back(Event::Ready(peer)),
        }
    }
}

/// The newest version of `era` that is offered and allowed.
fn common_version(offered: &[String], negotiation: Negotiation, era: Era) -> Option<ProtocolVersion> {
    offered
        .iter()
        .filter_map(|offered| ProtocolVersion::parse(offered))
        .filter(|version| version.era() == era && negotiation.allows(*version))
        .max()
}

/// Errors that only a modern server knows.
pub(super) fn is_modern_error(error: &RpcError) -> bool {
    matches!(
        error.code,
        code::UNSUPPORTED_PROTOCOL_VERSION | code::MISSING_REQUIRED_CLIENT_CAPABILITY | code::HEADER_MISMATCH
    )
}

pub(super) fn supported_by(error: &RpcError) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    error
        .data
        .as_ref()
        .and_then(|data| data.as_text().read::<Data>().ok())
        .map(|data| data.supported)
        .unwrap_or_default()
}
