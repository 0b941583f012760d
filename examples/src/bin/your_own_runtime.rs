//! A port to a runtime of your own: all that it takes to run a client, on the standard library alone.
//!
//! The "runtime" here is two threads that move bytes and a channel with a timeout; put your own in their place. Whatever
//! can start a server, move bytes and wait until a deadline can do it. What is below `main` knows nothing of the
//! protocol, and drives any [`Machine`]; `main` itself is the program, which lists the server's tools and calls one.
//! To run it: `cargo build --bins && target/debug/your_own_runtime brew '{"tea":"mint","cups":1}' target/debug/server_mio`

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant as Clock};

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::link::stdio::StdioClient;
use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, ListTools, ListToolsResult};
use windlass::{ConnError, ConnErrorKind, ConnId, Instant, Json, Machine, Output, Refused};

/// What goes in with a call and comes back with its completion.
enum Asked {
    Tools,
    Tool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().ok_or("usage: your_own_runtime TOOL JSON SERVER ARGUMENTS…");
    let call = CallToolParams::new(argument()?).with_arguments(Json::parse(argument()?)?);
    let mut server = Command::new(argument()?);
    server.args(arguments);
    let mut runtime = Runtime { server, started: Clock::now(), stream: None };
    let mut client = StdioClient::new(ClientConfig::new(Implementation::new("port", "1.0.0")), runtime.now());
    let options = CallOptions::new();
    let refused = |refused: Refused<Asked>| refused.why;
    loop {
        match client.poll() {
            // These three are the runtime's…
            Output::Open { conn, .. } => runtime.open(conn, &mut client),
            Output::Close(_) => runtime.close(),
            Output::Idle { deadline } => runtime.wait(&mut client, deadline),
            // …and events are the program's.
            Output::Event(ClientEvent::Ready(peer)) => {
                println!("connected: {}", peer.version);
                client.call::<ListTools>(&Default::default(), &options, Asked::Tools, runtime.now()).map_err(refused)?;
            }
            Output::Event(ClientEvent::Completed { token: Asked::Tools, outcome, .. }) => {
                let list: ListToolsResult = serde_json::from_str(outcome?.get())?;
                list.tools.iter().for_each(|tool| println!("tool: {}", tool.name));
                client.call::<CallTool>(&call, &options, Asked::Tool, runtime.now()).map_err(refused)?;
            }
            Output::Event(ClientEvent::Completed { token: Asked::Tool, outcome, .. }) => {
                let result: CallToolResult = serde_json::from_str(outcome?.get())?;
                println!("result: {}", result.text_content());
                client.close(runtime.now());
            }
            Output::Event(ClientEvent::Closed(reason)) => {
                println!("closed: {reason}");
                return Ok(());
            }
            Output::Event(_) => {}
        }
    }
}

/// A clock, a command to start, and the stream to what was started.
struct Runtime {
    server: Command,
    started: Clock,
    stream: Option<Stream>,
}

struct Stream {
    conn: ConnId,
    child: Child,
    reports: Receiver<Report>,
    /// Read, and not yet taken by the machine.
    unread: Vec<u8>,
    /// To the thread that writes; dropping it closes the child's standard input.
    to_write: Sender<Vec<u8>>,
    writing: bool,
}

/// What the two threads of a stream report.
enum Report {
    Read(Vec<u8>),
    End,
    Written(usize),
}

impl Runtime {
    fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    fn open(&mut self, conn: ConnId, machine: &mut impl Machine) {
        // A machine may want a fresh stream in place of one that failed.
        self.close();
        match Stream::open(conn, &mut self.server) {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => {
                let error = ConnError::new(ConnErrorKind::NotOpened, error.to_string());
                machine.conn_failed(conn, error, self.now());
            }
        }
    }

    /// Moves bytes, or waits for something to happen. The machine is polled again after every return.
    fn wait(&mut self, machine: &mut impl Machine, deadline: Option<Instant>) {
        let now = self.now();
        let patience = deadline.map_or(Duration::MAX, |deadline| deadline.since(now));
        let Some(stream) = &mut self.stream else {
            thread::sleep(patience);
            return machine.handle_timeout(self.now());
        };
        let conn = stream.conn;
        let room = machine.read_buf(conn);
        let count = room.len().min(stream.unread.len());
        if count > 0 {
            room[..count].copy_from_slice(&stream.unread[..count]);
            stream.unread.drain(..count);
            return machine.read_done(conn, count, now);
        }
        let bytes = machine.write_buf(conn);
        if !bytes.is_empty() && !stream.writing {
            stream.writing = stream.to_write.send(bytes.to_vec()).is_ok();
        }
        let report = stream.reports.recv_timeout(patience);
        let now = self.now();
        match (report, &mut self.stream) {
            (Ok(Report::Read(bytes)), Some(stream)) => stream.unread.extend(bytes),
            (Ok(Report::Written(count)), Some(stream)) => {
                stream.writing = false;
                machine.write_done(conn, count, now);
            }
            (Ok(Report::End), _) => machine.read_eof(conn, now),
            _ => machine.handle_timeout(now),
        }
    }
}
