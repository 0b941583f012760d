//! What a link tells the role on which each call has a stream of its own, such as HTTP: which of them failed, what that
//! says of the server's era, what is sent again.

use core::time::Duration;

use serde::Serialize;

use super::cache::Cache;
use super::negotiate::{Phase, is_modern_error};
use super::{Call, CallId, CallOptions, Client, UserCall};
use crate::error::{CallError, CloseReason, NegotiationError, Refused};
use crate::jsonrpc::{RpcError, Splice};
use crate::model::{Era, ListTools, Method, MethodInfo, Notice, PaginatedParams, ProtocolVersion, ToolListChanged};
use crate::rpc::{LinkKind, LinkedRole, Pending, Timing};
use crate::time::Instant;

impl<T> Client<T> {
    /// Tells the server that a call is off, in the way of the link and the era.
    pub(super) fn cancel_request(&mut self, number: i64, reason: &str) {
        self.close_stream_of(number);
        if self.link() == LinkKind::Stream || !self.is_modern() {
            self.rpc.notify_cancelled(number, reason);
        }
    }

    /// Nobody waits any more for what the stream of a call brings.
    pub(super) fn close_stream_of(&mut self, number: i64) {
        if self.link() == LinkKind::Exchanges {
            self.cancelled.push(number);
        }
    }

    pub(super) fn link(&self) -> LinkKind {
        self.rpc.outbox.link()
    }

    /// A call that nobody waits for any more, whose stream is to be closed.
    pub(crate) fn next_cancelled(&mut self) -> Option<i64> {
        self.cancelled.pop()
    }

    /// So many bytes of requests wait in the link, beside those in the outbox.
    pub(crate) fn add_unsent(&mut self, bytes: usize) {
        self.rpc.unsent_bytes += bytes;
    }

    /// So many of them do not any more.
    pub(crate) fn remove_unsent(&mut self, bytes: usize) {
        self.rpc.unsent_bytes -= bytes;
    }

    /// How long a call may take while nothing is heard of it, unless it says otherwise; none if there is no limit.
    pub(crate) fn usual_timeout(&self) -> Option<Duration> {
        Some(self.config.idle_timeout).filter(|timeout| !timeout.is_zero())
    }

    /// Drops what is cached: it was told to somebody else.
    pub(crate) fn drop_cache(&mut self) {
        self.cache = Cache::default();
    }

    /// An answer came that belongs to nothing.
    pub(crate) fn count_unknown_answer(&mut self) {
        self.rpc.count(|counters| counters.unknown_answers += 1);
    }

    /// Lets a call wait until then: somebody has to do something first.
    pub(crate) fn postpone(&mut self, number: i64, until: Instant) {
        self.rpc.postpone(number, until);
    }

    /// When a call is given up, if it ever is.
    pub(crate) fn deadline_of(&self, number: i64) -> Option<Instant> {
        self.rpc.deadline_of(number)
    }

    /// Restarts a call's idle time-out. What it waited for somebody else does not count for the total one.
    pub(crate) fn restart_timeout(&mut self, number: i64, waited: Duration, now: Instant) {
        self.rpc.restart(number, waited, now);
    }

    /// The revision that requests are written in: that of the probe, or the one that was negotiated. None for the
    /// handshake, which is there to find one.
    pub(crate) fn spoken(&self) -> Option<ProtocolVersion> {
        match *self.phase {
            Phase::Probing { version, .. } => Some(version),
            Phase::Initializing { .. } => None,
            _ => self.peer.as_ref().map(|peer| peer.version),
        }
    }

    /// Whether the handshake is over and the server speaks this era.
    pub(crate) fn is_ready_in(&self, era: Era) -> bool {
        matches!(*self.phase, Phase::Ready) && self.peer.as_ref().is_some_and(|peer| peer.version.era() == era)
    }

    /// Whether a request is the probe for the era.
    pub(crate) fn is_probe(&self, number: i64) -> bool {
        matches!(self.rpc.token(number), Some(Call::Probe))
    }

    /// Whether a request is still waited for.
    pub(crate) fn is_open(&self, number: i64) -> bool {
        self.rpc.token(number).is_some()
    }

    /// Whether an error of a server's shows that it is modern.
    pub(crate) fn shows_modern(error: &RpcError) -> bool {
        is_modern_error(error)
    }

    /// The probe was refused, in a way that a modern server would not.
    pub(crate) fn probe_refused(&mut self, number: i64, now: Instant) {
        if self.is_probe(number) {
            self.rpc.withdraw_failed(number);
            self.not_modern(now);
        }
    }

    /// A request got no answer: its stream failed, or ended without one.
    pub(crate) fn call_failed(&mut self, number: i64, error: CallError, now: Instant) {
        // A ping that fails is one that is not answered: when its time is up it counts as missed.
        if matches!(self.rpc.token(number), None | Some(Call::Ping)) {
            return;
        }
        self.rpc.watch_at(now);
        let Some(Pending { token, .. }) = self.rpc.withdraw_failed(number) else { return };
        match token {
            Call::Probe | Call::Initialize if self.reinitializing => self.stay_as_before(),
            Call::Probe | Call::Initialize => self.close(match error {
                CallError::Transport(error) => CloseReason::Transport(error),
                CallError::Http(failure) => CloseReason::Negotiation(NegotiationError::Http(failure)),
                #[cfg(feature = "auth")]
                CallError::Authorization(error) => CloseReason::Negotiation(NegotiationError::Authorization(error)),
                other => CloseReason::Negotiation(NegotiationError::InvalidAnswer(alloc::format!("{other}"))),
            }),
            Call::Subscribe(call) => self.legacy_subscribe_failed(call, error, now),
            Call::Ping | Call::Ignored => {}
            Call::User(user) => {
                self.rounds.remove(&user.call);
                self.fail(user.call, user.token, error);
            }
        }
    }

    /// Gives a call of the program's another id, because its request is made again.
    pub(crate) fn reissue(&mut self, number: i64) -> Option<i64> {
        let Some(Call::User(user)) = self.rpc.token(number) else { return None };
        let call = user.call;
        let renumbered = self.rpc.renumber(number)?;
        self.rounds.insert(call, renumbered);
        Some(renumbered)
    }

    /// A page of the server's tools, for the link's own use; nobody is told of the answer.
    pub(crate) fn list_tools_again(&mut self, params: &PaginatedParams, now: Instant) -> Option<i64> {
        self.cache.invalidate(ToolListChanged::NAME, None);
        let mut meta = core::mem::take(&mut self.scratch);
        self.write_meta(&mut meta, self.is_modern(), None, None);
        let splice = Splice { members: b"", meta: &meta };
        let timing = Timing::exactly(self.config.handshake_timeout);
        let sent = self
            .rpc
            .call(None, ListTools::NAME, params, splice, timing, Call::Ignored, now)
            .ok()
            .map(|sent| sent.number);
        meta.clear();
        self.scratch = meta;
        sent
    }

    /// Takes for granted that the server speaks a revision, without asking, and makes a call at once. What the server
    /// offers is not known, so the call is not held against it.
    pub(crate) fn call_unasked<P: Serialize + ?Sized>(
        &mut self,
        version: ProtocolVersion,
        method: &str,
        params: &P,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        self.take_for_granted(version);
        let user =
            UserCall { call: CallId(0), token, retry: None, cache: None, listen: false, progress: f64::NEG_INFINITY };
        self.send((method, MethodInfo::find(method)), params, options, user, now)
    }
}
