//! A connection in a loop of the program's own.

use std::io;

use mio::event::Event;
use mio::{Interest as Readiness, Registry, Token};
use windlass::Machine;
use windlass_host::hub::{Hub, Interest, OnEvent, StreamPair};
use windlass_host::{Clock, Connector, Grace};

#[cfg(feature = "http")]
use crate::network::OnNetwork;
use crate::registration::{deregister, register};

/// How often a stream is read before the rest of the loop gets its turn. A peer that always has more to say would hold it
/// up for ever.
const FAIR_READS: usize = 64;

/// A machine with what it is connected to, for a loop that the program owns.
///
/// Tell it of the events that come, by [`ready`](Self::ready), and call [`drive`](Self::drive) once at the start, when
/// all events of a poll have been told, when the deadline of the last [`Interest`] has passed, and after having called
/// the machine. It registers and deregisters what it has to.
///
/// # A server that is started as a child process, or any other stream
///
/// ```no_run
/// use windlass_mio::client::{CallOptions, ClientConfig, ClientEvent};
/// use windlass_mio::model::{Implementation, ListTools};
/// use windlass_mio::{Clock, Command, Source};
///
/// let clock = Clock::new();
/// let config = ClientConfig::new(Implementation::new("my-loop", "1.0"));
/// let machine = windlass_mio::link::stdio::StdioClient::new(config, clock.now());
/// let mut source = Source::new(machine, clock, Command::new("my-server"), mio::Token(7));
///
/// let mut poll = mio::Poll::new()?;
/// let mut events = mio::Events::with_capacity(64);
/// loop {
///     let mut ready = false;
///     let interest = source.drive(poll.registry(), |event| match event {
///         ClientEvent::Ready(_) => ready = true,
///         ClientEvent::Completed { token, outcome, .. } => println!("call {token}: {outcome:?}"),
///         _ => {}
///     })?;
///     if interest.finished {
///         break;
///     }
///     if ready {
///         let now = clock.now();
///         source.machine().call::<ListTools>(&Default::default(), &CallOptions::new(), 1, now).ok();
///         continue;
///     }
///     poll.poll(&mut events, interest.deadline.map(|deadline| clock.until(deadline)))?;
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # A server over HTTP
///
/// There are many connections then, so the source gets a range of tokens. Names are looked up, addresses tried, proxies
/// used and connections secured as everywhere else, without the loop ever waiting for it.
///
/// ```no_run
/// # #[cfg(feature = "http")]
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use windlass_mio::client::{ClientConfig, ClientEvent};
/// use windlass_mio::link::http::HttpClient;
/// use windlass_mio::model::Implementation;
/// use windlass_mio::{Clock, HttpTarget, Source};
///
/// let clock = Clock::new();
/// let config = ClientConfig::new(Implementation::new("my-loop", "1.0"));
/// let target = HttpTarget::new("https://example.com/mcp")?.with_header("Authorization", "Bearer …")?;
/// let mut source: Source<HttpClient<u64>> = Source::http_client(config, target, clock, 1_000..2_000)?;
///
/// let mut poll = mio::Poll::new()?;
/// let mut events = mio::Events::with_capacity(64);
/// loop {
///     let interest = source.drive(poll.registry(), |event| match event {
///         ClientEvent::Ready(peer) => println!("connected: {}", peer.version),
///         _ => {}
///     })?;
///     if interest.finished {
///         return Ok(());
///     }
///     poll.poll(&mut events, interest.deadline.map(|deadline| clock.until(deadline)))?;
///     for event in &events {
///         if !source.ready(event) {
///             // It is one of the program's own.
///         }
///     }
/// }
/// # }
/// ```
pub struct Source<M> {
    reach: Reach<M>,
}

/// What a machine is connected to.
enum Reach<M> {
    Stream(Box<OnStream<M>>),
    #[cfg(feature = "http")]
    Network(Box<OnNetwork<M>>),
}

