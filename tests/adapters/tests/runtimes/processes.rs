//! What the system says of processes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::peers::BY_HAND;

/// Whether there is such a process, dead or alive.
pub(crate) fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether there is such a process, and it is more than a corpse.
pub(crate) fn lives(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

/// The processor time that a process has used.
pub(crate) fn processor_time(pid: u32) -> Duration {
    /// What `/proc` counts in, on every Linux.
    const TICK: Duration = Duration::from_millis(10);
    let fields = stat(pid).expect("the process is there");
    let ticks: u32 = fields[11..13].iter().map(|ticks| ticks.parse::<u32>().expect("a number")).sum();
    TICK * ticks
}

/// How many threads a process has.
pub(crate) fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there").count()
}

/// The fields of `/proc/PID/stat` after the name, which may hold anything.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit(')').next()?.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Ends a process that a test has started, in the hardest way.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("the id of a process");
    kill_process(pid, Signal::KILL).expect("the process is there");
}

/// A server that a test talks to by raw lines.
pub(crate) struct RawServer {
    child: Child,
    input: Option<File>,
    output: Option<BufReader<File>>,
}

impl RawServer {
    /// Starts a server on pipes and introduces a legacy client.
    pub(crate) fn start(party: &str) -> Self {
        Self::start_in_mode(party, "serve_measured")
    }

    /// The same in another mode of its program.
    pub(crate) fn start_in_mode(party: &str, mode: &str) -> Self {
        let mut command = Self::command(party, mode);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Self::spawn(command);
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self::introduced(child, input.into(), output.into())
    }

    /// The same on sockets, which some clients give to their servers.
    pub(crate) fn start_on_sockets(party: &str) -> Self {
        let ((their_input, input), (output, their_output)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let mut command = Self::command(party, "serve_measured");
        command.stdin(OwnedFd::from(their_input)).stdout(OwnedFd::from(their_output));
        Self::introduced(Self::spawn(command), input.into(), output.into())
    }

    fn command(party: &str, mode: &str) -> Command {
        let words = BY_HAND.tapped(&[party, mode], party);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    /// Takes the command, so that what belongs to the child is not held open by us.
    fn spawn(mut command: Command) -> Child {
        command.stderr(Stdio::piped()).spawn().unwrap()
    }

    fn introduced(child: Child, input: OwnedFd, output: OwnedFd) -> Self {
        let (input, output) = (Some(File::from(input)), Some(BufReader::new(File::from(output))));
        let mut server = Self { child, input, output };
        server.say(concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
            r#""clientInfo":{"name":"raw","version":"0"}}}"#
        ));
        assert!(server.hear().contains(r#""id":1"#));
        server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.try_say(line).unwrap();
    }

    /// Fails when the server does not listen any more.
    pub(crate) fn try_say(&mut self, line: &str) -> io::Result<()> {
        self.input.as_ref().unwrap().write_all(format!("{line}\n").as_bytes())
    }

    pub(crate) fn call_tool(&mut self, id: u32, name: &str) {
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#));
    }

    /// The next line; empty at the end.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Lets go of both directions at once, as a client does that dies.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
        self.output = None;
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the exit and leaves the corpse, so that it can be looked at.
    pub(crate) fn wait_for_exit(&mut self) {
        let pid = Pid::from_child(&self.child);
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    }

    /// Waits for the exit, and tells how much memory it took to serve us, at most.
    pub(crate) fn peak_kilobytes(&mut self) -> u64 {
        let mut last_words = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut last_words).unwrap();
        last_words.lines().next().and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("it said {last_words:?}"))
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
