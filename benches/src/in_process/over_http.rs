//! A client and a server of ours, joined by hand over HTTP, with many calls in flight.

use windlass::client::{CallOptions, ClientConfig, ClientEvent, Negotiation};
use windlass::link::http::{HttpClient, HttpClientConfig, HttpServer, HttpServerConfig};
use windlass::model::{CallToolResult, Era, Implementation, Tool};
use windlass::server::{Invoked, Registry, Reply, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};

use super::RoundTrips;
use super::engine::{EchoParams, Text, carry};
use crate::allocations;
use crate::calls::IN_FLIGHT;

/// A client that keeps a connection for each of many calls, and its server, which has one tool, `echo`.
pub(super) struct Echoing {
    client: HttpClient<()>,
    server: HttpServer<(), ()>,
    /// The two ends of each connection that is open.
    wires: Vec<(ConnId, ConnId)>,
    params: EchoParams,
    now: Instant,
    completed: usize,
    tool_allocations: u64,
}

impl Echoing {
    pub(super) fn connected(era: Era, payload: usize) -> Self {
        let mut config = ClientConfig::new(Implementation::new("bench", "1"));
        config.negotiation = Negotiation::Cached(era);
        let target = HttpClientConfig::new("http://localhost/mcp").expect("a URL");
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("echo"), ());
        let offer = ServerConfig::new(Implementation::new("bench", "1"));
        let (http, now) = (HttpServerConfig::on_loopback(), Instant::ZERO);
        let mut pair = Self {
            client: HttpClient::new(config, target, now),
            server: HttpServer::new(offer, http, registry, &Seed::from_number(1), now),
            wires: Vec::new(),
            params: EchoParams::new(payload),
            now,
            completed: 0,
            tool_allocations: 0,
        };
        pair.poll_client();
        while pair.exchange() {}
        assert!(pair.client.peer().is_some_and(|peer| peer.version.era() == era), "the pair has connected");
        pair
    }

    /// Moves bytes once each way; false if there were none.
    fn exchange(&mut self) -> bool {
        let mut moved = 0;
        while let Some(conn) = self.client.next_to_move() {
            let Some(&(client, server)) = self.wires.iter().find(|(client, _)| *client == conn) else { continue };
            // A long message is taken in pieces.
            while !self.client.write_buf(client).is_empty() {
                moved += carry(&mut self.client, client, &mut self.server, server, self.now);
                self.poll_server();
            }
        }
        while let Some(conn) = self.server.next_to_move() {
            let Some(&(client, server)) = self.wires.iter().find(|(_, server)| *server == conn) else { continue };
            while !self.server.write_buf(server).is_empty() {
                moved += carry(&mut self.server, server, &mut self.client, client, self.now);
                self.poll_client();
            }
        }
        moved > 0
    }

    fn poll_client(&mut self) {
        loop {
            match self.client.poll() {
                Output::Open { conn, .. } => self.wires.push((conn, self.server.accept(self.now))),
                Output::Close(conn) => self.wires.retain(|(client, _)| *client != conn),
                Output::Event(ClientEvent::Completed { outcome, .. }) => {
                    assert!(outcome.is_ok(), "{outcome:?}");
                    self.completed += 1;
                }
                Output::Event(_) => {}
                Output::Idle { .. } => return,
            }
        }
    }

    fn poll_server(&mut self) {
        loop {
            let (reply, text) = match self.server.poll() {
                Output::Event(ServerEvent::Invoke { reply, invocation, .. }) => {
                    let Invoked::Tool { arguments, .. } = &invocation.request else { unreachable!("only a tool") };
                    let before = allocations::count();
                    let text: Text = arguments.decode().expect("the arguments are a text");
                    self.tool_allocations += allocations::count() - before;
                    (reply, text)
                }
                Output::Idle { .. } => return,
                _ => continue,
            };
            let before = allocations::count();
            let result = CallToolResult::text(text.text);
            self.tool_allocations += allocations::count() - before;
            self.server.respond(reply, Ok(Reply::Tool(result)), self.now);
        }
    }
}

impl RoundTrips for Echoing {
    fn run(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            let wave = left.min(IN_FLIGHT);
            let until = self.completed + wave;
            for _ in 0..wave {
                let call = self.client.call_raw("tools/call", &self.params, &CallOptions::new(), (), self.now);
                call.expect("there is room");
                self.poll_client();
            }
            while self.completed < until {
                assert!(self.exchange(), "the calls are answered");
            }
            left -= wave;
        }
    }

    fn own_allocations(&self) -> u64 {
        self.tool_allocations
    }
}
