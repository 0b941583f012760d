//! A machine over HTTP in a loop that somebody else turns: what it takes besides waiting is that of the ready-made one.

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

use std::cell::RefCell;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use windlass::{ConnId, Instant, Machine, earliest};

use super::Watch;
use super::watched_connections::WatchedConnections;
use crate::drive::hub::OnEvent;
use crate::drive::shared::HasHub;
use crate::drive::{Hub, Interest};

/// How often the connections are looked after before the rest of the loop gets its turn. A peer that always has more to
/// say would hold it up for ever.
const FAIR_ROUNDS: usize = 4;

/// A machine with its connections, driven from a loop that is not its own.
pub struct Hosted<M> {
    hub: Hub<M>,
    connections: WatchedConnections,
    accept: Accept<M>,
    sockets: usize,
}

/// Takes in a client, from its address if it has one.
type Accept<M> = fn(&mut M, Option<IpAddr>, Instant) -> Option<ConnId>;

impl<M: Machine> Hosted<M> {
    /// The machine.
    pub fn machine(&mut self) -> &mut M {
        &mut self.hub.machine
    }

    /// The most sockets that are watched at a time.
    pub fn most_sockets(&self) -> usize {
        self.sockets
    }

    /// Reads and writes all that can be without waiting, and hands events to `on_event`. Returns what to wait for: a
    /// deadline that has come means that there is more to do once the rest of the loop had its turn.
    ///
    /// # Errors
    ///
    /// When the listener's socket cannot be watched.
    pub fn drive<W: Watch>(&mut self, watch: &mut W, on_event: impl FnMut(M::Event<'_>)) -> io::Result<Interest> {
        let events = OnEvent::new(on_event);
        for _ in 0..FAIR_ROUNDS {
            let interest = self.hub.turn(&events, &mut Vec::new());
            if interest.finished {
                self.connections.forget(watch);
                return Ok(interest);
            }
            if interest.deadline.is_some_and(|deadline| deadline <= self.hub.now()) {
                self.hub.handle_timeout();
                continue;
            }
            let held = Held { hub: RefCell::new(&mut self.hub), accept: self.accept };
            if !self.connections.attend(watch, &held, interest.listen, Some(Duration::ZERO))? {
                let pause = self.connections.pause().map(|pause| self.hub.now() + pause);
                return Ok(Interest { deadline: earliest(interest.deadline, pause), ..interest });
            }
        }
        let interest = self.hub.turn(&events, &mut Vec::new());
        Ok(Interest { deadline: Some(self.hub.now()), ..interest })
    }
}

/// A hub, for as long as its connections are looked after.
struct Held<'a, M> {
    hub: RefCell<&'a mut Hub<M>>,
    accept: Accept<M>,
}

impl<M: Machine> HasHub for Held<'_, M> {
    type Machine = M;

    fn with_hub<V>(&self, act: impl FnOnce(&mut Hub<M>) -> V) -> V {
        act(&mut self.hub.borrow_mut())
    }

    fn accepted(&self, machine: &mut M, client: Option<IpAddr>, now: Instant) -> Option<ConnId> {
        (self.accept)(machine, client, now)
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;
    use std::sync::mpsc::channel;

    use windlass::client::ClientConfig;
    use windlass::link::http::HttpClient;
    use windlass::model::Implementation;

    use super::*;
    use crate::io::{Pollable, Ready};
    use crate::{Clock, HttpTarget};

    /// Sockets that are always ready, as those of peers that never have nothing to say.
    #[derive(Default)]
    struct AlwaysReady(BTreeSet<u64>);

    impl Watch for AlwaysReady {
        fn watch_socket(&mut self, number: u64, socket: Option<&Pollable>) -> io::Result<()> {
            match socket {
                Some(_) => self.0.insert(number),
                None => self.0.remove(&number),
            };
            Ok(())
        }

        fn wait_for_sockets(
            &mut self,
            wanted: &mut dyn FnMut(u64) -> Ready,
            _: Option<Duration>,
            ready: &mut Vec<(u64, Ready)>,
        ) -> io::Result<()> {
            let all = self.0.iter().map(|number| (*number, wanted(*number)));
            ready.extend(all.filter(|(_, ready)| *ready != Ready::default()));
            Ok(())
        }
    }

    #[test]
    fn peers_that_always_have_more_to_say_do_not_hold_up_the_loop() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (turned, has_turned) = channel();
        std::thread::spawn(move || {
            let clock = Clock::new();
            let config = ClientConfig::new(Implementation::new("test", "1"));
            let target = HttpTarget::new(&url).unwrap();
            let mut client: Hosted<HttpClient<()>> = Hosted::client(config, target, clock, || {});
            let mut watch = AlwaysReady::default();
            for _ in 0..10 {
                let interest = client.drive(&mut watch, |_| {}).unwrap();
                let _ = turned.send(interest.deadline.is_some_and(|deadline| deadline <= clock.now()));
            }
        });
        for turn in 0..10 {
            let comes_again = has_turned.recv_timeout(Duration::from_secs(20)).expect("the loop is held up");
            assert!(comes_again, "{turn}: what is left to do is done without waiting");
        }
    }
}
