//! What an observer is told of a session. All of it is apart from the session's own tables, so that a session that nobody
//! watches has a null pointer to look at and nothing else.

use alloc::boxed::Box;

use super::{OutgoingKind, RequestKey, Rpc};
use crate::error::CloseReason;
use crate::json::{JsonText, first_member};
use crate::jsonrpc::{Id, Malformed, Message};
use crate::model::MethodInfo;
use crate::observer::{
    Direction, Finished, MessageKind, Observation, Observed, Outcome, Passed, Phase, SessionId, limit_of, redacted_uri,
};
use crate::table::Table;
use crate::time::Instant;

/// An observer, and what has to be remembered to tell it of requests when they are over.
pub(super) struct Watch {
    observer: Observed,
    /// The time of the last input.
    now: Instant,
    /// What the session is called on the wire, once that is known.
    session: Option<Box<str>>,
    outgoing: Table<i64, Open>,
    incoming: Table<RequestKey, (Id, Open)>,
}

/// A request that is open.
struct Open {
    method: Box<str>,
    name: Option<Box<str>>,
    since: Instant,
}

impl Watch {
    pub(super) fn new(observer: &Observed) -> Option<Box<Self>> {
        observer.is_watched().then(|| {
            let (outgoing, incoming) = (Table::new(), Table::new());
            Box::new(Self { observer: observer.clone(), now: Instant::ZERO, session: None, outgoing, incoming })
        })
    }

    /// A message was appended to the outbox.
    pub(super) fn appended(
        &mut self,
        kind: OutgoingKind,
        method: Option<&str>,
        id: Option<&Id>,
        content: &[u8],
        bytes: usize,
    ) {
        let content = core::str::from_utf8(content).ok().filter(|content| !content.is_empty());
        let content = content.map(JsonText::trusted);
        let answered = match kind {
            OutgoingKind::Answer { to: Some(key), error: Some(code) } => Some((key, Outcome::Error(code))),
            OutgoingKind::Answer { to: Some(key), error: None } => {
                Some((key, content.map_or(Outcome::Result, |result| Outcome::of(&Ok(result)))))
            }
            _ => None,
        };
        let own;
        let (kind, id) = match kind {
            OutgoingKind::Request { number, .. } => {
                let method = method.unwrap_or_default();
                let open = self.open(method, content);
                self.outgoing.insert(number, open);
                own = Id::Number(number);
                (MessageKind::Request, Some(&own))
            }
            OutgoingKind::Notification { .. } => (MessageKind::Notification, None),
            OutgoingKind::Answer { error: None, .. } => (MessageKind::Result, id),
            OutgoingKind::Answer { .. } => (MessageKind::Error, id),
        };
        let direction = Direction::Outgoing;
        self.observer.tell(|| Observation::Message(Passed { direction, kind, method, id, bytes }));
        if let Some((key, outcome)) = answered {
            self.theirs_finished(key, outcome);
        }
    }

    fn open(&self, method: &str, params: Option<JsonText<'_>>) -> Open {
        let member = MethodInfo::find(method).and_then(|info| info.named_by);
        let name = member.zip(params).and_then(|(member, params)| first_member(params, member)?.as_text());
        let shown = |name: &str| if member == Some("uri") { redacted_uri(name).into() } else { name.into() };
        Open { method: method.into(), name: name.map(|name| shown(&name)), since: self.now }
    }

    fn finished(&self, direction: Direction, id: &Id, open: &Open, outcome: Outcome) {
        let latency = self.now.since(open.since);
        let (method, name) = (&*open.method, open.name.as_deref());
        let session = self.session.as_deref().map(SessionId);
        self.observer
            .tell(|| Observation::Finished(Finished { direction, id, method, name, session, latency, outcome }));
    }

    /// A request of ours is over.
    pub(super) fn ours_finished(&mut self, number: i64, outcome: Outcome) {
        if let Some(open) = self.outgoing.remove(&number) {
            self.finished(Direction::Outgoing, &Id::Number(number), &open, outcome);
        }
    }

