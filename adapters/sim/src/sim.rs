//! Two parties, two pipes, one clock.

use std::time::Duration;

use windlass::client::ClientConfig;
use windlass::{ConnError, ConnErrorKind, Instant, earliest};

use crate::client::SimClient;
use crate::clock::{self, MOST_STEPS_AT_ONCE, World};
use crate::party::{Closing, Log, Party, Turn};
use crate::random::Random;
use crate::script::Script;
use crate::server::SimServer;
use crate::stream::Stream;
use crate::trace::{Side, Trace};
use crate::weather::Weather;

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
    stream: Stream,
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
            stream: Stream::new(&weather, &mut random),
            weather,
            random,
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

    /// Changes the weather for what is written from now on.
    pub fn set_weather(&mut self, weather: Weather) {
        self.stream.set_weather(&weather);
        self.weather = weather;
    }

    /// Runs until nothing is on its way. Timers fire only as far as time moves for arrivals; no time is waited out.
    pub fn settle(&mut self) {
        clock::settle(self);
    }

    /// Runs until nothing is on its way and no timer is armed, however long that takes.
    ///
    /// # Panics
    ///
    /// If that takes more than a virtual week: something then re-arms its timer for ever, as keep-alive does.
    pub fn run_until_idle(&mut self) {
        clock::run_until_idle(self);
    }

    /// Runs for so much virtual time.
    pub fn run_for(&mut self, time: Duration) {
        clock::run_for(self, time);
    }

    /// Runs until a condition holds; false if it does not when everything is idle.
    pub fn run_until(&mut self, condition: impl FnMut(&mut Self) -> bool) -> bool {
        clock::run_until(self, condition)
    }

    /// Breaks the stream under both sides.
    pub fn cut(&mut self) {
        self.stream.cut(self.now);
        for side in [Side::Client, Side::Server] {
            self.tell_of_break(side);
        }
    }

    /// Whether neither side has anything left: no call, no request, no timer of the program's, no byte.
    pub fn is_idle(&self) -> bool {
        self.client.is_idle() && self.server.is_idle() && self.stream.is_empty()
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
        assert!(self.stream.is_empty(), "bytes are on their way:\n{}", self.transcript());
    }

    fn turn(&mut self, side: Side) -> bool {
        let mut log = Log { trace: &mut self.trace, side, name: side.name(), now: self.now };
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
        if self.streams > 1 {
            self.trace.saw(Side::Client, Side::Client.name(), "asks for another stream", self.now);
            for side in [Side::Client, Side::Server] {
                self.trace.ended(side, None, self.now);
            }
            self.server = (self.restart)();
            self.server.set_time(self.now);
            self.stream = Stream::new(&self.weather, &mut self.random);
        }
        let refused = self.weather.faults.refused;
        if refused > 0 && self.random.one_in(refused) {
            self.stream.close(Side::Client, Closing::Both, self.now);
            self.client.broke(&ConnError::new(ConnErrorKind::NotOpened, "the stream was refused"));
        }
    }

    /// Moves what a side has to write, in as many writes as the weather wants.
    fn write(&mut self, side: Side) -> bool {
        let mut moved = false;
        loop {
            let party: &mut dyn Party = match side {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            let bytes = party.unwritten();
            let count = self.stream.write(side, bytes, self.now);
            if count == 0 {
                return moved;
            }
            self.trace.wrote(side, None, &bytes[..count], self.now);
            party.wrote(count);
            moved = true;
        }
    }

    fn close(&mut self, side: Side, closing: Closing) -> bool {
        let first = self.stream.close(side, closing, self.now);
        if first {
            self.trace.ended(side, None, self.now);
        }
        first
    }

    /// Gives a side one chunk that has arrived, or the end.
    fn deliver(&mut self, side: Side) -> bool {
        if self.tell_of_break(side) {
            return true;
        }
        let party: &mut dyn Party = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        if let Some(bytes) = self.stream.arrived(side, self.now) {
            let count = party.read(bytes);
            if count > 0 {
                self.trace.read(side, None, &bytes[..count], self.now);
                self.stream.take(side, count);
            }
            return count > 0;
        }
        let ends = self.stream.ends_for(side, self.now);
        if ends {
            party.read_end();
        }
        ends
    }

    fn tell_of_break(&mut self, side: Side) -> bool {
        let breaks = self.stream.breaks_for(side, self.now);
        if breaks {
            self.party(side).broke(&ConnError::new(ConnErrorKind::Broken, "the stream was cut"));
        }
        breaks
    }

    fn party(&mut self, side: Side) -> &mut dyn Party {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

impl<C: Party, S: Party> World for Sim<C, S> {
    fn now(&self) -> Instant {
        self.now
    }

    fn transcript(&self) -> &str {
        self.trace.transcript()
    }

    /// Both take a turn, write, and are given what has arrived.
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

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.deadlines[0], self.deadlines[1])
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.stream.next_arrival(self.now)
    }

    fn set_time(&mut self, now: Instant) {
        if now > self.now {
            self.steps_at_once = 0;
        }
        self.now = self.now.max(now);
        self.client.set_time(self.now);
        self.server.set_time(self.now);
    }
}
