//! A client and a server, joined by hand.

use serde::{Deserialize, Serialize};
use windlass::client::{CallOptions, ClientConfig, ClientEvent, Negotiation};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallToolResult, Era, Implementation, Tool};
use windlass::server::{Invoked, Registry, Reply, ReplyTo, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};

/// A connected pair whose server has one tool, `echo`.
pub(crate) struct Pair {
    client: StdioClient<()>,
    server: StdioServer<(), ()>,
    streams: Option<(ConnId, ConnId)>,
    params: Echo,
    completed: u64,
}

#[derive(Serialize)]
struct Echo {
    name: &'static str,
    arguments: Text,
}

#[derive(Serialize, Deserialize)]
struct Text {
    text: String,
}

const NOW: Instant = Instant::ZERO;

impl Pair {
    pub(crate) fn connected(era: Era, payload: usize) -> Self {
        let mut config = ClientConfig::new(Implementation::new("bench", "1"));
        config.negotiation = Negotiation::Cached(era);
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("echo"), ());
        let server = ServerConfig::new(Implementation::new("bench", "1"));
        let mut pair = Self {
            client: StdioClient::new(config, NOW),
            server: StdioServer::new(server, registry, &Seed::from_number(1), NOW),
            streams: None,
            params: Echo { name: "echo", arguments: Text { text: "x".repeat(payload) } },
            completed: 0,
        };
        pair.settle();
        assert!(pair.client.peer().is_some_and(|peer| peer.version.era() == era), "the pair has connected");
        pair
    }

    /// One call and its answer.
    pub(crate) fn round_trip(&mut self) {
        let before = self.completed;
        self.client.call_raw("tools/call", &self.params, &CallOptions::new(), (), NOW).expect("there is room");
        self.settle();
        assert_eq!(self.completed, before + 1, "the call has completed");
    }

    /// Moves bytes until nothing moves.
    fn settle(&mut self) {
        loop {
            self.poll_client();
            self.poll_server();
            let Some((client, server)) = self.streams else { continue };
            let sent = carry(&mut self.client, client, &mut self.server, server);
            self.poll_server();
            let answered = carry(&mut self.server, server, &mut self.client, client);
            if !sent && !answered {
                return;
            }
        }
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
                    (reply, arguments.decode().expect("the arguments are a text"))
                }
                Output::Event(_) | Output::Close(_) => continue,
                Output::Idle { .. } => return,
            };
            self.server.respond(reply, Ok(Reply::Tool(CallToolResult::text(text.text))), NOW);
        }
    }
}

/// Moves what one machine has to write into the other; false if that is nothing.
fn carry(from: &mut impl Machine, from_conn: ConnId, to: &mut impl Machine, to_conn: ConnId) -> bool {
    let mut moved = false;
    loop {
        let bytes = from.write_buf(from_conn);
        if bytes.is_empty() {
            return moved;
        }
        let space = to.read_buf(to_conn);
        let count = bytes.len().min(space.len());
        space[..count].copy_from_slice(&bytes[..count]);
        to.read_done(to_conn, count, NOW);
        from.write_done(from_conn, count, NOW);
        moved = true;
    }
}
