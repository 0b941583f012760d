//! The same over HTTP: clients and servers in a loop of the program's own, and those of other runtimes at the other end.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use serde_json::json;
use windlass::client::{ClientConfig, ClientEvent};
use windlass::link::http::{HttpClient, HttpServer, HttpServerConfig};
use windlass::link::stdio::StdioClient;
use windlass::model::{CallToolResult, Implementation, Tool};
use windlass::server::{Invocation, Invoked, Registry, ServerConfig, ServerEvent};
use windlass::{CloseReason, Seed};
use windlass_adapter_tests::by_hand::modern_call;
use windlass_host::{Clock, DialOptions, Endpoint, HttpListener, HttpTarget};
use windlass_mio::Source;
use windlass_tests::watchdog::within_deadline;

use super::{conversation, wait_for};
use crate::certificates::Authority;
use crate::http_party::{HttpParty, hear, hear_to_end, send};
use crate::peers::PARTIES;

/// What the program has for itself.
const OWN: Token = Token(0);

/// More than the most connections that a server has unless it is told otherwise.
const TOKENS: std::ops::Range<usize> = 10..100_000;

fn client(target: HttpTarget) -> (Source<HttpClient<u64>>, Clock) {
    let clock = Clock::new();
    let config = ClientConfig::new(Implementation::new("loop", "1.0"));
    (Source::http_client(config, target, clock, TOKENS).unwrap(), clock)
}

/// Makes many calls, closes when all are answered, and returns how that ended.
fn converse(target: HttpTarget, text: &str) -> CloseReason {
    let (mut source, clock) = client(target);
    conversation!(source, clock, text)
}

/// A server that echoes, in a loop on a thread of its own.
struct Served {
    url: String,
    waker: Arc<Waker>,
    looping: JoinHandle<CloseReason>,
}

impl Served {
    fn start(listener: HttpListener) -> Self {
        Self::start_with(listener, None)
    }

    fn start_with(listener: HttpListener, http: Option<HttpServerConfig>) -> Self {
        let (url, clock) = (listener.url("/mcp"), Clock::new());
        let mut registry = Registry::new();
        registry.add_tool(Tool::new("echo", json!({"type": "object"})), ());
        let config = ServerConfig::new(Implementation::new("loop", "1.0"));
        let mut source: Source<HttpServer<(), ()>> =
            Source::http_server(config, http, registry, listener, clock, TOKENS).unwrap();
        let mut poll = Poll::new().unwrap();
        // A loop can have one waker, and that is the program's.
        let waker = Arc::new(Waker::new(poll.registry(), OWN).unwrap());
        let looping = thread::spawn(move || {
            // So few that one poll is seldom all.
            let mut events = Events::with_capacity(4);
            let mut closed = None;
            loop {
                let mut answers = Vec::new();
                let interest = source.drive(poll.registry(), |event| match event {
                    ServerEvent::Invoke { reply, invocation, .. } => answers.push((reply, echo(&invocation))),
                    ServerEvent::Closed(reason) => closed = Some(reason),
                    _ => {}
                });
                let interest = interest.unwrap();
                if interest.finished {
                    return closed.unwrap();
                }
                if answers.is_empty() {
                    wait_for(&mut poll, &mut events, interest.deadline.map(|deadline| clock.until(deadline)));
                    for event in &events {
                        if !source.ready(event) {
                            assert_eq!(event.token(), OWN);
                            source.machine().close(clock.now());
                        }
                    }
                }
                for (reply, answer) in answers {
                    source.machine().respond(reply, Ok(answer.into()), clock.now());
                }
            }
        });
        Self { url, waker, looping }
    }

    fn dial(&self) -> TcpStream {
        let address = self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn close(self) -> CloseReason {
        self.waker.wake().unwrap();
        self.looping.join().unwrap()
    }
}

fn echo(invocation: &Invocation) -> CallToolResult {
    let Invoked::Tool { arguments, .. } = &invocation.request else { panic!("only a tool is offered") };
    let arguments: serde_json::Value = serde_json::from_str(arguments.as_str()).unwrap();
    CallToolResult::text(arguments["text"].as_str().unwrap())
}

#[test]
fn a_client_in_a_loop_talks_to_every_server() {
    within_deadline(|| {
        for party in PARTIES {
            for mode in ["json", "events"] {
                let server = HttpParty::start(party, mode);
                let target = || HttpTarget::new(server.url()).unwrap();
                assert_eq!(converse(target(), "short"), CloseReason::Requested);
                assert_eq!(converse(target(), &"long".repeat(10_000)), CloseReason::Requested);
            }
        }
    });
}

#[test]
fn a_client_in_a_loop_talks_over_tls() {
    within_deadline(|| {
        let authority = Authority::new();
        let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server(&["localhost"]));
        let port = listener.local_addr().unwrap().port();
        let echo = Tool::new("echo", json!({"type": "object"}));
        let server = windlass_blocking::Server::builder("secured", "1.0")
            .tool(echo, |_, text: serde_json::Value| Ok(text["text"].as_str().unwrap_or_default().to_owned()))
            .start_http(listener)
            .unwrap();
        for text in ["short", &"long".repeat(50_000)] {
            // Whom to trust is read on another thread, which has to wake the loop.
            let target = HttpTarget::new(&format!("https://localhost:{port}/mcp")).unwrap();
            let target = target.dial(DialOptions::new().tls(authority.trusted()));
            assert_eq!(converse(target, text), CloseReason::Requested);
        }
        let stranger = HttpTarget::new(&format!("https://localhost:{port}/mcp")).unwrap();
        let why = converse(stranger.dial(DialOptions::new().tls(Authority::new().trusted())), "").to_string();
        assert!(why.contains("UnknownIssuer"), "{why}");
        server.close().unwrap();
    });
}

