//! The connections of a client or a server over HTTP, in a loop of the program's own.

use std::io;
use std::ops::Range;
use std::time::Duration;

use mio::event::Event;
use mio::{Interest as Readiness, Registry, Token};
use windlass::Machine;
#[cfg(feature = "client")]
use windlass::{client::ClientConfig, link::http::HttpClient};
#[cfg(feature = "server")]
use windlass::{
    link::http::{HttpServer, HttpServerConfig},
    server::ServerConfig,
};
use windlass_host::Clock;
#[cfg(feature = "server")]
use windlass_host::HttpListener;
#[cfg(feature = "client")]
use windlass_host::HttpTarget;
use windlass_host::hub::Interest;
use windlass_host::io::{Pollable, Rung};
use windlass_host::sync::{Direction, Hosted, Ready, Watch};

use crate::Source;
use crate::registration::register;
use crate::sockets::Sockets;

#[cfg(feature = "client")]
impl<T> Source<HttpClient<T>> {
    /// A client of the server at `target`. All of `tokens` are the source's; there has to be one for each connection, of
    /// which a client has [64 or so](windlass::link::http::HttpClientConfig::connections) at most.
    ///
    /// # Errors
    ///
    /// When there are too few tokens, or the system is out of descriptors.
    pub fn http_client(
        config: ClientConfig,
        target: HttpTarget,
        clock: Clock,
        tokens: Range<usize>,
    ) -> io::Result<Self> {
        let (bell, rung) = windlass_host::io::Bell::new()?;
        let hosted = Hosted::client(config, target, clock, move || bell.ring());
        Ok(Self::on_network(OnNetwork::new(hosted, Some(rung), tokens)?))
    }
}

#[cfg(feature = "server")]
impl<T, H: Clone> Source<HttpServer<T, H>> {
    /// A server for those who connect to `listener`, with what is in the registry. Unless `http` says otherwise, one on
    /// the loopback interface answers only to the names of this machine, as the ready-made one.
    ///
    /// All of `tokens` are the source's; there have to be a few hundred more than there may be
    /// [connections](HttpServerConfig::connections), for those that are being closed.
    ///
    /// ```no_run
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use windlass_mio::link::http::HttpServer;
    /// use windlass_mio::model::{CallToolResult, Implementation, Tool};
    /// use windlass_mio::server::{Registry, ServerConfig, ServerEvent};
    /// use windlass_mio::{Clock, HttpListener, Source};
    ///
    /// let clock = Clock::new();
    /// let mut registry = Registry::new();
    /// registry.add_tool(Tool::without_arguments("hello"), "hello");
    /// let config = ServerConfig::new(Implementation::new("greeter", "1.0"));
    /// let listener = HttpListener::bind("127.0.0.1:8080")?;
    /// let mut source: Source<HttpServer<(), &str>> =
    ///     Source::http_server(config, None, registry, listener, clock, 1_000..100_000)?;
    ///
    /// let mut poll = mio::Poll::new()?;
    /// let mut events = mio::Events::with_capacity(64);
    /// loop {
    ///     let mut answers = Vec::new();
    ///     let interest = source.drive(poll.registry(), |event| match event {
    ///         ServerEvent::Invoke { reply, handler, .. } => answers.push((reply, CallToolResult::text(handler))),
    ///         _ => {}
    ///     })?;
    ///     if interest.finished {
    ///         return Ok(());
    ///     }
    ///     if answers.is_empty() {
    ///         poll.poll(&mut events, interest.deadline.map(|deadline| clock.until(deadline)))?;
    ///         events.iter().for_each(|event| drop(source.ready(event)));
    ///     }
    ///     for (reply, answer) in answers {
    ///         source.machine().respond(reply, Ok(answer.into()), clock.now());
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When there are too few tokens, or the system has no randomness to give.
    pub fn http_server(
        config: ServerConfig,
        http: Option<HttpServerConfig>,
        registry: windlass::server::Registry<H>,
        listener: HttpListener,
        clock: Clock,
        tokens: Range<usize>,
    ) -> io::Result<Self> {
        let hosted = Hosted::server(config, http, registry, listener, clock)?;
        Ok(Self::on_network(OnNetwork::new(hosted, None, tokens)?))
    }
}

/// A machine with its connections.
pub(crate) struct OnNetwork<M> {
    hosted: Hosted<M>,
    sockets: Sockets,
    bell: Option<Bell>,
}

/// What wakes the loop from another thread. A `Waker` of mio's may be the program's own, and a loop can have but one.
struct Bell {
    rung: Rung,
    token: Token,
    is_registered: bool,
    has_rung: bool,
}

impl<M: Machine> OnNetwork<M> {
    fn new(hosted: Hosted<M>, rung: Option<Rung>, tokens: Range<usize>) -> io::Result<Self> {
        let needed = hosted.most_sockets().saturating_add(usize::from(rung.is_some()));
        if tokens.len() < needed {
            let given = tokens.len();
            let why = format!(
                "{given} tokens are too few: {needed} are needed for as many connections as the configuration of HTTP \
                 allows; give the source a longer range, or allow fewer `connections`"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let first = tokens.start;
        let bell = rung.map(|rung| Bell { rung, token: Token(first), is_registered: false, has_rung: false });
        let sockets = Sockets::new(first + usize::from(bell.is_some())..tokens.end);
        Ok(Self { hosted, sockets, bell })
    }

    pub(crate) fn machine(&mut self) -> &mut M {
        self.hosted.machine()
    }

    pub(crate) fn ready(&mut self, event: &Event) -> bool {
        match &mut self.bell {
            Some(bell) if bell.token == event.token() => {
                bell.has_rung = true;
                true
            }
            _ => {
                self.sockets.note(event);
                self.sockets.owns(event.token())
            }
        }
    }

    pub(crate) fn drive(&mut self, registry: &Registry, on_event: impl FnMut(M::Event<'_>)) -> io::Result<Interest> {
        if let Some(bell) = &mut self.bell {
            bell.listen(registry)?;
        }
        self.hosted.drive(&mut InLoop { registry, sockets: &mut self.sockets }, on_event)
    }
}

impl Bell {
    fn listen(&mut self, registry: &Registry) -> io::Result<()> {
        if !self.is_registered {
            register(registry, self.rung.pollable(), self.token, Readiness::READABLE)?;
            self.is_registered = true;
        }
        if std::mem::take(&mut self.has_rung) {
            self.rung.hush();
        }
        Ok(())
    }
}

/// The sockets and where they are registered. It does not wait: the loop has done so.
struct InLoop<'a> {
    registry: &'a Registry,
    sockets: &'a mut Sockets,
}

impl Watch for InLoop<'_> {
    fn watch_socket(&mut self, number: u64, socket: Option<&Pollable>) -> io::Result<()> {
        self.sockets.watch(self.registry, number, socket)
    }

    fn wait_for_sockets(
        &mut self,
        wanted: &mut dyn FnMut(u64) -> Ready,
        _: Option<Duration>,
        ready: &mut Vec<(u64, Ready)>,
    ) -> io::Result<()> {
        self.sockets.collect(wanted, ready);
        Ok(())
    }

    fn socket_exhausted(&mut self, number: u64, direction: Direction) {
        self.sockets.exhausted(number, direction);
    }
}