    /// A request of ours goes on under another number.
    pub(super) fn renumbered(&mut self, number: i64, renumbered: i64) {
        if let Some(open) = self.outgoing.remove(&number) {
            self.observer.tell(|| Observation::Retry { id: renumbered, method: &open.method });
            self.outgoing.insert(renumbered, open);
        }
    }

    /// A request of the peer's is over.
    pub(super) fn theirs_finished(&mut self, key: RequestKey, outcome: Outcome) {
        if let Some((id, open)) = self.incoming.remove(&key) {
            self.finished(Direction::Incoming, &id, &open, outcome);
        }
    }

    /// No request of the peer's will be answered.
    pub(super) fn theirs_forgotten(&mut self) {
        for (_, (id, open)) in self.incoming.take() {
            self.finished(Direction::Incoming, &id, &open, Outcome::Closed);
        }
    }
}

impl<T, I> Rpc<T, I> {
    /// Tells whoever watches of something.
    pub(crate) fn observe<'a>(&self, observation: impl FnOnce() -> Observation<'a>) {
        if let Some(watch) = &self.watch {
            watch.observer.tell(observation);
        }
    }

    /// There would have been more of something than this field of [`Limits`](crate::limits::Limits) allows.
    pub(crate) fn limit_hit(&self, limit: &'static str) {
        self.observe(|| Observation::LimitHit { limit });
    }

    /// Whether somebody watches.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// What the session is called on the wire from here on, for whoever watches.
    #[cfg(feature = "http")]
    pub(crate) fn watch_session(&mut self, id: Option<&str>) {
        if let Some(watch) = &mut self.watch {
            watch.session = id.map(Box::from);
        }
    }

    /// What happens from here on happens now.
    pub(crate) fn watch_at(&mut self, now: Instant) {
        if let Some(watch) = &mut self.watch {
            watch.now = now;
        }
    }

    /// A message has come in that was so long.
    pub(crate) fn observe_incoming(&self, message: &Message<'_>, bytes: usize) {
        self.observe(|| {
            let (kind, method, id) = match message {
                Message::Request { id, method, .. } => (MessageKind::Request, Some(&**method), Some(id)),
                Message::Notification { method, .. } => (MessageKind::Notification, Some(&**method), None),
                Message::Response { id, outcome: Ok(_) } => (MessageKind::Result, None, id.as_ref()),
                Message::Response { id, outcome: Err(_) } => (MessageKind::Error, None, id.as_ref()),
            };
            Observation::Message(Passed { direction: Direction::Incoming, kind, method, id, bytes })
        });
    }

    /// Something came in that is no message.
    pub(crate) fn malformed(&mut self, malformed: &Malformed) {
        self.counters.malformed += 1;
        if self.is_watched() {
            self.observe(|| Observation::Failed { phase: Phase::Reading, error: malformed });
            if let Some(limit) = limit_of(malformed.kind) {
                self.limit_hit(limit);
            }
        }
    }

    /// The connection ends for a reason.
    pub(crate) fn observe_close(&self, reason: &CloseReason) {
        let phase = match reason {
            CloseReason::Requested | CloseReason::PeerClosed => return,
            CloseReason::Negotiation(_) => Phase::Negotiation,
            _ => Phase::Transport,
        };
        if *reason == CloseReason::PeerStoppedReading {
            self.limit_hit("outbox_hard_bytes");
        }
        self.observe(|| Observation::Failed { phase, error: reason });
    }

    /// A request of the peer's was taken in.
    pub(crate) fn watch_request(&mut self, key: RequestKey, method: &str, params: Option<JsonText<'_>>) {
        let Some(watch) = &mut self.watch else { return };
        if let Some(request) = self.incoming.get(&key) {
            let open = watch.open(method, params);
            watch.incoming.insert(key, (request.id.clone(), open));
        }
    }
}
