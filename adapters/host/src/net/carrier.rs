//! Requests that another HTTP library makes.

use std::sync::Arc;

use windlass::codec::http1::Headers;
use windlass::link::http::{HttpExchanges, HttpRequest};
use windlass::{ConnError, ConnId, Instant};

/// Makes requests of HTTP for a client in place of connections of ours: another HTTP library.
///
/// Nothing here may wait. Redirects are not to be followed, and statuses that are no success are responses like others.
/// Whoever drives the client has to be woken when something has come.
pub trait Carrier: Send {
    /// Begins to make a request.
    fn start(&mut self, exchange: ConnId, request: Arc<HttpRequest>);

    /// Gives one up: its stream is to be closed at once. Whatever still comes of it is ignored.
    fn abort(&mut self, exchange: ConnId);

    /// What has come since, in order for each exchange, with the time at which it came.
    fn next(&mut self) -> Option<(ConnId, Carried, Instant)>;
}

/// What comes of a request.
#[derive(Debug)]
pub enum Carried {
    /// The head of the response. Interim ones (1xx) are not reported.
    Response {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: Headers,
    },
    /// A part of the body, as soon as it is there: a server may speak for hours in one.
    Body(Vec<u8>),
    /// The response is complete.
    End,
    /// The request could not be made, or its response broke off.
    Failed(ConnError),
}

/// How much is taken in before a driver looks after other things: a server may speak faster than anybody listens.
const AT_ONCE: usize = 16;

/// A carrier with its machine's side of the seam.
pub(crate) struct Carriage<M> {
    carrier: Box<dyn Carrier>,
    request: fn(&M, ConnId) -> Option<Arc<HttpRequest>>,
    take: fn(&mut M, ConnId, Carried, Instant),
    /// How much has been taken in since the machine was idle.
    taken: usize,
}

impl<M: HttpExchanges> Carriage<M> {
    pub(crate) fn new(carrier: Box<dyn Carrier>) -> Self {
        Self { carrier, request: M::request, take, taken: 0 }
    }
}

impl<M> Carriage<M> {
    pub(crate) fn start(&mut self, machine: &M, exchange: ConnId) {
        if let Some(request) = (self.request)(machine, exchange) {
            self.carrier.start(exchange, request);
        }
    }

    pub(crate) fn abort(&mut self, exchange: ConnId) {
        self.carrier.abort(exchange);
    }

    /// Hands the machine something that has come. If nothing has, or other things come first, says when to come back.
    pub(crate) fn advance(&mut self, machine: &mut M, now: Instant) -> Result<(), Option<Instant>> {
        let taken = std::mem::take(&mut self.taken);
        if taken == AT_ONCE {
            return Err(Some(now));
        }
        let Some((exchange, carried, at)) = self.carrier.next() else { return Err(None) };
        self.taken = taken + 1;
        // It may have waited while other things happened.
        (self.take)(machine, exchange, carried, now.max(at));
        Ok(())
    }
}

fn take<M: HttpExchanges>(machine: &mut M, exchange: ConnId, carried: Carried, now: Instant) {
    match carried {
        Carried::Response { status, headers } => machine.response(exchange, status, &headers, now),
        Carried::Body(bytes) => machine.body(exchange, &bytes, now),
        Carried::End => machine.read_eof(exchange, now),
        Carried::Failed(why) => machine.conn_failed(exchange, why, now),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass::client::{ClientConfig, ClientEvent, Negotiation};
    use windlass::link::http::HttpClient;
    use windlass::model::Implementation;

    use super::*;
    use crate::hub::{Hub, OnEvent};
    use crate::{Clock, Grace, HttpTarget};

    /// Brings more events for as long as it is asked.
    #[derive(Default)]
    struct Endless {
        exchange: Option<ConnId>,
        brought: u64,
    }

    impl Carrier for Endless {
        fn start(&mut self, exchange: ConnId, request: Arc<HttpRequest>) {
            assert_eq!(request.method, "POST");
            self.exchange = Some(exchange);
        }

        fn abort(&mut self, _: ConnId) {
            self.exchange = None;
        }

        fn next(&mut self) -> Option<(ConnId, Carried, Instant)> {
            let exchange = self.exchange?;
            self.brought += 1;
            let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}}\n\n";
            let headers = Headers::from([("content-type", "text/event-stream")]);
            let carried = match self.brought {
                1 => Carried::Response { status: 200, headers },
                _ => Carried::Body(event.to_vec()),
            };
            Some((exchange, carried, Instant::ZERO))
        }
    }

    #[test]
    fn a_carrier_that_never_stops_leaves_time_for_everything_else() {
        let mut config = ClientConfig::new(Implementation::new("c", "1"));
        config.negotiation = Negotiation::Legacy;
        config.handshake_timeout = Duration::from_millis(30);
        let target = HttpTarget::new("http://server/mcp").unwrap().through(|_, _| Box::new(Endless::default()));
        let clock = Clock::new();
        let machine: HttpClient<u32> = HttpClient::new(config, target.config.clone(), clock.now());
        let wake: crate::net::Wake = Arc::new(|| {});
        let mut hub: Hub<HttpClient<u32>> = Hub::over_http(machine, target, clock, Grace::default(), &wake);
        let closed = std::cell::Cell::new(false);
        let program = OnEvent::new(|event: ClientEvent<'_, u32>| {
            closed.set(closed.get() || matches!(event, ClientEvent::Closed(_)));
        });
        while !closed.get() {
            let interest = hub.turn(&program, &mut Vec::new());
            assert!(closed.get() || interest.deadline.is_some_and(|at| at <= clock.now()), "there is more to take in");
            hub.handle_timeout();
        }
    }
}