impl<M: Machine> Source<M> {
    /// A source that opens its one stream through `connector` and is known to the loop by `token`.
    ///
    /// A machine over HTTP has many: `http_client` and `http_server` make sources for those.
    pub fn new(machine: M, clock: Clock, connector: impl Into<Connector>, token: Token) -> Self {
        let hub = Hub::new(machine, clock, connector.into(), Grace::default());
        Self { reach: Reach::Stream(Box::new(OnStream { hub, token, watched: None })) }
    }

    #[cfg(feature = "http")]
    pub(crate) fn on_network(network: OnNetwork<M>) -> Self {
        Self { reach: Reach::Network(Box::new(network)) }
    }

    /// The machine, to make calls and give answers. Call [`drive`](Self::drive) afterwards.
    pub fn machine(&mut self) -> &mut M {
        match &mut self.reach {
            Reach::Stream(stream) => &mut stream.hub.machine,
            #[cfg(feature = "http")]
            Reach::Network(network) => network.machine(),
        }
    }

    /// Takes in an event of the loop. Returns whether it was for this source: it is to be driven then, best of all when
    /// it has been told of all events that came together.
    pub fn ready(&mut self, event: &Event) -> bool {
        match &mut self.reach {
            Reach::Stream(stream) => event.token() == stream.token,
            #[cfg(feature = "http")]
            Reach::Network(network) => network.ready(event),
        }
    }

    /// Reads and writes all that can be without waiting, and hands events to `on_event`. Returns what to wait for.
    ///
    /// A peer that always has more to say does not hold up the loop: the deadline is then one that has come already.
    ///
    /// # Errors
    ///
    /// When something cannot be registered, or the machine is one that this source cannot serve.
    pub fn drive(&mut self, registry: &Registry, on_event: impl FnMut(M::Event<'_>)) -> io::Result<Interest> {
        match &mut self.reach {
            Reach::Stream(stream) => stream.drive(registry, on_event),
            #[cfg(feature = "http")]
            Reach::Network(network) => network.drive(registry, on_event),
        }
    }
}

/// A machine with its one stream.
struct OnStream<M> {
    hub: Hub<M>,
    token: Token,
    watched: Option<StreamPair>,
}

impl<M: Machine> OnStream<M> {
    fn drive(&mut self, registry: &Registry, on_event: impl FnMut(M::Event<'_>)) -> io::Result<Interest> {
        if self.hub.machine.takes_connections() {
            let why = "this machine serves clients over HTTP, and nobody listens for them: \
                       make its source with `Source::http_server`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let events = OnEvent::new(on_event);
        for _ in 0..FAIR_READS {
            if self.hub.turn(&events, &mut Vec::new()).deadline.is_some_and(|deadline| deadline <= self.hub.now()) {
                self.hub.handle_timeout();
                continue;
            }
            self.watch(registry)?;
            // mio tells of changes only, so everything is read before it is waited for the next one.
            let reading = self.hub.read_available();
            if reading.count == 0 || reading.exhausted {
                let interest = self.hub.turn(&events, &mut Vec::new());
                self.watch(registry)?;
                return Ok(interest);
            }
        }
        let interest = self.hub.turn(&events, &mut Vec::new());
        self.watch(registry)?;
        Ok(Interest { deadline: Some(self.hub.now()), ..interest })
    }

    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        let current = self.hub.stream();
        let conn = |stream: &Option<StreamPair>| stream.as_ref().map(|stream| stream.conn);
        if conn(&current) == conn(&self.watched) {
            return Ok(());
        }
        if let Some(old) = self.watched.take() {
            deregister(registry, &old.input)?;
            deregister(registry, &old.output)?;
        }
        if let Some(new) = &current {
            register(registry, &new.input, self.token, Readiness::READABLE)?;
            register(registry, &new.output, self.token, Readiness::WRITABLE)?;
        }
        self.watched = current;
        Ok(())
    }
}