#[test]
fn a_client_in_a_loop_is_told_that_nobody_is_there() {
    within_deadline(|| {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let why = converse(HttpTarget::new(&format!("http://{nobody}/mcp")).unwrap(), "").to_string();
        assert!(why.contains(&nobody.to_string()) && why.contains("refused"), "{why}");
        let why = converse(HttpTarget::new("http://nobody.invalid/mcp").unwrap(), "").to_string();
        assert!(why.contains("the name was not found"), "{why}");
    });
}

/// Calls from as many tasks as there are numbers, and closes.
macro_rules! calls_of_futures {
    ($adapter:ident, $target:expr) => {{
        let target = $target;
        $adapter::run(async {
            let client = $adapter::Client::connect(target).await.unwrap();
            for number in 0..20 {
                let text = format!("{number} {}", "x".repeat(number * 5_000));
                let echoed = client.call_tool("echo", json!({ "text": text })).await.unwrap();
                assert!(echoed.text_content() == text);
            }
            client.close().await;
        });
    }};
}

/// The same where calls wait.
macro_rules! calls_of_threads {
    ($adapter:ident, $target:expr) => {{
        let client = $adapter::Client::connect($target).unwrap();
        thread::scope(|scope| {
            for number in 0..20 {
                let client = &client;
                scope.spawn(move || {
                    let text = format!("{number} {}", "x".repeat(number * 5_000));
                    let echoed = client.call_tool("echo", json!({ "text": text })).unwrap();
                    assert!(echoed.text_content() == text);
                });
            }
        });
        client.close();
    }};
}

#[test]
fn clients_of_every_runtime_talk_to_a_server_in_a_loop() {
    within_deadline(|| {
        let server = Served::start(HttpListener::bind("127.0.0.1:0").unwrap());
        let target = || HttpTarget::new(&server.url).unwrap();
        calls_of_futures!(windlass_tokio, target());
        calls_of_futures!(windlass_smol, target());
        calls_of_futures!(windlass_async_std, target());
        calls_of_threads!(windlass_blocking, target());
        calls_of_threads!(windlass_mio, target());
        assert_eq!(server.close(), CloseReason::Requested);
    });
}

#[test]
fn clients_talk_to_a_server_in_a_loop_over_tls() {
    within_deadline(|| {
        let authority = Authority::new();
        let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server(&["127.0.0.1"]));
        let server = Served::start(listener);
        let dial = DialOptions::new().tls(authority.trusted());
        let target = || HttpTarget::new(&server.url).unwrap().dial(dial.clone());
        calls_of_futures!(windlass_tokio, target());
        calls_of_threads!(windlass_blocking, target());
        assert_eq!(converse(target(), "in another loop"), CloseReason::Requested);
        assert_eq!(server.close(), CloseReason::Requested);
    });
}

