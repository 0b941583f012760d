//! Two parties, two pipes, one clock.

use std::time::Duration;

use windlass::client::ClientConfig;
use windlass::{ConnError, ConnErrorKind, Instant, earliest};

use crate::client::SimClient;
use crate::party::{Closing, Log, Party, Turn};
use crate::pipe::Pipe;
use crate::random::Random;
use crate::script::Script;
use crate::server::SimServer;
use crate::trace::{Side, Trace};
use crate::weather::Weather;

/// Steps without the clock moving after which something must be going in circles. A long session in bytewise weather
/// takes some ten thousand.
const MOST_STEPS_AT_ONCE: u32 = 10_000_000;

/// A client and a server in one process, under one virtual clock.
///
/// Time stands still while anything can be done, then jumps to the next arrival or deadline. See the crate's
/// documentation for an example.
pub struct Sim<C, S> {
    /// The client's end.
    pub client: C,
    /// The server's end.
    pub server: S,
    now: Instant,
    weather: Weather,
    random: Random,
    trace: Trace,
    restart: Box<dyn FnMut() -> S>,
    /// What is on its way to each side.
    toward: [Pipe; 2],
    told_end: [bool; 2],
    wrote_end: [bool; 2],
    deadlines: [Option<Instant>; 2],
    streams: u32,
    steps_at_once: u32,
}

impl Sim<SimClient, SimServer> {
    /// A client and a server. `server` starts it, and starts it again if the client wants a second stream.
    pub fn new(seed: u64, weather: Weather, client: ClientConfig, server: impl FnMut() -> SimServer + 'static) -> Self {
        Self::of(seed, weather, SimClient::new(client), server)
    }
}

impl Sim<SimClient, Script> {
    /// A client, and a server that says what the test types.
    pub fn with_scripted_server(seed: u64, weather: Weather, client: ClientConfig) -> Self {
        Self::of(seed, weather, SimClient::new(client), Script::new)
    }
}

impl Sim<Script, SimServer> {
    /// A server, and a client that says what the test types.
    pub fn with_scripted_client(seed: u64, weather: Weather, server: SimServer) -> Self {
        let mut server = Some(server);
        Self::of(seed, weather, Script::new(), move || {
            server.take().expect("a scripted client never asks for a second stream")
        })
    }
}

impl<C: Party, S: Party> Sim<C, S> {
    /// Any two parties.
    pub fn of(seed: u64, weather: Weather, client: C, mut server: impl FnMut() -> S + 'static) -> Self {
        let mut random = Random::new(seed);
        Self {
            client,
            server: server(),
            now: Instant::ZERO,
            trace: Trace::default(),
            restart: Box::new(server),
            toward: [(); 2].map(|()| Pipe::new(weather.clone(), random.fork())),
            weather,
            random,
            told_end: [false; 2],
            wrote_end: [false; 2],
            deadlines: [None; 2],
            streams: 0,
            steps_at_once: 0,
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What happened so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What happened so far, for a person to read.
    pub fn transcript(&self) -> &str {
        self.trace.transcript()
    }

    /// How many streams the client has asked for.
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Runs until nothing is on its way. Timers fire only as far as time moves for arrivals; no time is waited out.
    pub fn settle(&mut self) {
        while self.exchange() || self.fire() || (self.next_arrival().is_some() && self.jump(None)) {}
    }

    /// Runs until nothing is on its way and no timer is armed, however long that takes.
    ///
    /// # Panics
    ///
    /// If that takes more than a virtual week: something then re-arms its timer for ever, as keep-alive does.
    pub fn run_until_idle(&mut self) {
        let week = self.now + Duration::from_secs(7 * 24 * 3600);
        while self.exchange() || self.fire() || self.jump(None) {
            assert!(self.now < week, "still busy after a virtual week:\n{}", self.transcript());
        }
    }

    /// Runs for so much virtual time.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.exchange() || self.fire() || self.jump(Some(end)) {}
        self.set_time(end);
        while self.exchange() || self.fire() {}
    }

    /// Runs until a condition holds; false if it does not when everything is idle.
    pub fn run_until(&mut self, mut condition: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            let moved = self.exchange();
            if condition(self) {
                return true;
            }
            if !(moved || self.fire() || self.jump(None)) {
                return false;
            }
        }
    }

    /// Breaks the stream under both sides.
    pub fn cut(&mut self) {
        let why = ConnError::new(ConnErrorKind::Broken, "the stream was cut");
        for side in [Side::Client, Side::Server] {
            self.toward[side as usize].abandon(self.now);
            self.told_end[side as usize] = true;
            self.party(side).broke(&why);
        }
    }

    /// Whether neither side has anything left: no call, no request, no timer of the program's, no byte.
    pub fn is_idle(&self) -> bool {
        self.client.is_idle() && self.server.is_idle() && self.toward.iter().all(Pipe::is_empty)
    }

