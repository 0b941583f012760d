//! Many sockets in one loop. mio tells of changes only, so what is ready is remembered until it is exhausted; those that
//! nothing is known of cost nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::ops::Range;

use mio::event::Event;
use mio::{Interest, Registry, Token};
use windlass_host::io::{Direction, Pollable, Ready};

use crate::registration::{deregister, register};

/// The sockets of a loop.
#[derive(Debug)]
pub(crate) struct Sockets {
    tokens: Tokens,
    watched: BTreeMap<u64, Watched>,
    /// Those of which something is ready.
    stirred: BTreeSet<u64>,
}

#[derive(Debug)]
struct Watched {
    socket: Pollable,
    token: Token,
    ready: Ready,
    /// Whether the peer has hung up. That is told once, perhaps together with its last bytes, so that reading goes on
    /// until the end is read.
    hung_up: bool,
}

impl Sockets {
    /// Sockets that are known to the loop by these tokens.
    pub(crate) fn new(tokens: Range<usize>) -> Self {
        Self { tokens: Tokens::new(tokens), watched: BTreeMap::new(), stirred: BTreeSet::new() }
    }

    pub(crate) fn watch(&mut self, registry: &Registry, number: u64, socket: Option<&Pollable>) -> io::Result<()> {
        if let (Some(old), Some(new)) = (self.watched.get(&number), socket) {
            if old.socket.is(new) {
                return Ok(());
            }
        }
        if let Some(old) = self.watched.remove(&number) {
            self.stirred.remove(&number);
            self.tokens.give_back(old.token);
            deregister(registry, &old.socket)?;
        }
        let Some(socket) = socket else { return Ok(()) };
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = self.tokens.take(number)?;
        if let Err(error) = register(registry, socket, token, interest) {
            self.tokens.give_back(token);
            return Err(error);
        }
        // It may have been ready before anybody looked; trying does no harm.
        let ready = Ready { read: true, write: true };
        self.watched.insert(number, Watched { socket: socket.clone(), token, ready, hung_up: false });
        self.stirred.insert(number);
        Ok(())
    }

    /// Takes in what the loop was told.
    pub(crate) fn note(&mut self, event: &Event) {
        let Some(number) = self.tokens.number(event.token()) else { return };
        let Some(watched) = self.watched.get_mut(&number) else { return };
        watched.ready.read |= event.is_readable() || event.is_read_closed() || event.is_error();
        watched.ready.write |= event.is_writable() || event.is_write_closed() || event.is_error();
        watched.hung_up |= event.is_read_closed();
        self.stirred.insert(number);
    }

    /// Whether a token is one of these sockets'.
    pub(crate) fn owns(&self, token: Token) -> bool {
        self.tokens.range.contains(&token.0)
    }

    /// Those of which something is both ready and wanted.
    pub(crate) fn collect(&mut self, wanted: &mut dyn FnMut(u64) -> Ready, ready: &mut Vec<(u64, Ready)>) {
        for &number in &self.stirred {
            let Some(watched) = self.watched.get(&number) else { continue };
            let wanted = wanted(number);
            let found = Ready { read: wanted.read && watched.ready.read, write: wanted.write && watched.ready.write };
            if found != Ready::default() {
                ready.push((number, found));
            }
        }
    }

    pub(crate) fn exhausted(&mut self, number: u64, direction: Direction) {
        let Some(watched) = self.watched.get_mut(&number) else { return };
        match direction {
            Direction::Read => watched.ready.read = watched.hung_up,
            Direction::Write => watched.ready.write = false,
        }
        if !watched.ready.read {
            // That it can be written is nearly always so, and is found out by trying.
            self.stirred.remove(&number);
        }
    }
}

/// Which sockets have which tokens.
#[derive(Debug)]
struct Tokens {
    range: Range<usize>,
    /// The number of the socket that has a token, by the place of the token in the range.
    numbers: Vec<Option<u64>>,
    /// Places that were given back, the one that has been free for the longest first: news of the socket that had it
    /// may be on its way still.
    free: VecDeque<usize>,
}

impl Tokens {
    fn new(range: Range<usize>) -> Self {
        Self { range, numbers: Vec::new(), free: VecDeque::new() }
    }

    fn take(&mut self, number: u64) -> io::Result<Token> {
        let unused = self.numbers.len();
        let place = match self.free.pop_front() {
            Some(place) => place,
            None if unused < self.range.len() => {
                self.numbers.push(None);
                unused
            }
            None => {
                let tokens = self.range.len();
                return Err(io::Error::other(format!("all {tokens} tokens are taken: give the source a longer range")));
            }
        };
        self.numbers[place] = Some(number);
        Ok(Token(self.range.start + place))
    }

    fn give_back(&mut self, token: Token) {
        let place = token.0 - self.range.start;
        self.numbers[place] = None;
        self.free.push_back(place);
    }

    fn number(&self, token: Token) -> Option<u64> {
        self.numbers.get(token.0.checked_sub(self.range.start)?).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_of_the_range_and_used_again_late() {
        let mut tokens = Tokens::new(10..13);
        let taken: Vec<_> = (0..3).map(|number| tokens.take(number).unwrap().0).collect();
        assert_eq!(taken, [10, 11, 12]);
        assert!(tokens.take(3).unwrap_err().to_string().contains("all 3 tokens are taken"));
        tokens.give_back(Token(12));
        tokens.give_back(Token(10));
        assert_eq!(tokens.number(Token(12)), None);
        assert_eq!((tokens.take(4).unwrap(), tokens.take(5).unwrap()), (Token(12), Token(10)));
        assert_eq!(
            [9, 10, 11, 12, 13].map(|token| tokens.number(Token(token))),
            [None, Some(5), Some(1), Some(4), None]
        );
    }
}
