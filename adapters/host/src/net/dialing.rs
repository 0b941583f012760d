//! The way to an open socket: look up the name, try its addresses.
//!
//! Addresses are tried in the order of the resolver. One that is refused gives way to the next at once; one that is
//! silent is joined by the next after [`STAGGER`], and stays in the race. The driver waits for the newest attempt only,
//! so the older ones are looked after every [`TICK`].
//!
//! What may not be reached is dropped before anything is tried, and nothing is looked up twice: the addresses that are
//! judged are those that are connected to, whatever the name leads to by then.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use windlass::link::http::is_public;
use windlass::{Instant, earliest};

use super::Wake;
use super::dial::{Authority, Resolver, known_addresses};
use super::lookup::Lookup;
use crate::io::{Connect, Pollable, Remote};

/// How long an address may be silent before the next one is tried as well (RFC 8305 recommends 250 ms).
const STAGGER: Duration = Duration::from_millis(250);

/// How often attempts are looked after that the driver does not wait for.
const TICK: Duration = Duration::from_millis(50);

/// Addresses of one name that are tried. Real names have a handful; each one that is silent holds a socket.
const ADDRESSES: usize = 8;

/// Which addresses may be connected to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    All,
    /// Those that are anybody's on the Internet.
    Public,
}

/// Why there is nothing to connect to.
pub(super) const NOT_PUBLIC: &str = "it resolves to no public address, and a server may send nobody elsewhere";

/// What has to be done on a thread before a socket is used.
pub(super) type Preparation = Box<dyn FnOnce() + Send>;

/// A connection on its way.
pub(super) struct Dialing {
    /// As the user knows it, for messages.
    destination: String,
    allowed: Allowed,
    lookup: Option<Lookup>,
    untried: VecDeque<Remote>,
    /// Attempts under way, the newest last.
    attempts: Vec<Attempt>,
    failures: Vec<String>,
    /// When the next address is tried, whatever becomes of the others.
    next_at: Instant,
    /// When the older attempts are looked after.
    tick_at: Instant,
}

struct Attempt {
    remote: Remote,
    socket: Pollable,
}

/// What has become of a connection on its way.
pub(super) enum Dialed {
    /// Nothing has changed.
    Waiting,
    /// There is another socket to wait for.
    Moved,
    Connected(Pollable),
    /// There is nothing left to try.
    Failed(String),
}

impl Dialing {
    /// To a host. `preparation` is what else takes time and has to be done before the socket is used.
    pub(super) fn host(
        host: &str,
        port: u16,
        allowed: Allowed,
        resolver: Resolver,
        preparation: Option<Preparation>,
        wake: Wake,
    ) -> Self {
        let mut dialing = Self { allowed, ..Self::to(Authority(host, port).to_string()) };
        let known: Option<Vec<SocketAddr>> = known_addresses(host)
            .map(|addresses| addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect());
        match (known, preparation) {
            (Some(addresses), None) => dialing.found(addresses),
            (known, preparation) => {
                let host = host.to_owned();
                let search = move || {
                    if let Some(prepare) = preparation {
                        prepare();
                    }
                    known.map_or_else(|| resolver(&host, port), Ok)
                };
                dialing.lookup = Some(Lookup::begin(Box::new(search), wake));
            }
        }
        dialing
    }

    /// To a Unix socket.
    pub(super) fn unix(path: PathBuf) -> Self {
        let mut dialing = Self::to(path.display().to_string());
        dialing.untried.push_back(Remote::Unix(path));
        dialing
    }

    /// To nowhere: there is nothing to try, and this is why.
    pub(super) fn hopeless(destination: String, why: String) -> Self {
        let mut dialing = Self::to(destination);
        dialing.failures.push(why);
        dialing
    }

    fn to(destination: String) -> Self {
        Self {
            destination,
            allowed: Allowed::All,
            lookup: None,
            untried: VecDeque::new(),
            attempts: Vec::new(),
            failures: Vec::new(),
            next_at: Instant::ZERO,
            tick_at: Instant::ZERO,
        }
    }

    fn found(&mut self, addresses: Vec<SocketAddr>) {
        let is_allowed = |address: &SocketAddr| self.allowed == Allowed::All || is_public(address.ip());
        let any = !addresses.is_empty();
        self.untried = addresses.into_iter().filter(is_allowed).take(ADDRESSES).map(Remote::Internet).collect();
        if any && self.untried.is_empty() {
            self.failures.push(NOT_PUBLIC.to_owned());
        }
    }

    /// The socket to wait for, if there is one yet: until it is writable.
    pub(super) fn pollable(&self) -> Option<&Pollable> {
        self.attempts.last().map(|attempt| &attempt.socket)
    }