    /// Asserts that nothing is left: neither a call nor a request, a byte or a timer.
    ///
    /// # Panics
    ///
    /// If something is.
    #[track_caller]
    pub fn assert_nothing_left(&mut self) {
        self.settle();
        assert!(self.client.is_idle(), "the client is not idle:\n{}", self.transcript());
        assert!(self.server.is_idle(), "the server is not idle:\n{}", self.transcript());
        assert!(self.toward.iter().all(Pipe::is_empty), "bytes are on their way:\n{}", self.transcript());
    }

    /// One round at the present time: both take a turn, write, and are given what has arrived. False if nothing moved.
    fn exchange(&mut self) -> bool {
        let mut moved = false;
        for side in [Side::Client, Side::Server] {
            moved |= self.turn(side);
        }
        for side in [Side::Client, Side::Server] {
            moved |= self.deliver(side);
        }
        self.steps_at_once += 1;
        assert!(self.steps_at_once < MOST_STEPS_AT_ONCE, "going in circles at {:?}:\n{}", self.now, self.transcript());
        moved
    }

    fn turn(&mut self, side: Side) -> bool {
        let mut log = Log { trace: &mut self.trace, side, now: self.now };
        let party: &mut dyn Party = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let Turn { opens, closes, deadline } = party.turn(&mut log);
        self.deadlines[side as usize] = deadline;
        if opens && side == Side::Client {
            self.open();
        }
        let moved = self.write(side);
        let closed = closes.is_some_and(|closing| self.close(side, closing));
        opens || moved || closed
    }

    /// The client wants a stream; the first is there already.
    fn open(&mut self) {
        self.streams += 1;
        if self.streams == 1 {
            return;
        }
        self.trace.saw(Side::Client, "asks for another stream", self.now);
        for side in [Side::Client, Side::Server] {
            self.trace.ended(side, self.now);
        }
        self.server = (self.restart)();
        self.server.set_time(self.now);
        self.toward = [(); 2].map(|()| Pipe::new(self.weather.clone(), self.random.fork()));
        self.told_end = [false; 2];
        self.wrote_end = [false; 2];
    }

    /// Moves what a side has to write, in as many writes as the weather wants.
    fn write(&mut self, side: Side) -> bool {
        let mut moved = false;
        loop {
            let pipe = &mut self.toward[side.other() as usize];
            let party: &mut dyn Party = match side {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            let bytes = party.unwritten();
            let count = if bytes.is_empty() { 0 } else { pipe.write(bytes, self.now) };
            if count == 0 {
                return moved;
            }
            self.trace.wrote(side, &bytes[..count], self.now);
            party.wrote(count);
            moved = true;
        }
    }

    fn close(&mut self, side: Side, closing: Closing) -> bool {
        if closing == Closing::Both {
            // What comes to a reader that is gone is lost.
            self.toward[side as usize].abandon(self.now);
            self.told_end[side as usize] = true;
        }
        let first = !std::mem::replace(&mut self.wrote_end[side as usize], true);
        if first {
            self.toward[side.other() as usize].end(self.now);
            self.trace.ended(side, self.now);
        }
        first
    }

    /// Gives a side one chunk that has arrived, or the end.
    fn deliver(&mut self, side: Side) -> bool {
        let pipe = &mut self.toward[side as usize];
        let party: &mut dyn Party = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        if let Some(bytes) = pipe.arrived(self.now) {
            let count = party.read(bytes);
            if count > 0 {
                self.trace.read(side, &bytes[..count], self.now);
                pipe.take(count);
            }
            return count > 0;
        }
        let ends = pipe.has_ended(self.now) && !self.told_end[side as usize];
        if ends {
            self.told_end[side as usize] = true;
            party.read_end();
        }
        ends
    }

    /// Wakes whoever's deadline has come.
    fn fire(&mut self) -> bool {
        let mut fired = false;
        for side in [Side::Client, Side::Server] {
            if self.deadlines[side as usize].take_if(|deadline| *deadline <= self.now).is_some() {
                self.trace.woke(side, self.now);
                self.party(side).timeout();
                fired = true;
            }
        }
        fired
    }

    /// Moves the clock to whatever comes next, unless that is nothing or beyond `limit`.
    fn jump(&mut self, limit: Option<Instant>) -> bool {
        let [client, server] = self.deadlines;
        match earliest(self.next_arrival(), earliest(client, server)) {
            Some(next) if limit.is_none_or(|limit| next <= limit) => {
                self.set_time(next);
                true
            }
            _ => false,
        }
    }

    /// The next arrival that is still to come. What has arrived and is not read does not count.
    fn next_arrival(&self) -> Option<Instant> {
        let coming = |pipe: &Pipe| pipe.next_arrival().filter(|at| *at > self.now);
        earliest(coming(&self.toward[0]), coming(&self.toward[1]))
    }

    fn set_time(&mut self, now: Instant) {
        if now > self.now {
            self.steps_at_once = 0;
        }
        self.now = self.now.max(now);
        self.client.set_time(self.now);
        self.server.set_time(self.now);
    }

    fn party(&mut self, side: Side) -> &mut dyn Party {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}
