//! A client in a loop of the program's own.

use std::sync::Arc;

use windlass::client::ClientConfig;
use windlass::link::http::HttpClient;

use super::super::watched_connections::WatchedConnections;
use super::Hosted;
use crate::drive::Hub;
use crate::net::HttpTarget;
use crate::{Clock, Grace};

/// Connections of a client beyond those that its configuration counts: the stream on which a server speaks unasked, and
/// messages that calls may wait for.
const UNCOUNTED: usize = 16;

impl<T> Hosted<HttpClient<T>> {
    /// A client. `wake` is called, from any thread, when [`drive`](Hosted::drive) is to be: a name was looked up.
    pub fn client(
        config: ClientConfig,
        target: HttpTarget,
        clock: Clock,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let machine = HttpClient::new(config, target.config.clone(), clock.now());
        let sockets = target.config.connections.saturating_add(UNCOUNTED);
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
        let hub = Hub::over_http(machine, target, clock, Grace::default(), &wake);
        Self { hub, connections: WatchedConnections::new(None), accept: |_, _, _| None, sockets }
    }
}
