//! The text of the programs `party_*`. What is measured of a whole process needs one of its own.
//!
//! - `serve` serves standard input and output; `serve_measured` tells on standard error at the end how many kilobytes
//!   of memory that took at most.
//! - `serve_here` does so on its main thread from the start, and offers less.
//! - `idle PROGRAM ARGS…` connects to a server and waits for a call that is never answered; prints how many
//!   milliseconds of processor time that took.
//! - `leave PROGRAM ARGS…` connects to a peer that stops reading and hangs up; prints the same.
//! - `forget PROGRAM ARGS…` connects to a server, tells what it says on standard error, and ends without closing.
//! - `cycle PROGRAM ARGS…` connects and closes many times; prints how many descriptors are left open.
//! - `endure PROGRAM ARGS…` calls a peer that pours out more than anybody wants to hear; prints what became of the
//!   call, what else was heard, and how many kilobytes of memory that took at most.
//! - `swarm CALLS PROGRAM ARGS…` makes that many calls from many callers at once; prints how many milliseconds that
//!   took.
//! - `serve_http MODE` serves HTTP on a port of its own, which it prints, until its standard input ends. Answers are
//!   `json` or `events`; an `impatient` server waits for nobody, a `patient` one for everybody, so that no timer of its
//!   own moves it on, one that wants to be `read` waits for no reader, and a `narrow` one keeps little for those who do not
//!   read.
//! - `listeners NUMBER` starts such a server, has that many clients listen to it, each on a connection of its own, and
//!   calls it meanwhile; prints how much memory the server needs for each of them. `party_mio listeners 10000` needs
//!   10,100 descriptors for each of the two processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use windlass_adapter_tests::by_hand;

use super::adapter::client::Negotiation;
use super::adapter::{CallError, Client, Command, Endpoint, Error, Grace, HttpListener, HttpServerConfig, HttpTarget};
use super::{served, swarm};

/// How long an idle client waits.
const IDLE: Duration = Duration::from_millis(300);

/// Longer than any test.
const HOUR: Duration = Duration::from_secs(3600);

/// More than a pipe holds.
const UNWRITABLE: usize = 200_000;

/// How many connections come and go.
const CYCLES: usize = 20;

/// How often a server is called while others listen to it.
const CALLS_MEANWHILE: u32 = 200;

program!(main() -> Result<(), Box<dyn std::error::Error>>, {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    if mode == "serve" || mode == "serve_measured" {
        let server = served::start(Endpoint::own_stdio()?)?;
        let before = peak_kilobytes()?;
        let outcome = wait!(server.wait_closed());
        if mode == "serve_measured" {
            eprintln!("{}", peak_kilobytes()? - before);
        }
        return Ok(outcome?);
    }
    if mode == "serve_here" {
        return Ok(wait!(served::plain().serve_stdio())?);
    }
    if mode == "serve_http" {
        let listener = HttpListener::bind("127.0.0.1:0")?;
        let url = listener.url("/mcp");
        let server = served::start_http(listener, config(&arguments.next().unwrap_or_default()))?;
        println!("{url}");
        // Whoever started this may be gone without a word.
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(0);
        });
        return Ok(wait!(server.wait_closed())?);
    }
    if mode == "listeners" {
        let number = arguments.next().ok_or("how many listeners?")?.parse()?;
        let mut audience = Audience::gather(number)?;
        let client = wait!(Client::connect(HttpTarget::new(&audience.url)?))?;
        let started = Instant::now();
        for call in 0..CALLS_MEANWHILE {
            let text = format!("call {call}");
            let echoed = wait!(client.call_tool("echo", json!({ "text": text })))?;
            assert_eq!(echoed.text_content(), text);
        }
        let each = started.elapsed() / CALLS_MEANWHILE;
        let started = Instant::now();
        wait!(client.call_tool("add_tool", json!({})))?;
        audience.hear_all("notifications/tools/list_changed")?;
        let report = json!({
            "listeners": number,
            "bytes_each": audience.kilobytes * 1024 / number as u64,
            "microseconds_of_a_call": each.as_micros() as u64,
            "milliseconds_until_all_have_heard": started.elapsed().as_millis() as u64,
        });
        println!("{report}");
        wait!(client.close());
        return Ok(());
    }
    let calls = if mode == "swarm" { arguments.next().ok_or("how many calls?")?.parse()? } else { 0 };
    let command = Command::new(arguments.next().ok_or("whom to connect to?")?).args(arguments);
    match mode.as_str() {
        "idle" => {
            let client = wait!(Client::connect(command))?;
            let before = processor_time();
            let outcome = wait!(client.with_idle_timeout(IDLE).call_tool("never", json!({})));
            println!("{}", (processor_time() - before).as_millis());
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            wait!(client.close());
        }
        "leave" => {
            let at_once = Grace { eof: Duration::ZERO, terminate: Duration::ZERO };
            let builder = Client::builder("leaver", "1.0").negotiation(Negotiation::Legacy).grace(at_once);
            let client = wait!(builder.connect(command))?;
            let before = processor_time();
            let outcome = wait!(client.call_tool("echo", json!({"text": "x".repeat(UNWRITABLE)})));
            wait!(client.wait_closed());
            println!("{}", (processor_time() - before).as_millis());
            assert!(matches!(outcome, Err(Error::Call(CallError::Closed(_)))), "{outcome:?}");
        }
        "forget" => {
            let command = command.on_stderr(|line| println!("{line}"));
            let soon = Grace { eof: Duration::from_millis(50), terminate: Duration::from_millis(50) };
            let client = wait!(Client::builder("forgetter", "1.0").grace(soon).connect(command))?;
            wait!(client.ping())?;
            drop(client);
        }
        "cycle" => {
            let mut open = Vec::new();
            for _ in 0..CYCLES {
                let client = wait!(Client::connect(command.clone()))?;
                wait!(client.ping())?;
                wait!(client.close());
                open.push(open_descriptors()?);
            }
            // What the runtime needs for itself is open after the first.
            println!("{}", open[CYCLES - 1].saturating_sub(open[0]));
        }
        "endure" => {
            let (malformed, notifications) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (skipping, hearing) = (malformed.clone(), notifications.clone());
            let builder = Client::builder("endurer", "1.0");
            let builder = builder.on_malformed(move |_| {
                skipping.fetch_add(1, Ordering::SeqCst);
            });
            let builder = builder.on_notification(move |_| {
                hearing.fetch_add(1, Ordering::SeqCst);
            });
            let client = wait!(builder.connect(command))?;
            let before = peak_kilobytes()?;
            let outcome = match wait!(client.call_tool("echo", json!({"text": "the answer"}))) {
                Ok(result) => result.text_content(),
                Err(error) => error.to_string(),
            };
            let usable = wait!(client.ping()).is_ok();
            let report = json!({
                "outcome": outcome,
                "usable": usable,
                "malformed": malformed.load(Ordering::SeqCst),
                "notifications": notifications.load(Ordering::SeqCst),
                "kilobytes": peak_kilobytes()? - before,
            });
            println!("{report}");
            wait!(client.close());
        }
        "swarm" => {
            let client = wait!(Client::connect(command))?;
            let started = Instant::now();
            wait!(swarm::call_at_once(&client, calls));
            println!("{}", started.elapsed().as_millis());
            wait!(client.close());
        }
        _ => {
            return Err(
                "usage: party serve | serve_measured | serve_here | idle | leave | forget | cycle | endure PROGRAM | swarm CALLS PROGRAM | \
                 serve_http MANNER | listeners NUMBER"
                    .into(),
            );
        }
    }
    Ok(())
});

