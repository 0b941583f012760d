//! Two parties, two pipes, one clock.

use windlass::client::ClientConfig;
use windlass::{ConnError, ConnErrorKind, Instant, earliest};

use crate::client::SimClient;
use crate::clock::{World, under_the_clock};
use crate::conditions::NetworkConditions;
use crate::party::{Closing, Party, Turn};
use crate::scene::Scene;
use crate::script::Script;
use crate::server::SimServer;
use crate::stream::SimStream;
use crate::trace::Side;

/// A client and a server in one process, under one virtual clock.
///
/// Time stands still while anything can be done, then jumps to the next arrival or deadline. See the crate's
/// documentation for an example.
pub struct Sim<C, S> {
    /// The client's end.
    pub client: C,
    /// The server's end.
    pub server: S,
    scene: Scene,
    restart: Box<dyn FnMut() -> S>,
    stream: SimStream,
    deadlines: [Option<Instant>; 2],
    streams: u32,
}

impl Sim<SimClient, SimServer> {
    /// A client and a server. `server` starts it, and starts it again if the client wants a second stream.
    pub fn new(
        seed: u64,
        conditions: NetworkConditions,
        client: ClientConfig,
        server: impl FnMut() -> SimServer + 'static,
    ) -> Self {
        Self::of(seed, conditions, SimClient::new(client), server)
    }
}

impl Sim<SimClient, Script> {
    /// A client, and a server that says what the test types.
    pub fn with_scripted_server(seed: u64, conditions: NetworkConditions, client: ClientConfig) -> Self {
        Self::of(seed, conditions, SimClient::new(client), Script::new)
    }
}

impl Sim<Script, SimServer> {
    /// A server, and a client that says what the test types.
    pub fn with_scripted_client(seed: u64, conditions: NetworkConditions, server: SimServer) -> Self {
        let mut server = Some(server);
        Self::of(seed, conditions, Script::new(), move || {
            server.take().expect("a scripted client never asks for a second stream")
        })
    }
}

impl<C: Party, S: Party> Sim<C, S> {
    /// Any two parties.
    pub fn of(seed: u64, conditions: NetworkConditions, client: C, mut server: impl FnMut() -> S + 'static) -> Self {
        let mut scene = Scene::new(seed, conditions);
        Self {
            client,
            server: server(),
            stream: SimStream::new(&mut scene),
            scene,
            restart: Box::new(server),
            deadlines: [None; 2],
            streams: 0,
        }
    }

    under_the_clock!();

    /// How many streams the client has asked for.
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Changes the conditions for what is written from now on.
    pub fn set_conditions(&mut self, conditions: NetworkConditions) {
        self.stream.set_conditions(&conditions);
        self.scene.conditions = conditions;
    }

    /// Breaks the stream under both sides.
    pub fn cut(&mut self) {
        self.stream.cut(self.scene.now);
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
        let mut log = self.scene.log(side, side.name());
        let Turn { opens, closes, deadline } = party(&mut self.client, &mut self.server, side).turn(&mut log);
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
            self.scene.trace.saw(Side::Client, Side::Client.name(), "asks for another stream", self.scene.now);
            for side in [Side::Client, Side::Server] {
                self.scene.trace.ended(side, None, self.scene.now);
            }
            self.server = (self.restart)();
            self.server.set_time(self.scene.now);
            self.stream = SimStream::new(&mut self.scene);
        }
        if self.scene.refuse() {
            self.stream.close(Side::Client, Closing::Both, self.scene.now);
            self.client.broke(&ConnError::new(ConnErrorKind::NotOpened, "the stream was refused"));
        }
    }

    /// Moves what a side has to write, in as many writes as the conditions want.
    fn write(&mut self, side: Side) -> bool {
        let mut moved = false;
        loop {
            let party = party(&mut self.client, &mut self.server, side);
            let bytes = party.unwritten();
            let count = self.stream.write(side, bytes, self.scene.now);
            if count == 0 {
                return moved;
            }
            self.scene.trace.wrote(side, None, &bytes[..count], self.scene.now);
            party.wrote(count);
            moved = true;
        }
    }

    fn close(&mut self, side: Side, closing: Closing) -> bool {
        let first = self.stream.close(side, closing, self.scene.now);
        if first {
            self.scene.trace.ended(side, None, self.scene.now);
        }
        first
    }

    /// Gives a side one chunk that has arrived, or the end.
    fn deliver(&mut self, side: Side) -> bool {
        if self.tell_of_break(side) {
            return true;
        }
        let party = party(&mut self.client, &mut self.server, side);
        if let Some(bytes) = self.stream.arrived(side, self.scene.now) {
            let count = party.read(bytes);
            if count > 0 {
                self.scene.trace.read(side, None, &bytes[..count], self.scene.now);
                self.stream.take(side, count);
            }
            return count > 0;
        }
        let ends = self.stream.ends_for(side, self.scene.now);
        if ends {
            party.read_end();
        }
        ends
    }

    fn tell_of_break(&mut self, side: Side) -> bool {
        let breaks = self.stream.breaks_for(side, self.scene.now);
        if breaks {
            party(&mut self.client, &mut self.server, side)
                .broke(&ConnError::new(ConnErrorKind::Broken, "the stream was cut"));
        }
        breaks
    }
}

/// The one of the two that is on this side.
fn party<'a>(client: &'a mut dyn Party, server: &'a mut dyn Party, side: Side) -> &'a mut dyn Party {
    match side {
        Side::Client => client,
        Side::Server => server,
    }
}

impl<C: Party, S: Party> World for Sim<C, S> {
    fn scene(&self) -> &Scene {
        &self.scene
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
        self.scene.count_step();
        moved
    }

    fn fire(&mut self) -> bool {
        let mut fired = false;
        for side in [Side::Client, Side::Server] {
            if self.deadlines[side as usize].take_if(|deadline| *deadline <= self.scene.now).is_some() {
                self.scene.trace.woke(side, self.scene.now);
                party(&mut self.client, &mut self.server, side).timeout();
                fired = true;
            }
        }
        fired
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.deadlines[0], self.deadlines[1])
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.stream.next_arrival(self.scene.now)
    }

    fn set_time(&mut self, now: Instant) {
        self.scene.set_time(now);
        self.client.set_time(self.scene.now);
        self.server.set_time(self.scene.now);
    }
}
