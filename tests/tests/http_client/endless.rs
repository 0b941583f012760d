//! Events without an end: the size limit ends them, on every path, long before anybody's time is up.

use std::time::Duration;

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClient, HttpExchanges, HttpOneShot};
use windlass::model::{
    CallTool, CallToolParams, EmptyParams, Ping, ProtocolVersion, RootsListChanged, SubscriptionFilter,
};
use windlass::{Instant, JsonText, Machine, Output};

use crate::talk::{DISCOVERED, Request, Talk, config, http, without_listener};

/// Bytes of a message.
const LIMIT: usize = 1000;

/// More than is skipped, which is twice the limit and some room for names.
const TOO_MUCH: usize = 20_000;

const SAYS: &str = "an event goes on beyond 1000 bytes without an end";

fn limited() -> ClientConfig {
    let mut config = config();
    config.limits.message_bytes = LIMIT;
    config
}

/// Everything that can go on without an end: what comes once, and what comes again and again.
const ENDLESS: [(&str, &str); 7] = [
    ("data: ", "xxxxxxxxxxxxxxxx"),
    ("", "data: x\n"),
    ("", "data\n"),
    ("event: ", "xxxxxxxxxxxxxxxx"),
    ("id: 7\nid: ", "xxxxxxxxxxxxxxxx"),
    ("", "xxxxxxxxxxxxxxxx"),
    ("", "header-less\n"),
];

/// Says more of something than anybody wants to hear, for as long as somebody listens.
#[track_caller]
fn endlessly(talk: &mut Talk, request: &Request, (start, part): (&str, &str)) {
    talk.lines(request, &format!("{start}{part}"));
    let parts = part.repeat(TOO_MUCH / 20);
    for _ in 0..20 {
        if talk.is_open(request.conn) {
            talk.lines(request, &parts);
        }
    }
}

#[track_caller]
fn fails_at_once(talk: &mut Talk, number: u32, request: &Request) {
    assert_eq!(talk.failed(number), format!("the peer broke the protocol: {SAYS}"));
    assert!(!talk.is_open(request.conn), "the connection is given up");
    assert_eq!(talk.now, Instant::ZERO);
}

#[test]
fn an_answer_without_end_is_given_up_in_both_eras() {
    for endless in ENDLESS {
        for mut talk in [
            Talk::modern_with(limited(), http()),
            Talk::legacy_with(limited(), without_listener(), "2025-11-25", Some("s1")),
        ] {
            let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
            let request = talk.request();
            talk.stream(&request);
            endlessly(&mut talk, &request, endless);
            fails_at_once(&mut talk, number, &request);
            talk.close_down();
        }
    }
}