/// How a server over HTTP behaves.
fn config(mode: &str) -> HttpServerConfig {
    let mut config = HttpServerConfig::on_loopback();
    match mode {
        "events" => config.json_answers = false,
        "impatient" => {
            config.head_timeout = Duration::from_millis(300);
            config.body_timeout = Duration::from_millis(300);
            config.write_timeout = Duration::from_millis(300);
            config.keep_alive = Duration::from_secs(1);
        }
        "read" => config.write_timeout = Duration::from_millis(300),
        "narrow" => config.write_bytes = 1 << 20,
        "patient" => {
            let timers = [&mut config.stream_after, &mut config.heartbeat, &mut config.head_timeout];
            timers.into_iter().for_each(|timer| *timer = HOUR);
            let timers = [&mut config.body_timeout, &mut config.write_timeout, &mut config.keep_alive];
            timers.into_iter().for_each(|timer| *timer = HOUR);
        }
        _ => {}
    }
    config
}

/// Many who listen to a server in a process of its own.
struct Audience {
    server: std::process::Child,
    url: String,
    listeners: Vec<TcpStream>,
    /// The memory that the server needs for them.
    kilobytes: u64,
}

impl Audience {
    fn gather(number: usize) -> std::io::Result<Self> {
        allow_descriptors();
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["serve_http", "json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn()?;
        let mut url = String::new();
        BufReader::new(server.stdout.take().expect("it is a pipe")).read_line(&mut url)?;
        let url = url.trim().to_owned();
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let mut audience = Self { server, url, listeners: Vec::new(), kilobytes: 0 };
        let request =
            by_hand::modern_request("subscriptions/listen", None, r#""notifications":{"toolsListChanged":true}"#);
        // One does not count: the server has begun to serve by then.
        for place in 0..=number {
            let mut listener = TcpStream::connect(&address)?;
            listener.set_read_timeout(Some(Duration::from_secs(20)))?;
            listener.write_all(request.as_bytes())?;
            hear(&mut listener, "notifications/subscriptions/acknowledged")?;
            audience.listeners.push(listener);
            if place == 0 {
                audience.kilobytes = audience.kilobytes_now()?;
            }
        }
        audience.kilobytes = audience.kilobytes_now()?.saturating_sub(audience.kilobytes);
        Ok(audience)
    }

    fn kilobytes_now(&self) -> std::io::Result<u64> {
        windlass_adapter_tests::memory::kilobytes_now(&self.server.id().to_string())
    }

    fn hear_all(&mut self, wanted: &str) -> std::io::Result<()> {
        self.listeners.iter_mut().try_for_each(|listener| hear(listener, wanted))
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Reads until something has been said.
fn hear(listener: &mut TcpStream, wanted: &str) -> std::io::Result<()> {
    let (mut heard, mut part) = (Vec::new(), [0; 1024]);
    while !String::from_utf8_lossy(&heard).contains(wanted) {
        match listener.read(&mut part)? {
            0 => return Err(std::io::Error::other(String::from_utf8_lossy(&heard))),
            count => heard.extend_from_slice(&part[..count]),
        }
    }
    Ok(())
}

/// As many descriptors as this process may have, for its children too.
fn allow_descriptors() {
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn open_descriptors() -> std::io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

/// The most memory that this process ever had.
fn peak_kilobytes() -> std::io::Result<u64> {
    windlass_adapter_tests::memory::peak_kilobytes("self")
}
