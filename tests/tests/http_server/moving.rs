//! Whoever moves only the connections that the server names moves every byte that can be moved.

use std::collections::{BTreeMap, VecDeque};

use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::model::{CallToolResult, Implementation, Tool};
use windlass::server::{Registry, Reply, ReplyTo, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};
use windlass_sim::Random;

use crate::guest::{modern, post};

/// Which connections a driver looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    AtEverything,
    /// At those that it waits for, and at those that are named.
    WhereTold,
}

/// The two directions of a connection, as its driver knows them.
#[derive(Default)]
struct Moved {
    /// What the client has written and the server has not read.
    sent: VecDeque<u8>,
    /// What the server has written.
    got: Vec<u8>,
    /// How much more the client takes.
    window: usize,
    waits_to_read: bool,
    waits_to_write: bool,
}

struct Town {
    server: HttpServer<(), ()>,
    looks: Looks,
    conns: BTreeMap<ConnId, Moved>,
    working: VecDeque<ReplyTo>,
}

impl Town {
    fn new(looks: Looks) -> Self {
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("work"), ());
        let config = ServerConfig::new(Implementation::new("town", "1"));
        let http = HttpServerConfig::on_loopback();
        let server = HttpServer::new(config, http, registry, &Seed::from_number(1), Instant::ZERO);
        Self { server, looks, conns: BTreeMap::new(), working: VecDeque::new() }
    }

    fn connect(&mut self) -> ConnId {
        let conn = self.server.accept(Instant::ZERO);
        self.conns.insert(conn, Moved { waits_to_read: true, ..Moved::default() });
        conn
    }

    /// Moves all that can be moved, as far as the driver knows.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            loop {
                match self.server.poll() {
                    Output::Event(ServerEvent::Invoke { reply, .. }) => self.working.push_back(reply),
                    Output::Event(_) => {}
                    Output::Idle { .. } => break,
                    other => panic!("{other:?}"),
                }
            }
            while let Some(conn) = self.server.next_to_move() {
                let moving = self.conns.get_mut(&conn).unwrap();
                moving.waits_to_write = true;
                moving.waits_to_read = self.server.reads(conn);
                moved = true;
            }
            for (&conn, moving) in &mut self.conns {
                let all = self.looks == Looks::AtEverything;
                if all || moving.waits_to_write {
                    let bytes = self.server.write_buf(conn);
                    let count = bytes.len().min(moving.window);
                    moving.got.extend_from_slice(&bytes[..count]);
                    moving.waits_to_write = count < bytes.len();
                    moving.window -= count;
                    if count > 0 {
                        self.server.write_done(conn, count, Instant::ZERO);
                        moved = true;
                    }
                }
                if (all || moving.waits_to_read) && !moving.sent.is_empty() {
                    let buffer = self.server.read_buf(conn);
                    let count = buffer.len().min(moving.sent.len());
                    for (place, byte) in buffer.iter_mut().zip(moving.sent.drain(..count)) {
                        *place = byte;
                    }
                    moving.waits_to_read = count > 0;
                    if count > 0 {
                        self.server.read_done(conn, count, Instant::ZERO);
                        moved = true;
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn answer(&mut self, bytes: usize) {
        if let Some(reply) = self.working.pop_front() {
            let answer = CallToolResult::text("a".repeat(bytes));
            self.server.respond(reply, Ok(Reply::Tool(answer)), Instant::ZERO);
        }
    }
}

/// What clients and handlers do, and what has come of it on each connection when they are done: what was not read, and
/// what was written.
fn outcome(seed: u64, looks: Looks) -> Vec<(usize, Vec<u8>)> {
    let mut random = Random::new(seed);
    let mut town = Town::new(looks);
    let conns: Vec<_> = (0..random.between(1, 4)).map(|_| town.connect()).collect();
    for id in 0..random.between(20, 120) {
        let conn = conns[random.between(0, conns.len() as u64 - 1) as usize];
        match random.between(0, 3) {
            0 | 1 => {
                let filler = "f".repeat([10, 300, 3_000, 90_000][random.between(0, 3) as usize]);
                let (headers, body) =
                    modern(id as u32, "tools/call", &format!(r#""name":"work","arguments":{{"filler":"{filler}"}}"#));
                town.conns.get_mut(&conn).unwrap().sent.extend(post(&headers, &body).bytes());
            }
            2 => town.answer([10, 100_000][random.between(0, 1) as usize]),
            _ => town.conns.get_mut(&conn).unwrap().window += random.between(0, 50_000) as usize,
        }
        if random.between(0, 3) == 0 {
            town.settle();
        }
    }
    for moving in town.conns.values_mut() {
        moving.window = usize::MAX;
    }
    town.settle();
    while !town.working.is_empty() {
        town.answer(10);
        town.settle();
    }
    town.conns.into_values().map(|moving| (moving.sent.len(), moving.got)).collect()
}

#[test]
fn those_who_look_where_they_are_told_miss_nothing() {
    for seed in 0..60 {
        let all = outcome(seed, Looks::AtEverything);
        assert!(
            all.iter().all(|(unread, _)| *unread == 0),
            "seed {seed}: whoever looks at everything reads everything"
        );
        assert!(all == outcome(seed, Looks::WhereTold), "seed {seed}: something was not told");
    }
}
