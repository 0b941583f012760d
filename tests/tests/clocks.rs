//! A driver whose clock goes back. To a machine time is a number that somebody hands in, and one that is less than the last
//! is no reason to panic, to forget a deadline or to keep it twice.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use windlass::client::{CallId, CallOptions, ClientConfig, ClientEvent, KeepAliveConfig};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallTool, CallToolResult, EmptyParams, Ping, Tool};
use windlass::server::{Registry, ReplyTo, ServerEvent};
use windlass::{CallError, ConnId, Instant, Machine, Output, Seed};
use windlass_sim::Random;

use common::{client_config, legacy_config, server_config, tool};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::from_micros(seconds * 1_000_000)
}

/// A client and a server, with nothing but a driver in between.
struct Pair {
    client: StdioClient<u32>,
    server: StdioServer<u32, ()>,
    streams: (ConnId, ConnId),
    random: Random,
    latest: Instant,
    /// Whether it is sometimes earlier than it was.
    jumps: bool,
    /// How each call ended; every one of them once.
    outcomes: BTreeMap<u32, Option<CallError>>,
    /// When each machine wants to be woken.
    deadlines: (Option<Instant>, Option<Instant>),
    working: Vec<ReplyTo>,
}

impl Pair {
    fn new(config: ClientConfig, seed: u64) -> Self {
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("work"), ());
        let mut on_server = server_config();
        on_server.keep_alive = config.keep_alive;
        let mut client = StdioClient::new(config, Instant::ZERO);
        let mut server = StdioServer::new(on_server, registry, &Seed::from_number(seed), Instant::ZERO);
        let (Output::Open { conn: one, .. }, Output::Open { conn: other, .. }) = (client.poll(), server.poll()) else {
            panic!("they open their streams first")
        };
        let mut pair = Self {
            client,
            server,
            streams: (one, other),
            random: Random::new(seed),
            latest: Instant::ZERO,
            jumps: false,
            outcomes: BTreeMap::new(),
            deadlines: (None, None),
            working: Vec::new(),
        };
        pair.settle();
        assert!(pair.client.peer().is_some());
        pair
    }

    /// What the driver takes for the time.
    fn now(&mut self) -> Instant {
        if self.jumps && self.random.one_in(2) {
            return Instant::from_micros(self.random.between(0, self.latest.as_micros()));
        }
        self.latest
    }

    /// Moves everything that can be moved.
    fn settle(&mut self) {
        loop {
            self.poll();
            let (one, other) = self.streams;
            let said = self.client.write_buf(one).to_vec();
            let answered = self.server.write_buf(other).to_vec();
            if said.is_empty() && answered.is_empty() {
                return;
            }
            let times: Vec<_> = (0..4).map(|_| self.now()).collect();
            self.client.write_done(one, said.len(), times[0]);
            self.server.write_done(other, answered.len(), times[1]);
            carry(&mut self.server, other, &said, times[2]);
            carry(&mut self.client, one, &answered, times[3]);
        }
    }

    fn poll(&mut self) {
        loop {
            match self.client.poll() {
                Output::Event(ClientEvent::Completed { token, outcome, .. }) => {
                    let twice = self.outcomes.insert(token, outcome.err());
                    assert_eq!(twice, None, "call {token} ends once");
                }
                Output::Idle { deadline } => break self.deadlines.0 = deadline,
                _ => {}
            }
        }
        loop {
            match self.server.poll() {
                Output::Event(ServerEvent::Invoke { reply, .. }) => self.working.push(reply),
                Output::Idle { deadline } => break self.deadlines.1 = deadline,
                _ => {}
            }
        }
    }

    fn call(&mut self, token: u32, options: &CallOptions) -> CallId {
        let now = self.now();
        self.client.call::<CallTool>(&tool("work"), options, token, now).unwrap()
    }

    fn wake(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        self.server.handle_timeout(now);
        self.settle();
    }

    fn close_down(&mut self) {
        self.client.close(self.latest);
        self.settle();
        self.server.read_eof(self.streams.1, self.latest);
        self.settle();
        self.client.read_eof(self.streams.0, self.latest);
        // What waits to give memory back does so now.
        self.wake(self.latest + SECOND);
        assert!(self.client.is_idle() && self.server.is_idle());
        assert_eq!(self.deadlines, (None, None));
    }
}

