//! A port to a runtime of your own: all that it takes to run a client, on nothing but the standard library.
//!
//! The runtime here is two threads that move bytes and a channel to wait on; put yours in their place. What can start a
//! server, move bytes and wait until a deadline can run the whole protocol: [`Stream`] knows nothing of it, and moves
//! the bytes of any [`Machine`]. `main` is the program, which lists a server's tools and calls one. To run it:
//! `cargo build -p windlass-examples`, then
//! `target/debug/your_own_runtime brew '{"tea":"mint","cups":1}' target/debug/server_mio`

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant as Clock};

use windlass::client::{CallOptions, ClientConfig, ClientEvent, decode};
use windlass::link::stdio::StdioClient;
use windlass::model::{CallTool, CallToolParams, Implementation, ListTools};
use windlass::{CloseReason, ConnError, ConnErrorKind, ConnId, Instant, Json, Machine, Output, SendError};

/// What goes in with a call, and comes back with its completion.
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

    let start = Clock::now();
    let now = || Instant::ZERO + start.elapsed();
    let options = CallOptions::new();
    let mut client = StdioClient::new(ClientConfig::new(Implementation::new("port", "1.0.0")), now());
    let mut stream = None;
    loop {
        match client.poll() {
            // These three are for the runtime. A stream may be asked for again, in place of one that ended early.
            Output::Open { conn, .. } => match Stream::open(conn, &mut server) {
                Ok(opened) => stream = Some(opened),
                Err(why) => client.conn_failed(conn, ConnError::new(ConnErrorKind::NotOpened, why.to_string()), now()),
            },
            Output::Idle { deadline } => stream.as_mut().ok_or("nothing is open")?.wait(&mut client, deadline, now),
            Output::Close(_) => stream = None,
            // Events are for the program.
            Output::Event(ClientEvent::Ready(peer)) => {
                println!("connected: {}", peer.version);
                let listing = client.call::<ListTools>(&Default::default(), &options, Asked::Tools, now());
                listing.map_err(SendError::from)?;
            }
            Output::Event(ClientEvent::Completed { token: Asked::Tools, outcome, .. }) => {
                let list = decode::<ListTools>(outcome)?;
                list.tools.iter().for_each(|tool| println!("tool: {}", tool.name));
                client.call::<CallTool>(&call, &options, Asked::Tool, now()).map_err(SendError::from)?;
            }
            Output::Event(ClientEvent::Completed { token: Asked::Tool, outcome, .. }) => {
                let result = decode::<CallTool>(outcome)?;
                println!("result: {}", result.text_content());
                client.close(now());
            }
            Output::Event(ClientEvent::Closed(CloseReason::Requested)) => return Ok(()),
            Output::Event(ClientEvent::Closed(reason)) => return Err(reason.into()),
            Output::Event(_) => {}
        }
    }
}

/// A child process, and two threads that move its bytes.
struct Stream {
    conn: ConnId,
    child: Child,
    /// Dropping this ends the thread that writes, and with it the child's standard input.
    to_write: Sender<Vec<u8>>,
    writing: bool,
    reports: Receiver<Report>,
    /// What was read and did not fit into the machine's buffer yet.
    unread: Vec<u8>,
}

/// What the threads report.
enum Report {
    Read(Vec<u8>),
    End,
    Written(usize),
}

impl Stream {
    fn open(conn: ConnId, server: &mut Command) -> io::Result<Self> {
        let mut child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (mut stdin, mut stdout) = (child.stdin.take(), child.stdout.take());
        // There is room for few reports, so a server that says more than the machine takes in is made to wait.
        let (reporter, reports) = mpsc::sync_channel(4);
        let (to_write, orders) = mpsc::channel::<Vec<u8>>();
        let writer = reporter.clone();
        thread::spawn(move || {
            for bytes in orders {
                // If the server is gone, the other thread finds out, after having read its last words.
                let _ = stdin.as_mut().map(|stdin| stdin.write_all(&bytes));
                let _ = writer.send(Report::Written(bytes.len()));
            }
        });
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Some(Ok(count @ 1..)) = stdout.as_mut().map(|stdout| stdout.read(&mut buffer)) {
                let _ = reporter.send(Report::Read(buffer[..count].to_vec()));
            }
            let _ = reporter.send(Report::End);
        });
        Ok(Self { conn, child, to_write, writing: false, reports, unread: Vec::new() })
    }

    /// Moves bytes, or waits until something happens. Whatever it was, the machine is to be polled again.
    fn wait(&mut self, machine: &mut impl Machine, deadline: Option<Instant>, now: impl Fn() -> Instant) {
        let room = machine.read_buf(self.conn);
        let count = room.len().min(self.unread.len());
        if count > 0 {
            room[..count].copy_from_slice(&self.unread[..count]);
            self.unread.drain(..count);
            return machine.read_done(self.conn, count, now());
        }
        let bytes = machine.write_buf(self.conn);
        if !bytes.is_empty() && !self.writing {
            self.writing = self.to_write.send(bytes.to_vec()).is_ok();
        }
        let patience = deadline.map_or(Duration::MAX, |deadline| deadline.since(now()));
        match self.reports.recv_timeout(patience) {
            Ok(Report::Read(bytes)) => self.unread.extend(bytes),
            Ok(Report::End) => machine.read_eof(self.conn, now()),
            Ok(Report::Written(count)) => {
                self.writing = false;
                machine.write_done(self.conn, count, now());
            }
            Err(_) => machine.handle_timeout(now()),
        }
    }
}

/// Closes the child's standard input, gives it two seconds to exit, and leaves no process behind.
impl Drop for Stream {
    fn drop(&mut self) {
        self.to_write = mpsc::channel().0;
        while self.reports.recv_timeout(Duration::from_secs(2)).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