    /// When to call [`advance`](Self::advance) even if nothing is ready.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.lookup.is_some() {
            return None;
        }
        let next = (!self.untried.is_empty()).then_some(self.next_at);
        // With no attempt at all there is nothing to wait for.
        let tick = (self.attempts.len() != 1).then_some(self.tick_at);
        earliest(next, tick)
    }

    /// What is under way, for a message about why it took too long.
    pub(super) fn progress(&self) -> &'static str {
        if self.lookup.is_some() { "its name was still being looked up" } else { "it did not answer" }
    }

    /// Does what can be done now.
    pub(super) fn advance(&mut self, now: Instant) -> Dialed {
        if let Some(lookup) = &self.lookup {
            match lookup.take() {
                None => return Dialed::Waiting,
                Some(Ok(addresses)) => {
                    self.lookup = None;
                    self.found(addresses);
                }
                Some(Err(error)) => {
                    return Dialed::Failed(format!("{}: the name was not found: {error}", self.destination));
                }
            }
        }
        let before = self.pollable().cloned();
        self.tick_at = now + TICK;
        if let Some(connected) = self.look_after_attempts(now) {
            return Dialed::Connected(connected);
        }
        while self.attempts.is_empty() || self.next_at <= now {
            let Some(remote) = self.untried.pop_front() else { break };
            match Pollable::connect(&remote) {
                Ok(Connect::Done(socket)) => return Dialed::Connected(socket),
                Ok(Connect::Begun(socket)) => {
                    self.attempts.push(Attempt { remote, socket });
                    self.next_at = now + STAGGER;
                }
                // Only a Unix socket says so: its server has too many waiting, and there is no way to wait for that.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.untried.push_front(remote);
                    self.next_at = now + TICK;
                    return Dialed::Waiting;
                }
                Err(error) => self.failures.push(self.describe(&remote, &error)),
            }
        }
        match (before, self.pollable()) {
            (_, None) => Dialed::Failed(self.outcome()),
            (Some(before), Some(after)) if before.is(after) => Dialed::Waiting,
            (_, Some(_)) => Dialed::Moved,
        }
    }

    /// Drops the attempts that have failed, and lets the next address take their place at once. The first that has
    /// succeeded is the one.
    fn look_after_attempts(&mut self, now: Instant) -> Option<Pollable> {
        let mut index = 0;
        while let Some(attempt) = self.attempts.get(index) {
            match attempt.socket.connected() {
                None => index += 1,
                Some(Ok(())) => return Some(attempt.socket.clone()),
                Some(Err(error)) => {
                    let attempt = self.attempts.remove(index);
                    self.next_at = now;
                    self.failures.push(self.describe(&attempt.remote, &error));
                }
            }
        }
        None
    }

    /// What went wrong with one of several addresses. A single one has been named already.
    fn describe(&self, remote: &Remote, error: &io::Error) -> String {
        match remote {
            Remote::Internet(address) if address.to_string() != self.destination => format!("{address}: {error}"),
            _ => error.to_string(),
        }
    }

    fn outcome(&self) -> String {
        if self.failures.is_empty() {
            return format!("{}: the name has no address", self.destination);
        }
        format!("{}: {}", self.destination, self.failures.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that does not answer: its queue is full, so that the system drops what comes.
    fn silent() -> (TcpListener, Vec<Attempt>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        crate::io::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let queue = (0..4).map(|_| Remote::Internet(address)).filter_map(|remote| match Pollable::connect(&remote) {
            Ok(Connect::Begun(socket) | Connect::Done(socket)) => Some(Attempt { remote, socket }),
            Err(_) => None,
        });
        let queue = queue.collect();
        (listener, queue)
    }

    fn dialing(addresses: Vec<SocketAddr>) -> Dialing {
        let mut dialing = Dialing::to("test".into());
        dialing.found(addresses);
        dialing
    }

    fn after(milliseconds: u64) -> Instant {
        Instant::from_micros(milliseconds * 1000)
    }

    #[test]
    fn a_silent_address_is_joined_by_the_next() {
        let (silent, _queue) = silent();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut dialing = dialing(vec![silent.local_addr().unwrap(), other.local_addr().unwrap()]);
        assert_eq!(dialing.deadline(), Some(Instant::ZERO), "to be begun at once");
        assert!(matches!(dialing.advance(after(0)), Dialed::Moved));
        assert_eq!(dialing.deadline(), Some(after(250)));
        assert!(matches!(dialing.advance(after(249)), Dialed::Waiting));
        let first = dialing.pollable().unwrap().clone();
        assert!(matches!(dialing.advance(after(250)), Dialed::Moved));
        assert!(!first.is(dialing.pollable().unwrap()), "the driver waits for the newest");
        assert_eq!(dialing.deadline(), Some(after(300)), "the older one is not forgotten");
        let Dialed::Connected(socket) = dialing.advance(after(251)) else { panic!("the other one answers") };
        assert_eq!(socket.peer(), other.local_addr().unwrap());
    }

    #[test]
    fn an_address_that_answers_late_still_wins() {
        let (first, first_queue) = silent();
        let (second, _queue) = silent();
        let mut dialing = dialing(vec![first.local_addr().unwrap(), second.local_addr().unwrap()]);
        dialing.advance(after(0));
        dialing.advance(after(250));
        assert_eq!(dialing.attempts.len(), 2);
        // Room in its queue, and the system's own repetition gets through.
        drop(first_queue);
        first.set_nonblocking(true).unwrap();
        let start = std::time::Instant::now();
        loop {
            while first.accept().is_ok() {}
            match dialing.advance(after(300)) {
                Dialed::Connected(socket) => return assert_eq!(socket.peer(), first.local_addr().unwrap()),
                Dialed::Failed(why) => panic!("{why}"),
                Dialed::Waiting | Dialed::Moved => {}
            }
            assert!(start.elapsed() < Duration::from_secs(20), "the older attempt is not looked after");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_refused_address_gives_way_at_once() {
        let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut dialing = dialing(vec![refused, other.local_addr().unwrap()]);
        let outcome = loop {
            match dialing.advance(after(0)) {
                Dialed::Waiting | Dialed::Moved => {}
                outcome => break outcome,
            }
        };
        assert!(matches!(outcome, Dialed::Connected(_)), "at the same moment");
    }
    /// Dials a name that leads to these, until something has come of it.
    fn outcome(allowed: Allowed, addresses: Vec<SocketAddr>) -> Dialed {
        let (told, is_told) = std::sync::mpsc::channel();
        let told = std::sync::Mutex::new(told);
        let wake: Wake = std::sync::Arc::new(move || told.lock().unwrap().send(()).unwrap());
        let mut dialing = Dialing { allowed, ..Dialing::to("as.example:443".into()) };
        dialing.lookup = Some(Lookup::begin(Box::new(|| Ok(addresses)), wake));
        is_told.recv().unwrap();
        loop {
            match dialing.advance(after(0)) {
                Dialed::Waiting | Dialed::Moved => {}
                outcome => return outcome,
            }
        }
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_not_connected_to() {
        let here = TcpListener::bind("127.0.0.1:0").unwrap();
        here.set_nonblocking(true).unwrap();
        let address = here.local_addr().unwrap();
        let others = ["[::1]:443", "10.0.0.1:443", "169.254.169.254:443", "[fe80::1]:443", "[::ffff:127.0.0.1]:443"];
        let mut addresses = vec![address];
        addresses.extend(others.iter().map(|other| other.parse::<SocketAddr>().unwrap()));
        let Dialed::Failed(why) = outcome(Allowed::Public, addresses.clone()) else { panic!("somebody was reached") };
        assert_eq!(
            why, "as.example:443: it resolves to no public address, and a server may send nobody elsewhere",
            "and nothing of attempts that failed"
        );
        assert_eq!(here.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "no packet was sent");
        // It is there, for whoever may reach it.
        assert!(matches!(outcome(Allowed::All, addresses), Dialed::Connected(socket) if socket.peer() == address));
        assert!(here.accept().is_ok());
    }

    #[test]
    fn of_several_addresses_those_that_are_not_public_are_left_out() {
        let mut addresses: Vec<SocketAddr> = (1..20).map(|last| SocketAddr::from(([10, 0, 0, last], 443))).collect();
        let public: Vec<SocketAddr> = vec!["8.8.8.8:443".parse().unwrap(), "[2606:4700::1]:443".parse().unwrap()];
        addresses.splice(15..15, public.iter().copied());
        let mut dialing = Dialing { allowed: Allowed::Public, ..Dialing::to("test".into()) };
        dialing.found(addresses);
        let untried = dialing.untried.iter().map(|remote| match remote {
            Remote::Internet(address) => *address,
            Remote::Unix(_) => panic!("nobody named one"),
        });
        assert_eq!(untried.collect::<Vec<_>>(), public);
        assert!(dialing.failures.is_empty());
    }

    #[test]
    fn a_name_without_addresses_says_so() {
        let Dialed::Failed(why) = outcome(Allowed::Public, Vec::new()) else { panic!("there is nobody to reach") };
        assert_eq!(why, "as.example:443: the name has no address");
    }
}