/// Bytes that one machine has written, to the other.
fn carry(machine: &mut impl Machine, conn: ConnId, mut bytes: &[u8], now: Instant) {
    while !bytes.is_empty() {
        let room = machine.read_buf(conn);
        let count = room.len().min(bytes.len());
        assert!(count > 0, "there is room for what is so short");
        room[..count].copy_from_slice(&bytes[..count]);
        machine.read_done(conn, count, now);
        bytes = &bytes[count..];
    }
}

#[test]
fn a_deadline_is_kept_once_though_the_time_goes_back() {
    for config in [client_config(), legacy_config()] {
        let mut pair = Pair::new(config, 1);
        pair.latest = at(1000);
        let options = CallOptions::new().idle_timeout(10 * SECOND).total_timeout(30 * SECOND);
        pair.call(1, &options);
        pair.settle();
        for earlier in [999, 0, 500, 1009] {
            pair.wake(at(earlier));
            assert!(pair.outcomes.is_empty(), "at {earlier}");
            // Before that it may want to give memory back.
            assert!(pair.deadlines.0.is_some_and(|deadline| deadline <= at(1010)), "at {earlier}");
        }
        assert_eq!(pair.deadlines.0, Some(at(1010)));
        pair.wake(at(1010));
        assert_eq!(pair.outcomes[&1], Some(CallError::TimedOut { after: 10 * SECOND }));
        for other in [0, 1010, 999, 5000] {
            pair.wake(at(other));
        }
        // Of a call that is made at an earlier time, the deadline is earlier too.
        pair.latest = at(100);
        pair.call(2, &options);
        pair.settle();
        assert!(pair.deadlines.0.is_some_and(|deadline| deadline <= at(110)));
        pair.wake(at(110));
        assert!(matches!(pair.outcomes[&2], Some(CallError::TimedOut { .. })));
        // What is answered before it was asked for has taken no time, and is answered.
        pair.latest = at(5000);
        pair.call(3, &options);
        pair.settle();
        let reply = pair.working.pop().unwrap();
        pair.latest = at(1);
        pair.server.respond(reply, Ok(CallToolResult::text("done").into()), at(1));
        pair.settle();
        assert_eq!(pair.outcomes[&3], None);
        pair.wake(at(6000));
        assert_eq!(pair.outcomes.len(), 3);
        pair.close_down();
    }
}

#[test]
fn every_call_ends_once_on_a_clock_that_jumps_to_and_fro() {
    for seed in 0..200 {
        let mut config = if seed % 2 == 0 { client_config() } else { legacy_config() };
        config.keep_alive = Some(KeepAliveConfig::every(20 * SECOND));
        let mut pair = Pair::new(config, seed);
        pair.jumps = true;
        let (mut calls, mut asked, mut token) = (Vec::new(), 0, 0);
        for _ in 0..100 {
            pair.latest = pair.latest + Duration::from_millis(pair.random.between(0, 5000));
            let now = pair.now();
            match pair.random.between(0, 7) {
                0 | 1 => {
                    token += 1;
                    let idle = Duration::from_secs(pair.random.between(1, 20));
                    calls.push(pair.call(token, &CallOptions::new().idle_timeout(idle).total_timeout(60 * SECOND)));
                }
                2 if !pair.working.is_empty() => {
                    let reply = pair.working.remove(0);
                    pair.server.respond(reply, Ok(CallToolResult::text("done").into()), now);
                }
                3 if !pair.working.is_empty() => {
                    let key = pair.random.choose(&pair.working).key();
                    pair.server.progress(key, pair.latest.as_micros() as f64, None, None);
                }
                4 if !calls.is_empty() && pair.random.one_in(3) => {
                    let call = *pair.random.choose(&calls);
                    pair.client.cancel(call, "enough", now);
                }
                5 => {
                    asked +=
                        u32::from(pair.server.call::<Ping>(&EmptyParams::new(), &CallOptions::new(), 1, now).is_ok())
                }
                6 => pair.client.handle_timeout(now),
                _ => pair.server.handle_timeout(now),
            }
            pair.settle();
        }
        assert!(seed % 2 == 0 || asked > 0, "servers of the legacy era ask as well");
        // No deadline was forgotten: once all are past, every call has ended.
        pair.jumps = false;
        pair.wake(pair.latest + 100 * SECOND);
        assert_eq!(pair.outcomes.len(), token as usize, "seed {seed}");
        pair.close_down();
    }
}
