//! A connection in a loop of the program's own.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Interest as Readiness, Registry, Token};
use windlass::{ConnId, Machine};
use windlass_host::hub::{Hub, Interest, Program};
use windlass_host::{Clock, Connector, Grace};

/// A machine with its stream, for a loop that the program owns.
///
/// Call [`drive`](Self::drive) once at the start, whenever an event with the source's token has come, when the deadline
/// of the last [`Interest`] has passed, and after having called the machine.
///
/// ```no_run
/// use windlass_mio::client::{CallOptions, ClientConfig, ClientEvent};
/// use windlass_mio::model::{Implementation, ListTools};
/// use windlass_mio::{Command, Source};
///
/// let clock = windlass_host::Clock::new();
/// let config = ClientConfig::new(Implementation::new("my-loop", "1.0"));
/// let machine = windlass::link::stdio::StdioClient::new(config, clock.now());
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
pub struct Source<M> {
    hub: Hub<M>,
    token: Token,
    watched: Option<(ConnId, Arc<OwnedFd>, Arc<OwnedFd>)>,
}

impl<M: Machine> Source<M> {
    /// A source that opens its stream through `connector` and is known to the loop by `token`.
    pub fn new(machine: M, clock: Clock, connector: impl Into<Connector>, token: Token) -> Self {
        Self { hub: Hub::new(machine, clock, connector.into(), Grace::default()), token, watched: None }
    }

    /// The machine, to make calls and give answers. Call [`drive`](Self::drive) afterwards.
    pub fn machine(&mut self) -> &mut M {
        &mut self.hub.machine
    }

    /// Reads and writes all that can be without waiting, and hands events to `on_event`. Returns what to wait for.
    ///
    /// # Errors
    ///
    /// When the stream cannot be registered.
    pub fn drive(&mut self, registry: &Registry, on_event: impl FnMut(M::Event<'_>)) -> io::Result<Interest> {
        let events = OnEvent(RefCell::new(on_event));
        loop {
            if self.hub.turn(&events, &mut Vec::new()).deadline.is_some_and(|deadline| deadline <= self.hub.now()) {
                self.hub.handle_timeout();
                continue;
            }
            self.watch(registry)?;
            // mio tells of changes only, so everything is read before it is waited for the next one.
            if self.hub.stream().is_none() || self.hub.read().is_err() {
                let interest = self.hub.turn(&events, &mut Vec::new());
                self.watch(registry)?;
                return Ok(interest);
            }
        }
    }

    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        let current = self.hub.stream().map(|(conn, input, output)| (conn, input.clone(), output.clone()));
        let conn = |stream: &Option<(ConnId, Arc<OwnedFd>, Arc<OwnedFd>)>| stream.as_ref().map(|(conn, ..)| *conn);
        if conn(&current) == conn(&self.watched) {
            return Ok(());
        }
        if let Some((_, input, output)) = self.watched.take() {
            registry.deregister(&mut SourceFd(&input.as_raw_fd()))?;
            registry.deregister(&mut SourceFd(&output.as_raw_fd()))?;
        }
        if let Some((_, input, output)) = &current {
            registry.register(&mut SourceFd(&input.as_raw_fd()), self.token, Readiness::READABLE)?;
            registry.register(&mut SourceFd(&output.as_raw_fd()), self.token, Readiness::WRITABLE)?;
        }
        self.watched = current;
        Ok(())
    }
}

/// Hands every event on.
struct OnEvent<F>(RefCell<F>);

impl<M: Machine, F: FnMut(M::Event<'_>)> Program<M> for OnEvent<F> {
    type Action = ();

    fn take(&self, event: M::Event<'_>, _: &mut Vec<()>) {
        (self.0.borrow_mut())(event);
    }
}
