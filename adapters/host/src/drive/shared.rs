//! A hub that is shared by its driver and by those who call the machine.
//!
//! Whoever changes the machine need not wait for the driver to wake up: it writes what is to be written itself, and
//! wakes the driver only for what nobody else can do. No wake-up is lost by that. The driver says that it waits, and
//! until when, under the lock and at the end of its turn; a change comes either before that turn, which takes it in, or
//! after it, and then whoever makes it sees that the driver waits and looks after the machine in its place.

use std::io;
#[cfg(feature = "http")]
use std::net::IpAddr;
use std::sync::{Arc, MutexGuard};
#[cfg(feature = "http")]
use std::task::Waker;

use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Machine};

use crate::drive::{Hub, Interest, Program, Reading};
#[cfg(feature = "http")]
use crate::io::Pollable;
#[cfg(feature = "http")]
use crate::net::{Readiness, SocketConnection, SocketConnections};
use crate::wait::Lock;

/// A hub with what its driver and the callers have to know of each other.
pub(crate) struct Shared<M: Machine, P: Program<M>> {
    pub(crate) hub: Hub<M>,
    /// What came up while somebody else than the driver looked after the machine. The driver does it, in order.
    left: Vec<P::Action>,
    driver: Attention,
    /// Whether much happens at once, so that it pays to leave writing to the driver, which writes all together.
    batching: bool,
    /// How many changes wait for the driver's turn to be written.
    unwritten: usize,
    write_policy: WritePolicy,
}

/// How many messages are written together at most. With fewer, more time goes into writing; with more, the peer has
/// nothing to do meanwhile.
const TOGETHER: usize = 16;

/// What the driver is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attention {
    /// It will take a turn before it waits.
    Working,
    /// It waits for the stream, and until then.
    Waiting { until: Option<Instant> },
}

/// Who writes on a runtime, callers or the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritePolicy {
    /// When batching, the driver is woken, once, and writes for all. Where it runs among the callers that costs little.
    LeaveBatchesToDriver,
    /// Callers write themselves whenever the driver waits.
    #[cfg(feature = "client")]
    WriteUnlessDriverWorks,
    /// Callers always write themselves: the driver may be at work for a while.
    #[cfg(feature = "server")]
    AlwaysWrite,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) interest: Interest,
    /// How much there was to do. If there was anything, the machine may have more to say, and is not waited for yet.
    pub(crate) acted: usize,
}

impl<M: Machine, P: Program<M>> Shared<M, P> {
    pub(crate) fn new(hub: Hub<M>, write_policy: WritePolicy) -> Lock<Self> {
        let driver = Attention::Working;
        Lock::new(Self { hub, left: Vec::new(), driver, batching: false, unwritten: 0, write_policy })
    }

    /// The driver's turn: lets the machine do all it can.
    pub(crate) fn turn(&mut self, program: &P, actions: &mut Vec<P::Action>) -> Interest {
        actions.append(&mut self.left);
        let interest = self.hub.turn(program, actions);
        self.unwritten = 0;
        if actions.is_empty() {
            self.driver = Attention::Waiting { until: interest.deadline };
        } else {
            self.driver = Attention::Working;
            self.batching = actions.len() > 1;
        }
        interest
    }

    /// The driver reads. From then on it works, and the events of what came are its to tell, in order.
    pub(crate) fn read(&mut self) -> Reading {
        let reading = self.hub.read_available();
        if reading.count > 0 {
            self.driver = Attention::Working;
        }
        reading
    }

    /// The same on one of many connections.
    #[cfg(feature = "http")]
    pub(crate) fn read_connection(&mut self, conn: ConnId) -> Reading {
        let reading = self.hub.read_connection(conn);
        // Only whoever has read something takes a turn; otherwise nobody works.
        if reading.count > 0 {
            self.driver = Attention::Working;
        }
        reading
    }

    /// After a change of the machine by somebody else than its driver. Returns whether the driver has to be woken.
    pub(crate) fn changed(&mut self, program: &P) -> bool {
        let Attention::Waiting { until } = self.driver else {
            match self.write_policy {
                #[cfg(feature = "server")]
                // Not only to write: a machine that has too much to write has to notice.
                WritePolicy::AlwaysWrite => _ = self.hub.look(program, &mut self.left),
                _ => self.changed_before_turn(),
            }
            return false;
        };
        if !(self.batching && self.write_policy == WritePolicy::LeaveBatchesToDriver) {
            let looked = self.hub.look(program, &mut self.left);
            // A second change before the driver's next turn begins a batch.
            self.batching = true;
            let is_earlier = |deadline: Option<Instant>| match (deadline, until) {
                (Some(deadline), Some(until)) => deadline < until,
                (deadline, None) => deadline.is_some(),
                (None, Some(_)) => false,
            };
            // A new connection is nobody's until the driver knows of it.
            #[cfg(feature = "http")]
            let watched = !self.hub.connections.as_ref().is_some_and(|connections| connections.has_unwatched());
            #[cfg(not(feature = "http"))]
            let watched = true;
            let is_quiet = |it: Interest| !it.write && !it.finished && !is_earlier(it.deadline);
            if watched && self.left.is_empty() && looked.is_some_and(is_quiet) {
                return false;
            }
        }
        self.driver = Attention::Working;
        self.unwritten = 1;
        true
    }

    /// The driver is gone: everything is over, and what is left to do is done by whoever finds out.
    pub(crate) fn abandon(&mut self, why: &ConnError, program: &P, actions: &mut Vec<P::Action>) {
        actions.append(&mut self.left);
        self.hub.abandon(why, program, actions);
        self.driver = Attention::Working;
    }

