//! Exchanges that ureq makes and that do not go well, with a server that is written by hand. The threads of this process
//! are counted, so the tests take turns.

#![cfg(all(target_os = "linux", feature = "ureq"))]

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_blocking::client::Negotiation;
use windlass_blocking::model::{CallTool, CallToolParams, ProtocolVersion};
use windlass_blocking::ureq::Agent;
use windlass_blocking::{CallError, Challenge, Client, Error, HttpTarget, through_ureq};
use windlass_tests::hand_written::{answer, read_request, respond};
use windlass_tests::watchdog::eventually;

/// Requests that the server makes on one stream.
const PINGS: usize = 5000;

/// Connections that the client may have for its calls.
const CONNECTIONS: usize = 8;

/// What it may have beyond that for answers to the server.
const RESERVE: usize = 8;

/// Far beyond what anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_call_that_is_given_up_ends_its_exchange() {
    let _turn = turn();
    for negotiation in [Negotiation::Automatic, Negotiation::Legacy] {
        let server = HandWritten::start(false);
        let client = Client::builder("guest", "1").negotiation(negotiation).connect(server.target()).unwrap();
        for tool in ["silence", "stall"] {
            let outcome = client.with_idle_timeout(Duration::from_millis(50)).call_tool(tool, json!({}));
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            eventually("the connection is closed", || server.state.hung_up.swap(0, Ordering::SeqCst) == 1);
            eventually("its thread is gone", || exchanges() == 0);
            assert_eq!(client.call_tool("echo", json!({})).unwrap().text_content(), "echo");
        }
        client.close();
    }
}

#[test]
fn a_program_is_asked_for_credentials() {
    let _turn = turn();
    for negotiation in [Negotiation::Automatic, Negotiation::Legacy] {
        let server = HandWritten::start(true);
        let asked = Arc::<AtomicUsize>::default();
        let asking = asked.clone();
        let answer = move |challenge: Challenge| {
            asking.fetch_add(1, Ordering::SeqCst);
            assert_eq!(challenge.failure().www_authenticate, ["Bearer realm=\"tea\""]);
            challenge.answer([("Authorization", "Bearer right")]).unwrap();
        };
        let builder = Client::builder("guest", "1").negotiation(negotiation).on_challenge(answer);
        let client = builder.connect(server.target()).unwrap();
        for _ in 0..3 {
            assert_eq!(client.call_tool("echo", json!({})).unwrap().text_content(), "echo");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        client.close();
    }
}

#[test]
fn a_flood_of_requests_from_the_server_starts_few_threads() {
    let _turn = turn();
    let server = HandWritten::start(false);
    let target = server.target().configure(|http| http.connections = CONNECTIONS);
    let client = Client::builder("guest", "1").negotiation(Negotiation::Legacy).connect(target).unwrap();
    let calling = client.with_idle_timeout(PATIENCE);
    let call = thread::spawn(move || calling.call_tool("flood", json!({})));
    // All pings are on their way, and the answers that were sent are left unanswered.
    let state = &server.state;
    let (mut held, mut since) = (0, Instant::now());
    eventually("no more answers come", || {
        let answers = state.answers.load(Ordering::SeqCst);
        if answers != held {
            (held, since) = (answers, Instant::now());
        }
        held >= CONNECTIONS + RESERVE - 1 && since.elapsed() > Duration::from_millis(200)
    });
    let most = exchanges().max(state.most_exchanges.load(Ordering::SeqCst));
    assert!(most <= CONNECTIONS + RESERVE, "{most} exchanges at a time");
    state.take_answers();
    assert_eq!(call.join().unwrap().unwrap().text_content(), "flood");
    assert_eq!(state.taken.load(Ordering::SeqCst), PINGS);
    client.close();
}

#[test]
fn a_server_that_never_stops_speaking_keeps_nobody_from_the_time() {
    let _turn = turn();
    let server = HandWritten::start(false);
    let client = Client::builder("guest", "1").connect(server.target()).unwrap();
    let started = Instant::now();
    let outcome = client.with_idle_timeout(Duration::from_millis(300)).call_tool("pour", json!({}));
    assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
    assert!(started.elapsed() < PATIENCE / 2, "{:?}", started.elapsed());
    eventually("its thread is gone", || exchanges() == 0);
    client.close();
}

#[test]
fn a_single_call_goes_through_it_as_well() {
    let _turn = turn();
    let server = HandWritten::start(false);
    let params = CallToolParams::new("exchanges");
    let builder = Client::builder("guest", "1");
    let counted = builder.call_once::<CallTool>(server.target(), ProtocolVersion::LATEST, &params).unwrap();
    assert_eq!(counted.text_content(), "1");
}

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads that make requests now.
fn exchanges() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "windlass-ureq").count()
}

