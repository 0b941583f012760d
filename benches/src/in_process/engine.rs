//! A client and a server of ours, joined by hand.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::client::{CallOptions, ClientConfig, ClientEvent, Negotiation};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallToolResult, Era, Implementation, Tool};
use windlass::server::{Invoked, Registry, Reply, ReplyTo, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};

use super::RoundTrips;
use crate::allocations;

/// A connected pair whose server has one tool, `echo`.
pub(crate) struct Pair {
    client: StdioClient<()>,
    server: StdioServer<(), ()>,
    streams: Option<(ConnId, ConnId)>,
    now: Instant,
    completed: u64,
    /// Allocations within the tool: its argument and its result.
    tool_allocations: u64,
    /// Bytes that have gone each way.
    carried: Carried,
}

/// Bytes that have gone each way.
#[derive(Clone, Copy, Default)]
pub(crate) struct Carried {
    pub(crate) to_server: usize,
    pub(crate) to_client: usize,
}

/// The parameters of a call of `echo`.
#[derive(Serialize)]
pub(crate) struct EchoParams {
    name: &'static str,
    arguments: Text,
}

/// What `echo` takes.
#[derive(Serialize, Deserialize)]
pub(super) struct Text {
    pub(super) text: String,
}

impl EchoParams {
    pub(crate) fn new(payload: usize) -> Self {
        Self { name: "echo", arguments: Text { text: "x".repeat(payload) } }
    }
}

impl Pair {
    pub(crate) fn connected(era: Era) -> Self {
        let mut config = ClientConfig::new(Implementation::new("bench", "1"));
        config.negotiation = Negotiation::Cached(era);
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("echo"), ());
        let server = ServerConfig::new(Implementation::new("bench", "1"));
        let now = Instant::ZERO;
        let mut pair = Self {
            client: StdioClient::new(config, now),
            server: StdioServer::new(server, registry, &Seed::from_number(1), now),
            streams: None,
            now,
            completed: 0,
            tool_allocations: 0,
            carried: Carried::default(),
        };
        pair.settle();
        assert!(pair.client.peer().is_some_and(|peer| peer.version.era() == era), "the pair has connected");
        pair
    }

    /// One call and its answer.
    pub(crate) fn round_trip(&mut self, params: &EchoParams) {
        let before = self.completed;
        self.client.call_raw("tools/call", params, &CallOptions::new(), (), self.now).expect("there is room");
        while self.completed == before {
            self.exchange();
        }
    }

    /// How many bytes a call and its answer are on the wire, ends of lines included.
    pub(crate) fn wire_lengths(era: Era, payload: usize) -> Carried {
        let mut pair = Self::connected(era);
        let before = pair.carried;
        pair.round_trip(&EchoParams::new(payload));
        Carried {
            to_server: pair.carried.to_server - before.to_server,
            to_client: pair.carried.to_client - before.to_client,
        }
    }

    /// Time goes by in which nothing happens but what the two want to do by themselves.
    pub(crate) fn rest(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
        self.settle();
    }

    /// Moves bytes until nothing moves.
    fn settle(&mut self) {
        loop {
            self.poll_client();
            self.poll_server();
            if !self.exchange() {
                return;
            }
        }
    }

    /// What the client has to say goes to the server, and its answers come back; false if there was nothing.
    fn exchange(&mut self) -> bool {
        let (client, server) = self.streams.expect("both have asked for their stream");
        let sent = carry(&mut self.client, client, &mut self.server, server, self.now);
        self.poll_server();
        let answered = carry(&mut self.server, server, &mut self.client, client, self.now);
        self.poll_client();
        self.carried.to_server += sent;
        self.carried.to_client += answered;
        sent + answered > 0
    }

    fn poll_client(&mut self) {
        loop {
            match self.client.poll() {
                Output::Open { conn, .. } => self.streams = Some((conn, conn)),
                Output::Event(ClientEvent::Completed { outcome, .. }) => {
                    assert!(outcome.is_ok(), "{outcome:?}");
                    self.completed += 1;
                }
                Output::Event(_) | Output::Close(_) => {}
                Output::Idle { .. } => return,
            }
        }
    }

    fn poll_server(&mut self) {
        loop {
            let (reply, text): (ReplyTo, Text) = match self.server.poll() {
                Output::Open { conn, .. } => {
                    self.streams = self.streams.map(|(client, _)| (client, conn));
                    continue;
                }
                Output::Event(ServerEvent::Invoke { reply, invocation, .. }) => {
                    let Invoked::Tool { arguments, .. } = &invocation.request else { unreachable!("only a tool") };
                    let before = allocations::count();
                    let text = arguments.decode().expect("the arguments are a text");
                    self.tool_allocations += allocations::count() - before;
                    (reply, text)
                }
                Output::Event(_) | Output::Close(_) => continue,
                Output::Idle { .. } => return,
            };
            let before = allocations::count();
            let result = CallToolResult::text(text.text);
            self.tool_allocations += allocations::count() - before;
            self.server.respond(reply, Ok(Reply::Tool(result)), self.now);
        }
    }
}

/// Moves what one machine has to write into the other, as much as it takes, and says how much that was.
pub(super) fn carry(
    from: &mut impl Machine,
    source: ConnId,
    to: &mut impl Machine,
    sink: ConnId,
    now: Instant,
) -> usize {
    let mut moved = 0;
    loop {
        let bytes = from.write_buf(source);
        if bytes.is_empty() {
            return moved;
        }
        let space = to.read_buf(sink);
        if space.is_empty() {
            return moved;
        }
        let count = bytes.len().min(space.len());
        space[..count].copy_from_slice(&bytes[..count]);
        to.read_done(sink, count, now);
        from.write_done(source, count, now);
        moved += count;
    }
}

/// A pair that echoes one text.
pub(super) struct Echoing {
    pair: Pair,
    params: EchoParams,
}

impl Echoing {
    pub(super) fn connected(era: Era, payload: usize) -> Self {
        Self { pair: Pair::connected(era), params: EchoParams::new(payload) }
    }
}

impl RoundTrips for Echoing {
    fn run(&mut self, count: usize) {
        (0..count).for_each(|_| self.pair.round_trip(&self.params));
    }

    fn own_allocations(&self) -> u64 {
        self.pair.tool_allocations
    }
}