    /// After a change while the driver works, which will take its turn soon.
    pub(crate) fn changed_before_turn(&mut self) {
        self.unwritten += 1;
        if self.unwritten >= TOGETHER {
            self.hub.flush();
            self.unwritten = 0;
        }
    }
}

/// Whoever has a hold of a hub: a driver shares it with callers, a loop of the program's own has it for itself.
pub(crate) trait HasHub {
    /// The machine.
    type Machine: Machine;

    /// Does something with the hub.
    fn with_hub<V>(&self, act: impl FnOnce(&mut Hub<Self::Machine>) -> V) -> V;

    /// The stream failed in the runtime's hands.
    fn conn_failed(&self, conn: ConnId, error: &io::Error) {
        let error = ConnError::new(ConnErrorKind::Broken, error.to_string());
        self.with_hub(|hub| hub.conn_failed(conn, error));
    }

    /// A client has connected.
    #[cfg(feature = "http")]
    fn accept(&self, connection: SocketConnection) {
        self.with_hub(|hub| {
            let now = hub.now();
            let conn = self.accepted(&mut hub.machine, connection.client(), now);
            if let (Some(conn), Some(connections)) = (conn, &mut hub.connections) {
                connections.insert(conn, connection);
            }
        });
    }

    /// What the machine calls the connection of a client; `None` if it takes none.
    #[cfg(feature = "http")]
    fn accepted(&self, _: &mut Self::Machine, _client: Option<IpAddr>, _: Instant) -> Option<ConnId> {
        None
    }

    /// The connections whose sockets the driver does not know.
    #[cfg(feature = "http")]
    fn take_unwatched(&self) -> Vec<ConnId> {
        self.with_hub(|hub| hub.connections.as_mut().map(SocketConnections::take_unwatched).unwrap_or_default())
    }

    /// What to wait for on a connection; `None` if it is gone.
    #[cfg(feature = "http")]
    fn connection_interest(&self, conn: ConnId, mover: Option<&Waker>) -> Option<(Option<Pollable>, Readiness)> {
        self.with_hub(|hub| hub.connections.as_mut()?.interest(&mut hub.machine, conn, mover))
    }

    /// Reads on a connection.
    #[cfg(feature = "http")]
    fn read_connection(&self, conn: ConnId) -> Reading {
        self.with_hub(|hub| hub.read_connection(conn))
    }

    /// Writes on a connection; `WouldBlock` if that is not all.
    #[cfg(feature = "http")]
    fn write_connection(&self, conn: ConnId) -> io::Result<()> {
        self.with_hub(|hub| match &mut hub.connections {
            Some(connections) => connections.write(&mut hub.machine, conn),
            None => Ok(()),
        })
    }
}

/// What a driver drives: a machine with its program.
pub(crate) trait Driven: HasHub + Program<<Self as HasHub>::Machine> + Send + Sync + Sized + 'static {
    /// What it shares with its callers.
    fn shared(&self) -> MutexGuard<'_, Shared<Self::Machine, Self>>;

    /// Makes the driver look again.
    fn wake_driver(&self);

    /// The driver is gone before the connection was over. Whoever waits for the machine waits no longer.
    fn abandon(self: &Arc<Self>);

    /// Lets the machine do all it can.
    fn turn(&self, actions: &mut Vec<Self::Action>) -> Interest {
        self.shared().turn(self, actions)
    }

    /// Changes something about the machine from outside of its driver.
    fn change<V>(&self, change: impl FnOnce(&mut Self::Machine, Instant) -> V) -> V {
        let mut shared = self.shared();
        let now = shared.hub.now();
        let value = change(&mut shared.hub.machine, now);
        let wake = shared.changed(self);
        drop(shared);
        if wake {
            self.wake_driver();
        }
        value
    }

    /// Reads what there is.
    fn read(&self) -> Reading {
        self.shared().read()
    }

    /// Whether the machine has connections of its own, rather than one stream.
    #[cfg(feature = "http")]
    fn is_on_network(&self) -> bool {
        self.with_hub(|hub| hub.connections.is_some())
    }

    /// Whether there are connections whose sockets the driver does not know.
    #[cfg(feature = "http")]
    fn has_unwatched(&self) -> bool {
        self.with_hub(|hub| hub.connections.as_ref().is_some_and(SocketConnections::has_unwatched))
    }
}

/// Something driven, with whoever does what its program wants done.
pub(crate) trait Turned: Send + Sync + 'static {
    /// What is driven.
    type Core: Driven;

    fn core(&self) -> &Arc<Self::Core>;

    /// Does something that the program wants done.
    fn perform(&self, action: <Self::Core as Program<<Self::Core as HasHub>::Machine>>::Action);

    /// Lets the machine do all it can, and does what it wants done.
    fn turn(&self) -> Turn {
        let mut actions = Vec::new();
        let interest = self.core().turn(&mut actions);
        let acted = actions.len();
        actions.into_iter().for_each(|action| self.perform(action));
        Turn { interest, acted }
    }
}

/// Sees to it that nobody waits for a machine which is not driven any more: its runtime was shut down, or its driver has
/// panicked. The driver keeps it for as long as it drives.
pub(crate) struct Driving<D: Driven>(Option<Arc<D>>);

impl<D: Driven> Driving<D> {
    pub(crate) fn new(driven: Arc<D>) -> Self {
        Self(Some(driven))
    }

    /// The connection is over, or somebody else drives it on.
    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl<D: Driven> Drop for Driving<D> {
    fn drop(&mut self) {
        if let Some(driven) = self.0.take() {
            driven.abandon();
        }
    }
}

/// What is told of a connection whose driver is gone.
pub(crate) fn driver_gone() -> ConnError {
    let detail = "nobody drives it any more, because the runtime that did has ended; connect anew on one that runs";
    ConnError::new(ConnErrorKind::Broken, detail)
}