/// A server of both eras, written by hand.
struct HandWritten {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    wants_credentials: bool,
    /// Connections that the client closed when it should have waited.
    hung_up: AtomicUsize,
    /// Answers to pings that came.
    answers: AtomicUsize,
    /// Answers to pings that were taken.
    taken: AtomicUsize,
    most_exchanges: AtomicUsize,
    /// Held for as long as answers are not taken.
    gate: Gate,
}

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: std::sync::Condvar,
}

impl HandWritten {
    fn start(wants_credentials: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { wants_credentials, ..State::default() });
        let serving = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = serving.clone();
                thread::spawn(move || state.converse(&stream));
            }
        });
        Self { address, state }
    }

    fn target(&self) -> HttpTarget {
        let target = HttpTarget::new(&format!("http://{}/mcp", self.address)).unwrap();
        through_ureq(target.configure(|http| http.listen = false), Agent::config_builder())
    }
}

impl State {
    fn take_answers(&self) {
        *self.gate.open.lock().unwrap() = true;
        self.gate.opened.notify_all();
    }

    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader)? {
            let message = &request.message;
            if self.wants_credentials && request.header("Authorization") != Some("Bearer right") {
                respond(stream, "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"tea\"\r\n", "no")?;
                continue;
            }
            let id = &message["id"];
            let name = message["params"]["name"].as_str().unwrap_or_default();
            match message["method"].as_str() {
                None => self.take_answer(stream)?,
                Some(_) if id.is_null() => respond(stream, "202 Accepted", "", "")?,
                Some("server/discover") => {
                    answer(stream, id, json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}))?;
                }
                Some("initialize") => {
                    let info = json!({"name": "by hand", "version": "0"});
                    let result =
                        json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
                    answer(stream, id, result)?;
                }
                Some(_) if name == "silence" => return self.wait_for_end(stream),
                Some(_) if name == "stall" => {
                    begin_events(stream)?;
                    return self.wait_for_end(stream);
                }
                Some(_) if name == "flood" => return self.flood(stream, id),
                Some(_) if name == "pour" => return pour(stream),
                Some(_) if name == "exchanges" => answer(stream, id, named(&exchanges().to_string()))?,
                Some(_) => answer(stream, id, named(name))?,
            }
        }
        Ok(())
    }

    fn wait_for_end(&self, mut stream: &TcpStream) -> io::Result<()> {
        // A connection that is reset is over, too.
        let _ = stream.read(&mut [0]);
        self.hung_up.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn flood(&self, mut stream: &TcpStream, id: &Value) -> io::Result<()> {
        begin_events(stream)?;
        for ping in 0..PINGS {
            stream.write_all(event(&json!({"jsonrpc": "2.0", "id": ping, "method": "ping"})).as_bytes())?;
        }
        eventually("all pings are answered", || self.taken.load(Ordering::SeqCst) == PINGS);
        stream.write_all(event(&json!({"jsonrpc": "2.0", "id": id, "result": named("flood")})).as_bytes())
    }

    fn take_answer(&self, stream: &TcpStream) -> io::Result<()> {
        self.most_exchanges.fetch_max(exchanges(), Ordering::SeqCst);
        self.answers.fetch_add(1, Ordering::SeqCst);
        drop(self.gate.opened.wait_while(self.gate.open.lock().unwrap(), |open| !*open).unwrap());
        self.taken.fetch_add(1, Ordering::SeqCst);
        respond(stream, "202 Accepted", "", "")
    }
}

/// Says something as fast as it can, until the client hangs up.
fn pour(mut stream: &TcpStream) -> io::Result<()> {
    begin_events(stream)?;
    let said = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
    let much = event(&said).repeat(500);
    loop {
        stream.write_all(much.as_bytes())?;
    }
}

fn named(name: &str) -> Value {
    json!({"content": [{"type": "text", "text": name}], "resultType": "complete"})
}

/// Begins a stream that ends with its connection.
fn begin_events(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: begins\n\n")
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}
