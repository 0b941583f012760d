//! The exchange seam: a program that makes requests of HTTP by its own means.

use std::collections::VecDeque;
use std::time::Duration;

use windlass::client::{CallOptions, ClientEvent, Negotiation};
use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges};
use windlass::model::{CallTool, CallToolParams};
use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Machine, Output, Target};

use crate::talk::{DISCOVERED, config, http, initialize_result};

fn said(client: &mut HttpClient<u32>) -> String {
    match client.poll() {
        Output::Open { conn, target } => {
            assert_eq!(target, Target::Exchange);
            client.request(conn).map(|request| format!("{} {}", request.method, request.url)).expect("it is to be made")
        }
        Output::Close(_) => "abort".into(),
        Output::Event(ClientEvent::Completed { outcome, .. }) => format!("{outcome:?}"),
        Output::Event(event) => format!("{event:?}"),
        Output::Idle { deadline } => format!("idle until {deadline:?}"),
    }
}

fn started(client: &mut HttpClient<u32>) -> ConnId {
    let Output::Open { conn: exchange, .. } = client.poll() else { panic!("a request is to be made") };
    exchange
}

fn answer(client: &mut HttpClient<u32>, exchange: ConnId, body: &str, now: Instant) {
    client.response(exchange, 200, &Headers::from([("content-type", "application/json")]), now);
    client.body(exchange, body.as_bytes(), now);
    client.read_eof(exchange, now);
}

fn ready() -> HttpClient<u32> {
    ready_with(http())
}

fn ready_with(http: HttpClientConfig) -> HttpClient<u32> {
    let mut client = HttpClient::new(config(), http, Instant::ZERO).delegating();
    let probe = started(&mut client);
    answer(&mut client, probe, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#), Instant::ZERO);
    assert!(said(&mut client).starts_with("Ready"));
    assert_eq!(said(&mut client), "idle until None");
    client
}

fn ready_in_the_legacy_era(mut http: HttpClientConfig) -> HttpClient<u32> {
    http.listen = false;
    let mut config = config();
    config.negotiation = Negotiation::Legacy;
    let mut client = HttpClient::new(config, http, Instant::ZERO).delegating();
    let initialize = started(&mut client);
    let result = initialize_result("2025-11-25");
    answer(&mut client, initialize, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#), Instant::ZERO);
    let announcement = started(&mut client);
    assert!(said(&mut client).starts_with("Ready"));
    client.response(announcement, 202, &Headers::new(), Instant::ZERO);
    client.read_eof(announcement, Instant::ZERO);
    assert_eq!(said(&mut client), "idle until None");
    client
}

fn call(client: &mut HttpClient<u32>, now: Instant) -> ConnId {
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
    client.conn_failed(exchange, ConnError::new(ConnErrorKind::Broken, "late"), late);
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
        while let Output::Open { conn: exchange, .. } = client.poll() {
            answers.push_back(exchange);
        }
    }
    // The limit and the reserve, without the call itself.
    assert_eq!(answers.len(), 9);
    // Each that is taken makes room for one that waits, and none is forgotten.
    let mut taken = 0;
    while let Some(exchange) = answers.pop_front() {
        client.response(exchange, 202, &Headers::new(), now);
        client.read_eof(exchange, now);
        taken += 1;
        while let Output::Open { conn: exchange, .. } = client.poll() {
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
    let mut client = HttpClient::new(config, http, now).delegating();
    let initialize = started(&mut client);
    let result = initialize_result("2025-11-25");
    answer(&mut client, initialize, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#), now);
    let listener = started(&mut client);
    client.response(listener, 200, &Headers::from([("content-type", "text/event-stream")]), now);
    let announcement = started(&mut client);
    client.response(announcement, 202, &Headers::new(), now);
    client.read_eof(announcement, now);
    assert!(said(&mut client).starts_with("Ready"));
    let call = call(&mut client, now);
    answer(&mut client, call, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#, now);
    assert_eq!(said(&mut client), r#"Ok({"content":[]})"#);
}
