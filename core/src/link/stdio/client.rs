//! The client's end of the stream.

use super::super::line_stream::{Incoming, LineStream, StreamControl};
use crate::buffer::ReadBuffer;
use crate::client::{Client, ClientConfig, ClientEvent};
use crate::error::CloseReason;
use crate::json::Json;
use crate::machine::{Machine, Output, Sealed, Target};
use crate::observer::Observation;
use crate::rpc::{LinkKind, LinkedRole};
use crate::time::{Instant, earliest};

/// An MCP client on one byte stream. `T` is the token that goes in with a call and comes back with its completion.
///
/// The machine asks for its stream by [`Output::Open`]. A legacy server that exits when it is probed for the modern
/// era gets a second stream, so an adapter must be able to open its peer more than once.
///
/// ```
/// use windlass::client::{ClientConfig, ClientEvent};
/// use windlass::link::stdio::StdioClient;
/// use windlass::model::Implementation;
/// use windlass::{Instant, Machine, Output};
///
/// let now = Instant::ZERO;
/// let mut client: StdioClient<u32> = StdioClient::new(ClientConfig::new(Implementation::new("doc", "1")), now);
/// let Output::Open { conn, .. } = client.poll() else { panic!("the first thing is a stream") };
/// assert!(client.write_buf(conn).starts_with(br#"{"jsonrpc":"2.0","id":1,"method":"server/discover""#));
/// ```
pub struct StdioClient<T> {
    client: Client<T>,
    stream: LineStream,
    now: Instant,
    /// Whether the server is being tried a second time, as a legacy one.
    second: bool,
    reported_closed: bool,
    /// What the last event borrows from.
    borrowed: Option<Json>,
}

impl<T> StdioClient<T> {
    /// A client that begins to negotiate as soon as its stream is open.
    pub fn new(config: ClientConfig, now: Instant) -> Self {
        Self {
            stream: LineStream::new(&config.limits),
            client: Client::new(config, LinkKind::Stream),
            now,
            second: false,
            reported_closed: false,
            borrowed: None,
        }
    }

    client_methods!();

    /// The role, to do something at a time.
    pub(crate) fn at(&mut self, now: Instant) -> &mut Client<T> {
        self.now = now;
        &mut self.client
    }

    pub(crate) fn role(&self) -> &Client<T> {
        &self.client
    }

    /// Whether nothing is open: no call, no request, no timer, no byte to write.
    pub fn is_idle(&self) -> bool {
        self.client.is_idle() && self.client.outbox().len() == 0
    }
}

impl<T> Sealed for StdioClient<T> {}

impl<T> Machine for StdioClient<T> {
    type Event<'a>
        = ClientEvent<'a, T>
    where
        Self: 'a;

    moves_bytes!(client);

    fn is_over(&self) -> bool {
        self.reported_closed
    }

    fn poll(&mut self) -> Output<ClientEvent<'_, T>> {
        let Self { client, stream: LineStream { inbox, reader, life }, now, second, reported_closed, borrowed } = self;
        let (inbox, now): (&ReadBuffer, Instant) = (inbox, *now);
        *borrowed = None;
        client.close_if_unread();
        let event = loop {
            if client.closed().is_some() {
                life.close(now);
            }
            match life.control(client.outbox()) {
                Some(StreamControl::Open(conn)) => {
                    match *second {
                        false => client.start(now),
                        true => client.restart_as_legacy(now),
                    }
                    client.observe(|| Observation::Opened(conn));
                    return Output::Open { conn, target: Target::Peer };
                }
                Some(StreamControl::Close(conn)) => {
                    client.observe(|| Observation::Closed(conn));
                    return Output::Close(conn);
                }
                None => {}
            }
            if let Some(event) = client.next_event() {
                break event.hold(|json| borrowed.insert(json).as_text());
            }
            let batches = client.peer().is_some_and(|peer| peer.version.allows_batches());
            let incoming = if life.is_open() { reader.next(inbox, client.limits(), batches) } else { None };
            match incoming {
                Some(Incoming::Message(message, bytes)) => {
                    client.observe_incoming(&message, bytes);
                    if let Some(event) = client.handle(message, now) {
                        break event;
                    }
                }
                Some(Incoming::Malformed(malformed)) => client.malformed(malformed, now),
                Some(Incoming::End) => {
                    if client.stream_ended(CloseReason::PeerClosed) {
                        // A legacy server that exits on the probe is started again and initialised.
                        *second = true;
                        reader.restart(inbox, client.limits());
                        life.reopen();
                    }
                }
                None => {
                    return match client.closed() {
                        Some(reason) if life.is_closed() && !*reported_closed => {
                            *reported_closed = true;
                            Output::Event(ClientEvent::Closed(reason.clone()))
                        }
                        _ => Output::Idle { deadline: earliest(life.deadline(), client.deadline()) },
                    };
                }
            }
        };
        match event.for_program(client) {
            Some(event) => Output::Event(event),
            // The call that it was for is over by now.
            None => Output::Idle { deadline: Some(now) },
        }
    }
}
