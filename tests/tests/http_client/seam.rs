//! The exchange seam: a program that makes requests of HTTP by its own means.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use windlass::client::{CallOptions, ClientEvent, Negotiation};
use windlass::codec::http1::Headers;
use windlass::link::http::{
    Carried, Carrier, ExchangeId, ExchangeOutput, Exchanges, HttpClient, HttpClientConfig, HttpRequest,
};
use windlass::model::{CallTool, CallToolParams};
use windlass::{ConnError, ConnErrorKind, Instant, Machine, Output};

use crate::talk::{DISCOVERED, config, http, initialize_result};

fn said(client: &mut Exchanges<u32>) -> String {
    match client.poll() {
        ExchangeOutput::Start { request, .. } => format!("{} {}", request.method, request.url),
        ExchangeOutput::Abort(_) => "abort".into(),
        ExchangeOutput::Event(ClientEvent::Completed { outcome, .. }) => format!("{outcome:?}"),
        ExchangeOutput::Event(event) => format!("{event:?}"),
        ExchangeOutput::Idle { deadline } => format!("idle until {deadline:?}"),
    }
}

fn started(client: &mut Exchanges<u32>) -> ExchangeId {
    let ExchangeOutput::Start { exchange, .. } = client.poll() else { panic!("a request is to be made") };
    exchange
}

fn answer(client: &mut Exchanges<u32>, exchange: ExchangeId, body: &str, now: Instant) {
    client.response(exchange, 200, &Headers::from([("content-type", "application/json")]), now);
    client.body(exchange, body.as_bytes(), now);
    client.end(exchange, now);
}

fn ready() -> Exchanges<u32> {
    ready_with(http())
}

