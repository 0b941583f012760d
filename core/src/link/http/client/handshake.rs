//! The handshake, as far as messages wait for it: the session, and what is put off until it is there.
//!
//! ```text
//!          the server may have forgotten the session
//!   Open ─────────────────────────────────────────▶ Reinitializing
//!    │ ▲ ◀───── it is modern, or nothing is new ───────┤
//!    │ │ notifications/initialized has arrived         │ initialize is answered
//!    │ └──────────── Announcing ◀── Listening ◀────────┤
//!    │                              (one second        │
//!    └─ initialize is answered ─────  at most) ◀───────┘
//! ```
//!
//! Messages go out in `Open` only; a server may refuse what comes before its session is complete.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::error::CallError;
use crate::model::ProtocolVersion;
use crate::rpc::Outgoing;
use crate::time::Instant;

/// How long a server is not asked again what it speaks, because of another refusal that might mean a change. One that
/// refuses much is not asked each time, and one that was restarted is found out soon enough.
const ASKING_PAUSE: Duration = Duration::from_secs(10);

/// How far client and server are with each other.
#[derive(Default)]
pub(super) struct Handshake {
    pub(super) gate: Gate,
    /// The session's id.
    pub(super) session: Option<String>,
    /// How often client and server have initialised again.
    pub(super) generation: u32,
    /// Messages that are to be sent before all others, when the gate is open.
    deferred: VecDeque<Deferred>,
    /// Calls that were refused as if the server had changed, until it is known whether it has.
    rejected: Vec<Rejected>,
    /// When one was last a reason to ask the server.
    asked_at: Option<Instant>,
}

/// What messages wait for.
#[derive(Default)]
pub(super) enum Gate {
    /// Nothing.
    #[default]
    Open,
    /// The listening stream, but not for long.
    Listening { until: Option<Instant> },
    /// The server's word that it knows that the session is complete.
    Announcing,
    /// What comes of another handshake.
    Reinitializing(Reinitialization),
}

/// Another handshake that is under way.
#[derive(Clone, Copy)]
pub(super) struct Reinitialization {
    /// Its request that is in flight.
    pub(super) number: i64,
    /// What was spoken before.
    pub(super) from: Option<ProtocolVersion>,
    /// Whether there is no way back, because the session is gone.
    pub(super) certain: bool,
}

/// A message that waits for the gate to open.
pub(super) struct Deferred {
    pub(super) message: Outgoing,
    /// Whether it was sent before.
    pub(super) repeated: bool,
}

/// A call that was refused as if the server had changed.
pub(super) struct Rejected {
    pub(super) message: Outgoing,
    /// Whether it may be made again.
    pub(super) repeats: bool,
    /// How it ends if nothing has changed.
    pub(super) error: CallError,
}

impl Handshake {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.gate, Gate::Open)
    }

    /// Whether nothing waits, and nothing is waited for.
    pub(super) fn is_idle(&self) -> bool {
        self.is_open() && self.deferred.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        if let Gate::Listening { until } = self.gate { until } else { None }
    }

    pub(super) fn reinitialization(&self) -> Option<Reinitialization> {
        if let Gate::Reinitializing(again) = self.gate { Some(again) } else { None }
    }

    /// Puts a message off until the gate is open.
    pub(super) fn defer(&mut self, message: Outgoing, repeated: bool) {
        self.deferred.push_back(Deferred { message, repeated });
    }

    pub(super) fn next_deferred(&mut self) -> Option<Deferred> {
        self.deferred.pop_front()
    }

    pub(super) fn last_deferred(&mut self) -> Option<Deferred> {
        self.deferred.pop_back()
    }

    pub(super) fn deferred_messages(&self) -> usize {
        self.deferred.len()
    }

    /// All that was put off.
    pub(super) fn take_deferred(&mut self) -> VecDeque<Deferred> {
        core::mem::take(&mut self.deferred)
    }

    /// A request that was put off.
    pub(super) fn take_request(&mut self, number: i64) -> Option<Outgoing> {
        let at = self.deferred.iter().rposition(|deferred| deferred.message.request_id() == Some(number))?;
        self.deferred.remove(at).map(|deferred| deferred.message)
    }

    /// Whether the server may be asked whether it has changed.
    pub(super) fn may_ask(&self, now: Instant) -> bool {
        let asked_lately = self.asked_at.is_some_and(|at| now < at + ASKING_PAUSE);
        self.reinitialization().is_some() || (self.is_open() && !asked_lately)
    }

    /// Keeps a call until it is known whether the server has changed. Returns whether it is yet to be asked.
    pub(super) fn reject(&mut self, call: Rejected, now: Instant) -> bool {
        self.rejected.push(call);
        if self.is_open() {
            self.asked_at = Some(now);
        }
        self.is_open()
    }

    pub(super) fn take_rejected(&mut self) -> Vec<Rejected> {
        core::mem::take(&mut self.rejected)
    }

    /// There is another session, or none. If the server speaks what it spoke, it is not asked again at once.
    pub(super) fn begin_generation(&mut self, same_version: bool) {
        self.generation += 1;
        self.session = None;
        self.asked_at = self.asked_at.filter(|_| same_version);
    }

    /// The client closes: nothing that waits is sent.
    pub(super) fn abandon(&mut self) {
        self.gate = Gate::Open;
        self.deferred.clear();
        self.rejected.clear();
    }
}
