//! The roles behind the endpoint: one for all modern clients, who have no sessions, and one for each legacy session.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt::Write as _;
use core::net::IpAddr;
use core::time::Duration;

use super::front::least_deserving;
use super::streams::StreamId;
use crate::entropy::Entropy;
use crate::server::{Offer, Server};
use crate::time::{Instant, earliest};

/// The name of the role that serves the modern era.
pub(super) const STATELESS: u32 = 0;

pub(super) struct Sessions<T, H> {
    stateless: Server<T, H>,
    legacy: BTreeMap<u32, Box<LegacySession<T, H>>>,
    /// By what clients call them.
    ids: BTreeMap<Box<str>, u32>,
    timers: BTreeSet<(Instant, u32)>,
    /// How many there are whose clients have not been heard of since they began them.
    pub(super) fresh: usize,
    next: u32,
}

pub(super) struct LegacySession<T, H> {
    pub(super) server: Server<T, H>,
    pub(super) id: Box<str>,
    /// The stream for what belongs to no request.
    pub(super) standalone: Option<StreamId>,
    /// When the client was last heard of.
    pub(super) seen: Instant,
    /// Whether it has not been heard of since it began the session.
    pub(super) fresh: bool,
    client: Option<IpAddr>,
    armed: Option<Instant>,
}

impl<T, H: Clone> Sessions<T, H> {
    /// `connections` bounds what all modern clients together have open: each of their requests has one.
    pub(super) fn new(offer: Arc<Offer<H>>, connections: usize) -> Self {
        let mut stateless = Server::one_of_many(offer, STATELESS, true);
        stateless.set_most_requests(connections);
        Self { stateless, legacy: BTreeMap::new(), ids: BTreeMap::new(), timers: BTreeSet::new(), fresh: 0, next: 1 }
    }

    pub(super) fn begin(
        &mut self,
        offer: Arc<Offer<H>>,
        client: Option<IpAddr>,
        entropy: &mut Entropy,
        now: Instant,
    ) -> u32 {
        // Zero is taken, and after four thousand million sessions the first may still be there.
        while self.next == STATELESS || self.legacy.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let name = self.next;
        self.next = self.next.wrapping_add(1);
        let mut id = String::new();
        for byte in entropy.bytes::<24>() {
            let _ = write!(id, "{byte:02x}");
        }
        let id: Box<str> = id.into();
        self.ids.insert(id.clone(), name);
        let server = Server::one_of_many(offer, name, false);
        let session = LegacySession { server, id, standalone: None, seen: now, fresh: true, client, armed: None };
        self.legacy.insert(name, Box::new(session));
        self.fresh += 1;
        name
    }

    pub(super) fn end(&mut self, name: u32) {
        let Some(session) = self.legacy.remove(&name) else { return };
        self.ids.remove(&session.id);
        self.fresh -= usize::from(session.fresh);
        if let Some(armed) = session.armed {
            self.timers.remove(&(armed, name));
        }
    }

    /// The client of a session was heard of.
    pub(super) fn heard(&mut self, name: u32, now: Instant) {
        let Some(session) = self.legacy.get_mut(&name) else { return };
        session.seen = now;
        self.fresh -= usize::from(core::mem::take(&mut session.fresh));
    }

    /// The session that is to make room for a new one, among those that may go.
    pub(super) fn least_deserving(&self, may_go: impl Fn(&LegacySession<T, H>) -> bool) -> Option<u32> {
        let all = self.legacy.iter().map(|(name, session)| (session.client, session.seen, *name));
        let may_go = |name: &u32| self.legacy.get(name).is_some_and(|session| may_go(session));
        least_deserving(all, may_go, 1).pop()
    }

    pub(super) fn find(&self, id: &str) -> Option<u32> {
        self.ids.get(id).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.legacy.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = u32> {
        core::iter::once(STATELESS).chain(self.legacy.keys().copied())
    }

    pub(super) fn server(&mut self, name: u32) -> Option<&mut Server<T, H>> {
        match name {
            STATELESS => Some(&mut self.stateless),
            _ => self.legacy.get_mut(&name).map(|session| &mut session.server),
        }
    }

    pub(super) fn legacy(&mut self, name: u32) -> Option<&mut LegacySession<T, H>> {
        self.legacy.get_mut(&name).map(|session| &mut **session)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.stateless.is_idle() && self.legacy.values().all(|session| session.server.is_idle())
    }

    /// Whether every request has been answered but those that only listen.
    pub(super) fn is_drained(&self) -> bool {
        self.stateless.is_drained() && self.legacy.values().all(|session| session.server.is_drained())
    }

    /// Sets the timer of a session after something happened to it.
    pub(super) fn arm(&mut self, name: u32, idle: Duration, fresh: Duration) {
        let Some(session) = self.legacy.get_mut(&name) else { return };
        let patience = if session.fresh { fresh } else { idle };
        let deadline = earliest(session.server.deadline(), Some(session.seen + patience));
        if session.armed == deadline {
            return;
        }
        if let Some(armed) = core::mem::replace(&mut session.armed, deadline) {
            self.timers.remove(&(armed, name));
        }
        if let Some(deadline) = deadline {
            self.timers.insert((deadline, name));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        earliest(self.timers.first().map(|&(deadline, _)| deadline), self.stateless.deadline())
    }

    /// A session whose time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<u32> {
        let &(deadline, name) = self.timers.first().filter(|(deadline, _)| *deadline <= now)?;
        self.timers.remove(&(deadline, name));
        if let Some(session) = self.legacy.get_mut(&name) {
            session.armed = None;
        }
        Some(name)
    }
}
