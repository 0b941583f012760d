//! Closing a client from outside of whoever waits for it.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::handles::client::ClientCore;
use crate::wait::Lock;

/// Closes the connection of a client from any thread, also while it is still being made: for a program that is told to
/// end, by a signal for one, while it waits for its server.
///
/// Give it to the builder of a client; whoever waits there or for a call then gets the connection's end instead.
///
/// ```no_run
/// use windlass_host::Closer;
///
/// let closer = Closer::new();
/// // … Client::builder("my-program", "1.0").closer(&closer).connect(…)
/// closer.close();
/// ```
#[derive(Clone, Default)]
pub struct Closer {
    state: Arc<Lock<State>>,
}

#[derive(Default)]
struct State {
    /// Whether it was asked for. A client that comes later is closed as it comes.
    wanted: bool,
    clients: Vec<Weak<ClientCore>>,
}

impl Closer {
    /// One that closes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Closes as the clients themselves do: open calls are cancelled on the wire, a session is ended, a child is given
    /// its [`Grace`](crate::Grace). Returns at once; those who wait for the client wait for the end of all that.
    pub fn close(&self) {
        self.state.lock().wanted = true;
        for client in self.clients() {
            client.close();
        }
    }

    /// Closes without any grace: children and all that they have started are killed. Returns when they are gone, or
    /// after a few seconds if the system does not let them go.
    pub fn kill(&self) {
        self.close();
        for client in self.clients() {
            client.kill();
        }
    }

    pub(crate) fn attach(&self, client: &Arc<ClientCore>) {
        let mut state = self.state.lock();
        state.clients.retain(|client| client.strong_count() > 0);
        state.clients.push(Arc::downgrade(client));
        let wanted = state.wanted;
        drop(state);
        if wanted {
            client.close();
        }
    }

    fn clients(&self) -> Vec<Arc<ClientCore>> {
        self.state.lock().clients.iter().filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closer").field("wanted", &self.state.lock().wanted).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::drive::shared::{Driven, WritePolicy};
    use crate::handles::client::ClientSettings;
    use crate::{Command, Grace};

    #[test]
    fn what_nobody_drives_any_more_is_killed_all_the_same() {
        let hour = Duration::from_secs(3_600);
        let closer = Closer::new();
        let mut settings = ClientSettings::new("killer", "1");
        settings.grace = Grace { eof: hour, terminate: hour };
        settings.closer = closer.clone();
        let server = Command::new("sleep").arg("1000");
        let core = ClientCore::new(settings, server.into(), WritePolicy::WriteUnlessDriverWorks, Arc::new(|| ()));
        // It starts the server, and is the last that is done for the client.
        core.turn(&mut Vec::new());
        closer.kill();
        assert!(core.shared().hub.shutdown().is_over());
    }
}