#[test]
fn many_connections_to_a_server_in_a_loop() {
    within_deadline(|| {
        let server = Served::start(HttpListener::bind("127.0.0.1:0").unwrap());
        let streams: Vec<_> = (0..500).map(|_| server.dial()).collect();
        for round in 0..3 {
            for (number, stream) in streams.iter().enumerate() {
                send(stream, &modern_call("echo", &format!(r#"{{"text":"{round} to {number}"}}"#)));
            }
            for (number, stream) in streams.iter().enumerate() {
                hear(stream, &format!("{round} to {number}\""));
            }
        }
        // Half of them leave, others come, and those who stay are served.
        let mut streams = streams;
        streams.truncate(250);
        streams.extend((0..250).map(|_| server.dial()));
        for (number, stream) in streams.iter().enumerate() {
            send(stream, &modern_call("echo", &format!(r#"{{"text":"again to {number}"}}"#)));
            hear(stream, &format!("again to {number}\""));
        }
        assert_eq!(server.close(), CloseReason::Requested);
    });
}

#[test]
fn those_who_half_close_are_answered_by_a_server_in_a_loop() {
    within_deadline(|| {
        let server = Served::start(HttpListener::bind("127.0.0.1:0").unwrap());
        let streams: Vec<_> = (0..50).map(|_| server.dial()).collect();
        let text = "x".repeat(300_000);
        for stream in &streams {
            send(stream, &modern_call("echo", &format!(r#"{{"text":"{text}"}}"#)));
            stream.shutdown(Shutdown::Write).unwrap();
        }
        for stream in &streams {
            let heard = hear_to_end(stream);
            assert!(heard.starts_with("HTTP/1.1 200 OK\r\n") && heard.contains(&text), "{} bytes", heard.len());
        }
        assert_eq!(server.close(), CloseReason::Requested);
    });
}

#[test]
fn a_server_in_a_loop_closes() {
    within_deadline(|| {
        let server = Served::start(HttpListener::bind("127.0.0.1:0").unwrap());
        let (used, silent) = (server.dial(), server.dial());
        send(&used, &modern_call("echo", r#"{"text":"before"}"#));
        hear(&used, "before");
        let address = silent.peer_addr().unwrap();
        assert_eq!(server.close(), CloseReason::Requested);
        assert_eq!((hear_to_end(&used), hear_to_end(&silent)), (String::new(), String::new()));
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    });
}

#[test]
fn too_many_clients_leave_room_for_others() {
    within_deadline(|| {
        let mut http = HttpServerConfig::on_loopback();
        http.connections = 2;
        let server = Served::start_with(HttpListener::bind("127.0.0.1:0").unwrap(), Some(http));
        let crowd: Vec<_> = (0..500).map(|_| server.dial()).collect();
        let late = server.dial();
        send(&late, &modern_call("echo", r#"{"text":"late"}"#));
        hear(&late, "late");
        for early in &crowd[..498] {
            assert_eq!(hear_to_end(early), "");
        }
        assert_eq!(server.close(), CloseReason::Requested);
    });
}

/// A connection from another address of this machine's. Only Linux has those without being asked.
#[cfg(target_os = "linux")]
fn dial_from_elsewhere(to: std::net::SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let stream = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&stream, &std::net::SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
    connect(&stream, &to).unwrap();
    let stream = TcpStream::from(stream);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

#[cfg(target_os = "linux")]
#[test]
fn those_who_take_up_the_most_make_room_first() {
    within_deadline(|| {
        let mut http = HttpServerConfig::on_loopback();
        http.connections = 4;
        let server = Served::start_with(HttpListener::bind("127.0.0.1:0").unwrap(), Some(http));
        let other = dial_from_elsewhere(server.dial().peer_addr().unwrap());
        send(&other, &modern_call("echo", r#"{"text":"before"}"#));
        hear(&other, "before");
        let _crowd: Vec<_> = (0..100).map(|_| server.dial()).collect();
        let late = server.dial();
        send(&late, &modern_call("echo", r#"{"text":"late"}"#));
        hear(&late, "late");
        send(&other, &modern_call("echo", r#"{"text":"after"}"#));
        hear(&other, "after");
        assert_eq!(server.close(), CloseReason::Requested);
    });
}

/// What a client is told before any time has passed.
fn told_at_once<M>(mut source: Source<M>) -> String
where
    M: for<'a> windlass::Machine<Event<'a> = ClientEvent<'a, u64>> + 'static,
{
    let poll = Poll::new().unwrap();
    let mut closed = None;
    let interest = source.drive(poll.registry(), |event| {
        if let ClientEvent::Closed(reason) = event {
            closed = Some(reason.to_string());
        }
    });
    assert!(interest.unwrap().finished);
    closed.unwrap()
}

#[test]
fn a_machine_that_a_source_cannot_serve_is_refused_at_once() {
    let (clock, token) = (Clock::new(), Token(1));
    let target = HttpTarget::new("http://127.0.0.1:1/mcp").unwrap();
    let config = || ClientConfig::new(Implementation::new("loop", "1.0"));

    let http = windlass::link::http::HttpClientConfig::new(target.url()).unwrap();
    for connector in [windlass_host::Connector::from(target.clone()), windlass_host::Command::new("true").into()] {
        let machine: HttpClient<u64> = HttpClient::new(config(), http.clone(), clock.now());
        let why = told_at_once(Source::new(machine, clock, connector, token));
        assert!(why.contains("make its source with `Source::http_client`"), "{why}");
    }

    let machine: StdioClient<u64> = StdioClient::new(config(), clock.now());
    let why = told_at_once(Source::new(machine, clock, target.clone(), token));
    assert!(why.contains("make a source that does with `Source::http_client`"), "{why}");

    let serving = ServerConfig::new(Implementation::new("loop", "1.0"));
    let http = HttpServerConfig::on_loopback();
    let seed = Seed::from_number(1);
    let machine: HttpServer<(), ()> = HttpServer::new(serving.clone(), http, Registry::new(), &seed, clock.now());
    let (_peer, ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut source = Source::new(machine, clock, Endpoint::try_from(ours).unwrap(), token);
    let why = source.drive(Poll::new().unwrap().registry(), |_| {}).unwrap_err().to_string();
    assert!(why.contains("`Source::http_server`"), "{why}");

    let why = Source::<HttpClient<u64>>::http_client(config(), target, clock, 5..10).err().unwrap().to_string();
    assert!(why.contains("5 tokens are too few: 81 are needed"), "{why}");
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let source = Source::<HttpServer<(), ()>>::http_server(serving, None, Registry::new(), listener, clock, 5..10);
    let why = source.err().unwrap().to_string();
    assert!(why.contains("5 tokens are too few") && why.contains("allow fewer `connections`"), "{why}");
}
