//! Ctrl-C and its like: the command ends what it has begun before it ends itself.

#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use common::RUNTIMES;

/// A server that ignores all that asks it to end, with a child that does the same. It says which processes they are as
/// soon as it has been called, then what it reads, and lives on at the end of its input.
const STUBBORN: &str = r#"
    trap '' TERM HUP INT
    read initialize
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"stubborn","version":"1"}}}'
    read initialized
    read call
    sleep 1000 &
    echo "busy $$ $!" >&2
    while read line; do echo "heard $line" >&2; done
    echo "end of input" >&2
    sleep 1000
"#;

/// The same, before the handshake.
const SILENT: &str = r#"
    trap '' TERM HUP INT
    sleep 1000 &
    echo "busy $$ $!" >&2
    while read line; do :; done
    sleep 1000
"#;

/// A command that waits for a busy server.
struct Waiting {
    process: Child,
    stderr: BufReader<ChildStderr>,
    /// The server and its child.
    others: Vec<String>,
}

impl Waiting {
    fn start(runtime: &str, server: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["call", "work", "--era", "legacy", "--runtime", runtime, "--", "sh", "-c", server])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let others = line.strip_prefix("busy ").unwrap_or_else(|| panic!("{runtime}: {line}"));
        let others = others.split_whitespace().map(str::to_owned).collect();
        Self { process, stderr, others }
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Reads standard error up to a line that holds this.
    fn read_until(&mut self, part: &str) {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "{part} is never said");
        }
    }

    /// The exit code and the rest of standard error; nothing else is left.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.process.wait().unwrap().code();
        let left: Vec<_> = self.others.iter().filter(|id| is_alive(id)).collect();
        let killed: Vec<_> = left.iter().map(|id| Command::new("kill").args(["-KILL", id]).status()).collect();
        assert!(killed.is_empty(), "{left:?} are left");
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

/// Whether a process lives. One that is dead may stay listed until somebody asks for it.
fn is_alive(id: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap().stdout;
    !state.trim_ascii().is_empty() && !state.trim_ascii().starts_with(b"Z")
}

/// Each on a thread of its own, because a server that ignores everything takes seconds to end.
fn at_once(checks: impl IntoIterator<Item = Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = checks.into_iter().map(thread::spawn).collect();
    let outcomes: Vec<_> = threads.into_iter().map(thread::JoinHandle::join).collect();
    assert!(outcomes.iter().all(Result::is_ok));
}

#[test]
fn a_signal_cancels_the_call_and_ends_the_server_and_its_children() {
    let signals = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];
    at_once(RUNTIMES.into_iter().flat_map(|runtime| {
        signals.map(|(signal, code)| {
            let check = move || {
                let waiting = Waiting::start(runtime, STUBBORN);
                waiting.signal(signal);
                let (exit, said) = waiting.end();
                assert_eq!(exit, Some(code), "{runtime}: {said}");
                assert!(said.contains("heard {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\""), "{said}");
                assert!(said.contains("windlass: interrupted"), "{said}");
            };
            Box::new(check) as _
        })
    }));
}

#[test]
fn a_signal_before_the_handshake_is_done_ends_the_server_as_well() {
    at_once(RUNTIMES.map(|runtime| {
        let check = move || {
            let waiting = Waiting::start(runtime, SILENT);
            waiting.signal("-INT");
            assert_eq!(waiting.end().0, Some(130), "{runtime}");
        };
        Box::new(check) as _
    }));
}

#[test]
fn a_second_signal_hurries() {
    // A server whose death nobody would wait for, were it not killed.
    for runtime in RUNTIMES {
        let mut waiting = Waiting::start(runtime, STUBBORN);
        waiting.signal("-INT");
        waiting.read_until("end of input");
        waiting.signal("-INT");
        assert_eq!(waiting.end().0, Some(130), "{runtime}");
    }
}

#[test]
fn a_signal_ends_the_command_even_if_nobody_reads_what_it_says() {
    at_once(RUNTIMES.map(|runtime| {
        let check = move || {
            // More than a pipe holds.
            let flood = r#"
                echo "busy $$" >&2
                while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2; done
            "#;
            let Waiting { mut process, stderr, others } = Waiting::start(runtime, flood);
            let id = process.id().to_string();
            assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
            assert_eq!(process.wait().unwrap().code(), Some(130), "{runtime}");
            assert!(!is_alive(&others[0]), "{runtime}");
            drop(stderr);
        };
        Box::new(check) as _
    }));
}

/// A legacy server over HTTP that never answers a call; it tells the methods of the requests that it gets.
fn legacy_server() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (told, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, told) = (stream.unwrap(), told.clone());
            thread::spawn(move || answer(stream, &told));
        }
    });
    (url, requests)
}

fn answer(mut stream: TcpStream, told: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let at = head.len();
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
            let line = head[at..].trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        let verb = head.split(' ').next().unwrap_or_default().to_owned();
        let response = match verb.as_str() {
            "POST" if body.contains("\"initialize\"") => {
                let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: one\r\nContent-Length: {}\r\n\r\n{result}",
                    result.len()
                )
            }
            "POST" if body.contains("\"tools/call\"") => String::new(),
            "POST" => "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".into(),
            "DELETE" => "HTTP/1.1 204 No Content\r\n\r\n".into(),
            _ => "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".into(),
        };
        let _ = stream.write_all(response.as_bytes());
        let _ = told.send(format!("{verb} {body}"));
    }
}

#[test]
fn a_signal_cancels_a_call_over_http_and_ends_the_session() {
    for runtime in RUNTIMES {
        let (url, requests) = legacy_server();
        let mut process = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["call", "work", "--era", "legacy", "--runtime", runtime, &url])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = |part: &str| {
            let found = requests.iter().find(|request| request.contains(part));
            assert!(found.is_some(), "{runtime}: {part} never came");
        };
        until("\"tools/call\"");
        assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(130), "{runtime}");
        let rest: Vec<_> = requests.try_iter().collect();
        assert!(rest.iter().any(|request| request.contains("notifications/cancelled")), "{runtime}: {rest:?}");
        assert!(rest.iter().any(|request| request.starts_with("DELETE ")), "{runtime}: {rest:?}");
    }
}
