//! The exchanges that are open: which are made, which wait, when their time is up, and for which something came.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::exchange::{Exchange, ExchangeState, Outcome, Priority};
use crate::table::Table;
use crate::time::Instant;

/// Exchanges beyond the limit, for those that others may wait for: the answer to a server that asks something in the middle
/// of a call, or a handshake, when calls have taken all there are.
const RESERVE: usize = 8;

/// All exchanges that are not over.
#[derive(Default)]
pub(super) struct OpenExchanges {
    table: Table<u32, Box<Exchange>>,
    last: u32,
    timers: Table<(Instant, u32), ()>,
    /// Those that something came for.
    ready: VecDeque<u32>,
    /// What is to be done about them.
    controls: VecDeque<ExchangeControl>,
    /// How many are being made that count for the limit.
    in_flight: usize,
    /// Those beyond the limit: they wait.
    urgent: VecDeque<u32>,
    usual: VecDeque<u32>,
    /// Those that do not count: they wait for authorization alone.
    standing: VecDeque<u32>,
}

/// What is to be done about an exchange.
pub(super) enum ExchangeControl {
    Start(u32),
    Abort(u32),
}

impl OpenExchanges {
    pub(super) fn get(&self, id: u32) -> Option<&Exchange> {
        self.table.get(&id).map(|exchange| &**exchange)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Exchange> {
        self.table.get_mut(&id).map(|exchange| &mut **exchange)
    }

    /// All of them, in the order in which they were opened.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Exchange)> {
        self.table.iter().map(|(&id, exchange)| (id, &**exchange))
    }

    /// Adds an exchange, to be made.
    pub(super) fn start(&mut self, mut exchange: Exchange) {
        exchange.state = ExchangeState::Queued;
        let id = self.keep(exchange);
        self.controls.push_back(ExchangeControl::Start(id));
    }

    /// Adds an exchange that is not made before something happens.
    pub(super) fn keep(&mut self, exchange: Exchange) -> u32 {
        // It is as good as certain that no exchange is open for as long as it takes to count so far.
        self.last = self.last.wrapping_add(1);
        while self.table.contains(&self.last) {
            self.last = self.last.wrapping_add(1);
        }
        if let Some(deadline) = exchange.deadline {
            self.timers.insert((deadline, self.last), ());
        }
        self.table.insert(self.last, Box::new(exchange));
        self.last
    }

    /// Takes an exchange out. If it is being made, it is aborted.
    pub(super) fn remove(&mut self, id: u32) -> Option<Exchange> {
        self.stop(id);
        let exchange = self.table.remove(&id)?;
        if let Some(deadline) = exchange.deadline {
            self.timers.remove(&(deadline, id));
        }
        Some(*exchange)
    }

    /// Nothing more is wanted of the server: whoever makes the exchange is to abort it.
    pub(super) fn stop(&mut self, id: u32) {
        match self.get(id).map(|exchange| &exchange.state) {
            Some(ExchangeState::Queued) => self.unqueue(id),
            Some(ExchangeState::Asked | ExchangeState::Answering) => {
                self.controls.push_back(ExchangeControl::Abort(id))
            }
            _ => return,
        }
        self.over(id, Outcome::Complete);
    }

    /// Whoever makes an exchange is done with it. Returns it, unless it was over before.
    pub(super) fn over(&mut self, id: u32, outcome: Outcome) -> Option<&mut Exchange> {
        let exchange = self.table.get_mut(&id).filter(|exchange| exchange.is_under_way())?;
        if exchange.priority().counts() && !matches!(exchange.state, ExchangeState::Queued) {
            self.in_flight -= 1;
        }
        exchange.state = ExchangeState::Over(outcome);
        Some(exchange)
    }

    fn unqueue(&mut self, id: u32) {
        self.controls.retain(|control| !matches!(control, ExchangeControl::Start(other) if *other == id));
        self.urgent.retain(|other| *other != id);
        self.usual.retain(|other| *other != id);
        self.standing.retain(|other| *other != id);
    }

    /// What is to be done next, with at most so many exchanges at a time. While they are held, none is made but for those
    /// that the others wait for.
    pub(super) fn next_control(&mut self, most: usize, held: bool) -> Option<ExchangeControl> {
        while let Some(control) = self.controls.pop_front() {
            let ExchangeControl::Start(id) = control else { return Some(control) };
            match self.get(id).map(Exchange::priority) {
                Some(Priority::Usual) => self.usual.push_back(id),
                Some(Priority::Urgent) => self.urgent.push_back(id),
                Some(Priority::Standing) => self.standing.push_back(id),
                Some(Priority::Authorization) => return Some(self.asked(id)),
                None => {}
            }
        }
        if held {
            return None;
        }
        if let Some(standing) = self.standing.pop_front() {
            return Some(self.asked(standing));
        }
        let next = if self.in_flight < most.saturating_add(RESERVE) { self.urgent.pop_front() } else { None };
        let next = next.or_else(|| if self.in_flight < most { self.usual.pop_front() } else { None })?;
        self.in_flight += 1;
        Some(self.asked(next))
    }

    fn asked(&mut self, id: u32) -> ExchangeControl {
        if let Some(exchange) = self.table.get_mut(&id) {
            exchange.state = ExchangeState::Asked;
        }
        ExchangeControl::Start(id)
    }

    /// Whether something waits to be made, or is to be done at once.
    #[cfg_attr(not(feature = "auth"), allow(dead_code))]
    pub(super) fn has_waiting(&self) -> bool {
        !(self.controls.is_empty() && self.urgent.is_empty() && self.usual.is_empty() && self.standing.is_empty())
    }

    /// Whether something is to be done.
    pub(super) fn has_control(&self) -> bool {
        !self.controls.is_empty()
    }

    /// Whether the reserve is used up: nothing that is written now could be sent.
    pub(super) fn is_full(&self) -> bool {
        !self.urgent.is_empty()
    }

    /// Something came for an exchange: it is dealt with when those before it are.
    pub(super) fn mark_ready(&mut self, id: u32) {
        self.ready.push_back(id);
    }

    /// There is more to be dealt with for an exchange, before anything else.
    pub(super) fn mark_next(&mut self, id: u32) {
        self.ready.push_front(id);
    }

    pub(super) fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// Sets, changes or ends the deadline of an exchange.
    pub(super) fn set_deadline(&mut self, id: u32, deadline: Option<Instant>) {
        let Some(exchange) = self.table.get_mut(&id) else { return };
        if let Some(old) = core::mem::replace(&mut exchange.deadline, deadline) {
            self.timers.remove(&(old, id));
        }
        if let Some(deadline) = deadline {
            self.timers.insert((deadline, id), ());
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(&(at, _), ())| at)
    }

    /// An exchange whose time is up.
    pub(super) fn next_expired(&mut self, now: Instant) -> Option<u32> {
        let (&(at, id), ()) = self.timers.first().filter(|((at, _), ())| *at <= now)?;
        self.timers.remove(&(at, id));
        if let Some(exchange) = self.table.get_mut(&id) {
            exchange.deadline = None;
        }
        Some(id)
    }
}
