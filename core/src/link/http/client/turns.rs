//! Whose turn it is: up to the limit for connections requests are made, beyond it they wait.

use alloc::collections::VecDeque;

use super::exchange::Claim;
use super::exchanges::{Control, Exchanges};

/// Exchanges beyond the limit, for those that others may wait for: the answer to a server that asks something in the middle
/// of a call, or a handshake, when calls have taken all there are.
const RESERVE: usize = 8;

/// Exchanges that wait for their turn.
#[derive(Default)]
pub(super) struct Turns {
    /// Exchanges that somebody is at.
    taken: usize,
    /// Those that may use the reserve.
    urgent: VecDeque<u64>,
    others: VecDeque<u64>,
}

impl Turns {
    /// Whether the reserve is used up: nothing that is written now could be sent.
    pub(super) fn are_used_up(&self) -> bool {
        !self.urgent.is_empty()
    }

    /// Gives up an exchange that waits. Returns whether it did.
    pub(super) fn give_up(&mut self, id: u64) -> bool {
        let waiting = [&mut self.urgent, &mut self.others];
        waiting
            .into_iter()
            .any(|queue| queue.iter().position(|other| *other == id).and_then(|at| queue.remove(at)).is_some())
    }
}

impl<T> Exchanges<T> {
    /// What is to be done next about exchanges, within the limit for connections.
    pub(super) fn next_control(&mut self) -> Option<Control> {
        while let Some(control) = self.controls.pop_front() {
            let Control::Start(id) = control else { return Some(control) };
            match self.exchanges.get(&id).map(|exchange| exchange.claim()) {
                Some(Claim::Usual) => self.turns.others.push_back(id),
                Some(Claim::Urgent) => self.turns.urgent.push_back(id),
                Some(Claim::Standing) => return Some(control),
                None => {}
            }
        }
        let most = self.http.connections.max(1);
        let next = if self.turns.taken < most.saturating_add(RESERVE) { self.turns.urgent.pop_front() } else { None };
        let next = next.or_else(|| if self.turns.taken < most { self.turns.others.pop_front() } else { None })?;
        if let Some(exchange) = self.exchanges.get_mut(&next) {
            exchange.has_turn = true;
            self.turns.taken += 1;
        }
        Some(Control::Start(next))
    }

    /// Nobody is at an exchange any more.
    pub(super) fn turn_over(&mut self, id: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&id).filter(|exchange| exchange.has_turn) {
            exchange.has_turn = false;
            self.turns.taken -= 1;
        }
    }
}
