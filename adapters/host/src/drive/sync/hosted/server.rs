//! A server in a loop of the program's own.

use std::io;
use std::sync::Arc;

use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::server::{Registry, ServerConfig};

use super::super::watched_connections::{FAIR_ACCEPTS, WatchedConnections};
use super::{Accept, Hosted};
use crate::drive::Hub;
use crate::net::{HttpListener, SocketConnections};
use crate::{Clock, seed};

impl<T, H: Clone> Hosted<HttpServer<T, H>> {
    /// A server for those who connect to `listener`. Unless `http` says otherwise, one on the loopback interface answers
    /// only to the names of that.
    ///
    /// # Errors
    ///
    /// When the system has no randomness to give.
    pub fn server(
        mut config: ServerConfig,
        http: Option<HttpServerConfig>,
        registry: Registry<H>,
        listener: HttpListener,
        clock: Clock,
    ) -> io::Result<Self> {
        let http = http.unwrap_or_else(|| listener.suitable_config());
        let sockets = http.connections.saturating_add(SocketConnections::LINGERING + FAIR_ACCEPTS + 1);
        config.unix_time_at_origin = clock.unix_time_at_origin();
        let machine = HttpServer::new(config, http, registry, &seed()?, clock.now());
        // A server dials nobody, so nobody has to wake it.
        let hub = Hub::serving_http(machine, clock, Arc::new(|| {}));
        let accept: Accept<HttpServer<T, H>> = |machine, client, now| Some(machine.accept_from(client, now));
        Ok(Self { hub, connections: WatchedConnections::new(Some(listener)), accept, sockets })
    }
}
