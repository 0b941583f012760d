//! What a thread does that waits for a machine's stream, whoever it is.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "http")]
use super::watched_connections::WatchedConnections;
use super::{Direction, Drive, Ready};
use crate::Clock;
use crate::drive::shared::Driven;
use crate::drive::{Hub, Interest};
#[cfg(all(feature = "server", feature = "http"))]
use crate::net::HttpListener;
use crate::wait::Lock;

/// A machine with its way to wait.
pub(crate) struct Post<D: Drive, M: Driven> {
    pub(crate) driven: Arc<M>,
    drive: Lock<D>,
    clock: Clock,
    /// The connections of a machine that has many.
    #[cfg(feature = "http")]
    connections: Option<Lock<WatchedConnections>>,
}

impl<D: Drive, M: Driven> Post<D, M> {
    pub(crate) fn new(drive: D, driven: Arc<M>) -> Self {
        let clock = driven.with_hub(|hub| hub.clock());
        #[cfg(feature = "http")]
        let connections = driven.is_on_network().then(Lock::default);
        Self {
            driven,
            drive: Lock::new(drive),
            clock,
            #[cfg(feature = "http")]
            connections,
        }
    }

    /// The same, where clients come in.
    #[cfg(all(feature = "server", feature = "http"))]
    pub(crate) fn listening(drive: D, driven: Arc<M>, listener: HttpListener) -> Self {
        Self { connections: Some(Lock::new(WatchedConnections::new(Some(listener)))), ..Self::new(drive, driven) }
    }

    /// Waits for what the machine is interested in, but no longer than this, and does it.
    pub(crate) fn attend(&self, interest: Interest, at_most: Option<Duration>) {
        #[cfg(feature = "http")]
        if let Some(connections) = &self.connections {
            let until_deadline = interest.deadline.map(|deadline| self.clock.until(deadline));
            let at_most = until_deadline.into_iter().chain(at_most).min();
            let mut connections = connections.lock();
            if connections.attend(&mut *self.drive.lock(), &*self.driven, interest.listen, at_most).is_err() {
                // There is nobody to tell, and nothing to do but to try again, though not at once.
                std::thread::sleep(Duration::from_millis(10));
            }
            return self.look_at_clock(interest);
        }
        let stream = self.driven.with_hub(|hub| hub.stream());
        let until_deadline = interest.deadline.map(|deadline| self.clock.until(deadline));
        let at_most = until_deadline.into_iter().chain(at_most).min();
        let wanted = Ready { read: interest.read, write: interest.write };
        let mut drive = self.drive.lock();
        match (drive.wait(stream.as_ref(), wanted, at_most), stream) {
            (Ok(ready), _) => {
                if ready.write && self.driven.with_hub(Hub::flush_or_block).is_err() {
                    drive.exhausted(Direction::Write);
                }
                if ready.read && self.driven.read().exhausted {
                    drive.exhausted(Direction::Read);
                }
            }
            (Err(error), Some(stream)) => {
                self.driven.conn_failed(stream.conn, &error);
            }
            (Err(_), None) => {}
        }
        drop(drive);
        self.look_at_clock(interest);
    }

    /// Lets go of connections that the machine has closed.
    #[cfg(feature = "client")]
    pub(crate) fn let_go(&self) {
        #[cfg(feature = "http")]
        if let Some(connections) = self.connections.as_ref().filter(|_| self.driven.has_unwatched()) {
            // What cannot be watched now is found out when it is to be waited for.
            let _ = connections.lock().watch(&mut *self.drive.lock(), &*self.driven);
        }
    }

    fn look_at_clock(&self, interest: Interest) {
        if interest.deadline.is_some_and(|deadline| deadline <= self.clock.now()) {
            self.driven.with_hub(Hub::handle_timeout);
        }
    }

    /// The connection is over.
    pub(crate) fn forget(&self) {
        #[cfg(feature = "http")]
        if let Some(connections) = &self.connections {
            connections.lock().forget(&mut *self.drive.lock());
        }
        self.drive.lock().forget();
    }
}
