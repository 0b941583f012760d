//! The exchange seam: a program that makes requests of HTTP by its own means.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use windlass::client::{CallOptions, ClientEvent};
use windlass::codec::http1::Headers;
use windlass::link::http::{Carried, Carrier, ExchangeId, ExchangeOutput, Exchanges, HttpClient, HttpRequest};
use windlass::model::{CallTool, CallToolParams};
use windlass::{ConnError, ConnErrorKind, Instant, Machine, Output};

use crate::talk::{DISCOVERED, config, http};

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
    let mut client = Exchanges::new(config(), http(), Instant::ZERO);
    let probe = started(&mut client);
    answer(&mut client, probe, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#), Instant::ZERO);
    assert!(said(&mut client).starts_with("Ready"));
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
        for part in result.as_bytes().chunks(7) {
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
    let mut client: HttpClient<u32> = HttpClient::through(Box::new(carrier), config(), http(), Instant::ZERO);
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