fn ready_with(http: HttpClientConfig) -> Exchanges<u32> {
    let mut client = Exchanges::new(config(), http, Instant::ZERO);
    let probe = started(&mut client);
    answer(&mut client, probe, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#), Instant::ZERO);
    assert!(said(&mut client).starts_with("Ready"));
    assert_eq!(said(&mut client), "idle until None");
    client
}

fn ready_in_the_legacy_era(mut http: HttpClientConfig) -> Exchanges<u32> {
    http.listen = false;
    let mut config = config();
    config.negotiation = Negotiation::Legacy;
    let mut client = Exchanges::new(config, http, Instant::ZERO);
    let initialize = started(&mut client);
    let result = initialize_result("2025-11-25");
    answer(&mut client, initialize, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#), Instant::ZERO);
    let announcement = started(&mut client);
    assert!(said(&mut client).starts_with("Ready"));
    client.response(announcement, 202, &Headers::new(), Instant::ZERO);
    client.end(announcement, Instant::ZERO);
    assert_eq!(said(&mut client), "idle until None");
    client
}

fn call(client: &mut Exchanges<u32>, now: Instant) -> ExchangeId {
    client.call::<CallTool>(&CallToolParams::new("echo"), &CallOptions::new(), 1, now).unwrap();
    started(client)
}

#[test]
fn calls_come_and_go() {
    let mut client = ready();
    let exchange = call(&mut client, Instant::ZERO);
    assert_eq!(said(&mut client), "idle until Some(30s)");
    answer(&mut client, exchange, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#, Instant::ZERO);
    assert_eq!(said(&mut client), r#"Ok({"content":[]})"#);
    assert_eq!(said(&mut client), "idle until None");
    assert!(client.is_idle());
    client.close(Instant::ZERO);
    assert_eq!(said(&mut client), "Closed(Requested)");
    assert_eq!(said(&mut client), "idle until None");
}

#[test]
fn what_comes_too_late_or_twice_is_ignored() {
    let mut client = ready();
    let exchange = call(&mut client, Instant::ZERO);
    let late = Instant::ZERO + Duration::from_secs(30);
    client.handle_timeout(late);
    assert_eq!(said(&mut client), "abort");
    assert_eq!(said(&mut client), "Err(TimedOut { after: 30s })");
    answer(&mut client, exchange, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, late);
    client.failed(exchange, ConnError::new(ConnErrorKind::Broken, "late"), late);
    assert_eq!(said(&mut client), "idle until None");

    let exchange = call(&mut client, late);
    answer(&mut client, exchange, r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#, late);
    answer(&mut client, exchange, r#"{"jsonrpc":"2.0","id":3,"result":{"content":[1]}}"#, late);
    assert_eq!(said(&mut client), r#"Ok({"content":[]})"#);
    assert_eq!(said(&mut client), "idle until None");
    assert!(client.is_idle());
}

#[test]
fn a_call_that_is_cancelled_before_its_request_was_made() {
    let mut client = ready();
    let call = client.call::<CallTool>(&CallToolParams::new("x"), &CallOptions::new(), 1, Instant::ZERO).unwrap();
    client.cancel(call, "", Instant::ZERO);
    // There is nothing to make and nothing to abort.
    assert_eq!(said(&mut client), "Err(Cancelled)");
    assert_eq!(said(&mut client), "idle until None");
    assert!(client.is_idle());
}

#[test]
fn a_server_that_asks_much_and_takes_no_answers_is_given_few_at_a_time() {
    let mut http = http();
    http.connections = 2;
    let mut client = ready_in_the_legacy_era(http);
    let now = Instant::ZERO;
    let exchange = call(&mut client, now);
    client.response(exchange, 200, &Headers::from([("content-type", "text/event-stream")]), now);
    let mut answers = VecDeque::new();
    for ping in 0..1000 {
        let event = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{ping},\"method\":\"ping\"}}\n\n");
        client.body(exchange, event.as_bytes(), now);
        while let ExchangeOutput::Start { exchange, .. } = client.poll() {
            answers.push_back(exchange);
        }
    }
    // The limit and the reserve, without the call itself.
    assert_eq!(answers.len(), 9);
    // Each that is taken makes room for one that waits, and none is forgotten.
    let mut taken = 0;
    while let Some(exchange) = answers.pop_front() {
        client.response(exchange, 202, &Headers::new(), now);
        client.end(exchange, now);
        taken += 1;
        while let ExchangeOutput::Start { exchange, .. } = client.poll() {
            answers.push_back(exchange);
        }
        assert!(answers.len() <= 9);
    }
    assert_eq!(taken, 1000);
}

#[test]
fn calls_wait_for_their_turn() {
    let mut http = http();
    http.connections = 1;
    let mut client = ready_with(http);
    let now = Instant::ZERO;
    let first = call(&mut client, now);
    client.call::<CallTool>(&CallToolParams::new("echo"), &CallOptions::new(), 2, now).unwrap();
    let third = client.call::<CallTool>(&CallToolParams::new("echo"), &CallOptions::new(), 3, now).unwrap();
    assert_eq!(said(&mut client), "idle until Some(30s)");
    // One that was not made is not aborted.
    client.cancel(third, "", now);
    assert_eq!(said(&mut client), "Err(Cancelled)");
    answer(&mut client, first, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#, now);
    let second = started(&mut client);
    assert_eq!(said(&mut client), r#"Ok({"content":[]})"#);
    answer(&mut client, second, r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#, now);
    assert_eq!(said(&mut client), r#"Ok({"content":[]})"#);
    assert_eq!(said(&mut client), "idle until None");
    assert!(client.is_idle());
}

#[test]
fn listening_takes_no_turn_from_the_calls() {
    let (mut http, mut config, now) = (http(), config(), Instant::ZERO);
    http.connections = 1;
    config.negotiation = Negotiation::Legacy;
    let mut client = Exchanges::new(config, http, now);
    let initialize = started(&mut client);
    let result = initialize_result("2025-11-25");
    answer(&mut client, initialize, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#), now);
    let listener = started(&mut client);
    client.response(listener, 200, &Headers::from([("content-type", "text/event-stream")]), now);
    let announcement = started(&mut client);
    client.response(announcement, 202, &Headers::new(), now);
    client.end(announcement, now);
    assert!(said(&mut client).starts_with("Ready"));
    let call = call(&mut client, now);
    answer(&mut client, call, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#, now);
    assert_eq!(said(&mut client), r#"Ok({"content":[]})"#);
}

/// Answers every request at once with what is due.
struct Obliging {
    due: VecDeque<&'static str>,
    news: VecDeque<(ExchangeId, Carried, Instant)>,
}

impl Carrier for Obliging {
    fn start(&mut self, exchange: ExchangeId, request: Arc<HttpRequest>) {
        assert_eq!(request.method, "POST");
        let Some(result) = self.due.pop_front() else { return };
        let headers = Headers::from([("content-type", "application/json")]);
        let at = Instant::ZERO;
        self.news.push_back((exchange, Carried::Response { status: 200, headers }, at));
        for part in result.as_bytes().chunks(32) {
            self.news.push_back((exchange, Carried::Body(part.to_vec()), at));
        }
        self.news.push_back((exchange, Carried::End, at));
    }

    fn abort(&mut self, exchange: ExchangeId) {
        let at = Instant::ZERO;
        // Whatever still comes is ignored.
        self.news.push_back((exchange, Carried::Failed(ConnError::new(ConnErrorKind::Broken, "given up")), at));
    }

    fn next(&mut self) -> Option<(ExchangeId, Carried, Instant)> {
        self.news.pop_front()
    }
}

#[test]
fn a_carrier_makes_requests_in_place_of_connections() {
    let discovered: &str = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#).leak();
    let due = [discovered, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#].into();
    let carrier = Obliging { due, news: VecDeque::new() };
    let mut client: HttpClient<u32> = HttpClient::new(config(), http(), Instant::ZERO).through(Box::new(carrier));
    assert!(matches!(client.poll(), Output::Event(ClientEvent::Ready(_))));
    assert!(matches!(client.poll(), Output::Idle { deadline: None }));

    client.call::<CallTool>(&CallToolParams::new("echo"), &CallOptions::new(), 7, Instant::ZERO).unwrap();
    assert!(matches!(client.poll(), Output::Event(ClientEvent::Completed { token: 7, outcome: Ok(_), .. })));

    client.call::<CallTool>(&CallToolParams::new("echo"), &CallOptions::new(), 8, Instant::ZERO).unwrap();
    let Output::Idle { deadline: Some(deadline) } = client.poll() else { panic!("nobody answers this one") };
    client.handle_timeout(deadline);
    let late = client.poll();
    assert!(matches!(late, Output::Event(ClientEvent::Completed { token: 8, outcome: Err(_), .. })), "{late:?}");
    assert!(matches!(client.poll(), Output::Idle { deadline: None }));
    assert!(client.is_idle());

    client.close(deadline);
    assert!(matches!(client.poll(), Output::Event(ClientEvent::Closed(_))));
    assert!(matches!(client.poll(), Output::Idle { deadline: None }));
    assert!(client.is_over());
}

/// Tells of more events, for as long as it is asked.
struct Endless {
    exchange: Option<ExchangeId>,
    told: u64,
}

impl Carrier for Endless {
    fn start(&mut self, exchange: ExchangeId, _: Arc<HttpRequest>) {
        self.exchange = Some(exchange);
    }

    fn abort(&mut self, _: ExchangeId) {
        self.exchange = None;
    }

    fn next(&mut self) -> Option<(ExchangeId, Carried, Instant)> {
        let exchange = self.exchange?;
        self.told += 1;
        let headers = Headers::from([("content-type", "text/event-stream")]);
        let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}}\n\n";
        let news = match self.told {
            1 => Carried::Response { status: 200, headers },
            _ => Carried::Body(event.to_vec()),
        };
        Some((exchange, news, Instant::ZERO))
    }
}

#[test]
fn a_carrier_that_never_stops_leaves_time_for_everything_else() {
    let carrier = Endless { exchange: None, told: 0 };
    let mut config = config();
    config.negotiation = Negotiation::Legacy;
    let handshake = config.handshake_timeout;
    let mut client: HttpClient<u32> = HttpClient::new(config, http(), Instant::ZERO).through(Box::new(carrier));
    for second in 0..handshake.as_secs() {
        let idle = (0..1000).find_map(|_| match client.poll() {
            Output::Idle { deadline } => Some(deadline),
            Output::Event(ClientEvent::Closed(why)) => panic!("{why} after {second} s"),
            _ => None,
        });
        let now = Instant::ZERO + Duration::from_secs(second);
        assert!(idle.expect("it comes to rest").is_some_and(|deadline| deadline <= now), "there is more to take in");
        client.handle_timeout(now);
    }
    client.handle_timeout(Instant::ZERO + handshake);
    let closed = (0..1000).any(|_| matches!(client.poll(), Output::Event(ClientEvent::Closed(_))));
    assert!(closed, "the time for the handshake is up");
}