#[test]
fn what_is_merely_too_long_is_skipped() {
    let mut talk = Talk::modern_with(limited(), http());
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let request = talk.request();
    talk.stream(&request);
    let log =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{}"}}}}"#, "x".repeat(2000));
    talk.event(&request, &log);
    talk.tells("! malformed: the message is too long");
    talk.event(&request, &request.result(r#"{"content":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn comments_extend_no_deadline() {
    let mut talk = Talk::modern_with(limited(), http());
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let request = talk.request();
    talk.stream(&request);
    let comments = ": still there\n".repeat(1000);
    for _ in 0..29 {
        talk.lines(&request, &comments);
        talk.lines(&request, "\n");
        talk.pass(Duration::from_secs(1));
    }
    talk.pass(Duration::from_millis(999));
    assert!(!talk.outcomes.contains_key(&number));
    talk.pass(Duration::from_millis(1));
    assert!(talk.failed(number).contains("did not answer within 30s"));
    talk.close_down();
}

#[test]
fn a_stream_that_was_resumed_is_given_up_too() {
    let mut talk = Talk::legacy_with(limited(), without_listener(), "2025-11-25", Some("s1"));
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.stream(&call);
    // Half an event is not glued to what comes later.
    talk.lines(&call, "id: e1\ndata: \n\ndata: half of");
    talk.cut(&call);
    talk.pass(Duration::from_secs(1));
    let get = talk.request();
    assert_eq!(get.header("last-event-id"), Some("e1"));
    talk.stream(&get);
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    talk.tells("! told notifications/tools/list_changed");
    assert_eq!(talk.client.counters().malformed, 0);
    endlessly(&mut talk, &get, ENDLESS[0]);
    assert!(talk.failed(number).contains(SAYS));
    assert!(!talk.is_open(get.conn));
    talk.pass(Duration::from_secs(100));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_listening_stream_whose_event_has_no_end_is_given_up() {
    for endless in ENDLESS {
        let (mut talk, get) = Talk::at_the_listener(limited(), http(), Some("s1"));
        talk.stream(&get);
        talk.announced();
        talk.lines(&get, "id: 3\n");
        endlessly(&mut talk, &get, endless);
        talk.tells(&format!("! malformed: the message is too long: {SAYS}"));
        assert!(!talk.is_open(get.conn));
        // It is opened again, behind what was too long if the server had said what that was.
        talk.pass(Duration::from_secs(1));
        let again = talk.request();
        let expected = if endless.0.starts_with("id") { "7" } else { "3" };
        assert_eq!(again.header("last-event-id"), Some(expected), "{endless:?}");
        talk.stream(&again);
        talk.event(&again, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        talk.tells("! told notifications/tools/list_changed");
        talk.close_down();
    }
}

#[test]
fn a_listening_stream_that_is_never_anything_else() {
    let (mut talk, get) = Talk::at_the_listener(limited(), http(), None);
    talk.stream(&get);
    talk.announced();
    endlessly(&mut talk, &get, ENDLESS[0]);
    for wait in [1, 2, 4, 8, 16] {
        talk.pass(Duration::from_secs(wait));
        let again = talk.request();
        talk.stream(&again);
        endlessly(&mut talk, &again, ENDLESS[0]);
    }
    talk.pass(Duration::from_secs(1000));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_subscription_whose_event_has_no_end_is_given_up() {
    let mut talk = Talk::modern_with(limited(), http());
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    talk.client.listen(filter, &CallOptions::new(), 9, talk.now).unwrap();
    talk.run();
    let listen = talk.request();
    talk.stream(&listen);
    let acknowledged = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}}"#,
        listen.id()
    );
    talk.event(&listen, &acknowledged);
    talk.pass(Duration::from_secs(100));
    assert!(!talk.outcomes.contains_key(&9));
    endlessly(&mut talk, &listen, ENDLESS[6]);
    assert!(talk.failed(9).contains(SAYS));
    assert!(!talk.is_open(listen.conn));
    talk.close_down();
}

fn at_the_oldest() -> (Talk, Request) {
    let (mut talk, get) = Talk::at_the_oldest(limited());
    talk.stream(&get);
    (talk, get)
}

#[test]
fn the_oldest_transport_before_it_is_one() {
    let (mut talk, get) = at_the_oldest();
    endlessly(&mut talk, &get, ("event: endpoint\ndata: /", "xxxxxxxx"));
    talk.tells(&format!(
        "! closed: the server's answer to the handshake is not understood: the peer broke the protocol: {SAYS}"
    ));
    assert_eq!(talk.now, Instant::ZERO);
    talk.nothing_left();
    // Comments get it ten seconds, like silence.
    let (mut talk, get) = at_the_oldest();
    for _ in 0..10 {
        talk.tells("GET");
        assert!(!talk.transcript.contains("! closed"));
        talk.lines(&get, &": wait\n".repeat(1000));
        talk.pass(Duration::from_secs(1));
    }
    talk.tells("! closed: the handshake failed");
    talk.nothing_left();
}

#[test]
fn the_oldest_transport_gives_up_an_event_without_end() {
    let (mut talk, get) = at_the_oldest();
    talk.begins_at_the_oldest(&get, "/messages");
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 202, "");
    endlessly(&mut talk, &get, ENDLESS[1]);
    assert_eq!(talk.failed(number), format!("the connection broke: {SAYS}"));
    assert_eq!(talk.now, Instant::ZERO);
    talk.nothing_left();
}

#[test]
fn what_comes_back_for_a_message_is_not_listened_to_for_long() {
    let (mut talk, get) = at_the_oldest();
    talk.begins_at_the_oldest(&get, "/messages");
    let (number, _) = talk.call_with::<Ping>(
        &EmptyParams::new(),
        &CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO),
    );
    talk.client.notify::<RootsListChanged>(&EmptyParams::new(), talk.now).unwrap();
    talk.run();
    let (ping, notice) = (talk.request(), talk.request());
    for request in [&ping, &notice] {
        talk.stream(request);
        endlessly(&mut talk, request, ENDLESS[0]);
    }
    talk.pass(Duration::from_secs(30));
    assert!(!talk.is_open(ping.conn) && !talk.is_open(notice.conn));
    assert!(!talk.transcript.contains("not delivered"));
    // The request was taken; its answer comes elsewhere.
    assert!(!talk.outcomes.contains_key(&number));
    talk.event(&get, &ping.result("{}"));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn one_call_without_a_handshake_gives_up_an_event_without_end() {
    let params = JsonText::parse(r#"{"name":"now"}"#).unwrap();
    let options = CallOptions::new();
    let call = ("tools/call", &params, &options);
    let mut shot = HttpOneShot::new(limited(), http(), ProtocolVersion::LATEST, call, 7, Instant::ZERO).unwrap();
    let Output::Open { conn, .. } = shot.poll() else { panic!("a connection comes first") };
    shot.write_done(conn, shot.write_buf(conn).len(), Instant::ZERO);
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ".to_vec();
    bytes.resize(TOO_MUCH, b'x');
    let mut said = Vec::new();
    while let Some((count, buffer)) = Some(shot.read_buf(conn)).map(|buffer| (buffer.len().min(bytes.len()), buffer)) {
        if count == 0 {
            break;
        }
        buffer[..count].copy_from_slice(&bytes[..count]);
        bytes.drain(..count);
        shot.read_done(conn, count, Instant::ZERO);
    }
    loop {
        match shot.poll() {
            Output::Idle { .. } => break,
            Output::Event(ClientEvent::Completed { outcome: Err(error), .. }) => said.push(error.to_string()),
            Output::Event(ClientEvent::Closed(_)) => said.push("closed".into()),
            Output::Close(_) => said.push("x".into()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(said, ["x".into(), format!("the peer broke the protocol: {SAYS}"), "closed".into()]);
    assert!(shot.is_idle());
}

#[test]
fn exchanges_of_somebody_elses_give_up_an_event_without_end() {
    let now = Instant::ZERO;
    let mut client: HttpClient<u32> = HttpClient::new(limited(), http(), now).delegating();
    let Output::Open { conn: probe, .. } = client.poll() else { panic!("it begins with a request") };
    client.response(probe, 200, &Headers::from([("content-type", "application/json")]), now);
    client.body(probe, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#).as_bytes(), now);
    client.read_eof(probe, now);
    assert!(matches!(client.poll(), Output::Event(ClientEvent::Ready(_))));
    client.call::<CallTool>(&CallToolParams::new("echo"), &CallOptions::new(), 1, now).unwrap();
    let Output::Open { conn: exchange, .. } = client.poll() else { panic!("a request is to be made") };
    client.response(exchange, 200, &Headers::from([("content-type", "text/event-stream")]), now);
    client.body(exchange, b"data: ", now);
    let mut parts = 0;
    let failed = loop {
        parts += 1;
        assert!(parts < 30, "there is an end to it");
        client.body(exchange, &[b'x'; 1000], now);
        match client.poll() {
            Output::Idle { deadline } => assert_eq!(deadline, Some(now + Duration::from_secs(30))),
            Output::Close(aborted) => assert_eq!(aborted, exchange),
            Output::Event(ClientEvent::Completed { outcome: Err(error), .. }) => break error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(failed, format!("the peer broke the protocol: {SAYS}"));
    assert!(client.is_idle());
}
