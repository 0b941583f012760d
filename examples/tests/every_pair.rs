//! Every client runs against every server, in both eras, over stdio and over HTTP, and prints the same; so does a runtime of one's own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Far longer than any run takes, and far shorter than the patience of whoever waits for the tests.
const DEADLINE: Duration = Duration::from_secs(30);

const CLIENTS: [&str; 5] = [
    env!("CARGO_BIN_EXE_client_tokio"),
    env!("CARGO_BIN_EXE_client_smol"),
    env!("CARGO_BIN_EXE_client_async_std"),
    env!("CARGO_BIN_EXE_client_blocking"),
    env!("CARGO_BIN_EXE_client_mio"),
];

const SERVERS: [&str; 5] = [
    env!("CARGO_BIN_EXE_server_tokio"),
    env!("CARGO_BIN_EXE_server_smol"),
    env!("CARGO_BIN_EXE_server_async_std"),
    env!("CARGO_BIN_EXE_server_blocking"),
    env!("CARGO_BIN_EXE_server_mio"),
];

/// What a client prints once it is connected.
const VISIT: &str = r#"tools: ["brew"]
asked: How many cups?
progress: 1
progress: 2
notified: Message(LoggingMessageParams { meta: None, level: Info, logger: None, data: "the oolong is ready" })
brewed: Some({"cups":2,"tea":"oolong"})
changed: tea://ledger
ledger: [Text(TextResourceContents { uri: "tea://ledger", mime_type: None, text: "cups served: 2", meta: None })]
moods: ["sleepy", "slow"]
prompt: Some("Recommend a tea to someone who is slow.")
refused: the arguments of "brew" are wrong: invalid type: integer `7`, expected a string at line 1 column 8
failed: the peer answered with an error: unknown tool: juggle (code -32602)
closed: the connection was closed by this side
"#;

#[test]
fn every_pair_speaks_the_modern_era() {
    for (client, server) in pairs() {
        assert_eq!(printed(client, &[], server), format!("connected: 2026-07-28\n{VISIT}"), "{client} {server}");
    }
}

#[test]
fn every_pair_speaks_the_legacy_era() {
    for (client, server) in pairs() {
        let printed = printed(client, &["--legacy"], server);
        assert_eq!(printed, format!("connected: 2025-11-25\n{VISIT}"), "{client} --legacy {server}");
    }
}

#[test]
fn every_pair_speaks_both_eras_over_http() {
    for (client, server) in pairs() {
        for (options, version) in [(&["--legacy"][..], "2025-11-25"), (&[], "2026-07-28")] {
            let house = House::open(server);
            let arguments: Vec<&str> = options.iter().copied().chain([house.url.as_str()]).collect();
            let (status, printed) = run(client, &arguments);
            assert!(status.success(), "{client} {arguments:?} {server}: {status}, after printing:\n{printed}");
            assert_eq!(printed, format!("connected: {version}\n{VISIT}"), "{client} {arguments:?} {server}");
        }
    }
}

/// A server that waits at a URL until it is dropped.
struct House {
    process: Child,
    url: String,
}

impl House {
    fn open(server: &str) -> Self {
        let mut command = Command::new(server);
        command.args(["--http", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{server} does not start: {error}"));
        let mut url = String::new();
        let stdout = process.stdout.as_mut().expect("the output is piped");
        BufReader::new(stdout).read_line(&mut url).expect("a server prints its URL");
        Self { process, url: url.trim_end().to_owned() }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_runtime_of_ones_own_speaks_with_every_server() {
    for server in SERVERS {
        let order = r#"{"tea":"mint","cups":1}"#;
        let printed = printed(env!("CARGO_BIN_EXE_your_own_runtime"), &["brew", order], server);
        assert_eq!(printed, "connected: 2026-07-28\ntool: brew\nresult: {\"cups\":1,\"tea\":\"mint\"}\n", "{server}");
    }
}

#[test]
fn a_runtime_of_ones_own_notices_what_is_no_server() {
    for nonsense in ["there is no such program", "true"] {
        let (status, printed) = run(env!("CARGO_BIN_EXE_your_own_runtime"), &["brew", "{}", nonsense]);
        assert!(!status.success(), "{nonsense} passed for a server");
        assert_eq!(printed, "", "{nonsense}");
    }
}

#[test]
fn a_mio_loop_of_ones_own_serves_and_visits() {
    let program = env!("CARGO_BIN_EXE_your_own_mio_loop");
    let (status, printed) = run(program, &[]);
    assert!(status.success(), "{status}, after printing:\n{printed}");
    let visit = "connected: 2026-07-28\ntool: brew\nresult: ";
    let end = "closed: the connection was closed by this side\n";
    assert_eq!(printed, format!("{visit}brewed as ordered: {{\"cups\":1,\"tea\":\"mint\"}}\n{end}"));
    for server in SERVERS {
        let house = House::open(server);
        let (status, printed) = run(program, &[&house.url]);
        assert!(status.success(), "{server}: {status}, after printing:\n{printed}");
        assert_eq!(printed, format!("{visit}{{\"cups\":1,\"tea\":\"mint\"}}\n{end}"), "{server}");
    }
}

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    CLIENTS.into_iter().flat_map(|client| SERVERS.into_iter().map(move |server| (client, server)))
}

/// What a program that succeeds prints, with a server to talk to.
fn printed(program: &str, arguments: &[&str], server: &str) -> String {
    let server = started(server);
    let arguments: Vec<&str> = arguments.iter().copied().chain(server.iter().map(String::as_str)).collect();
    let (status, printed) = run(program, &arguments);
    assert!(status.success(), "{program} {arguments:?}: {status}, after printing:\n{printed}");
    printed
}

/// The words that start a server.
#[cfg(unix)]
fn started(server: &str) -> Vec<String> {
    use windlass_tests::wires::{Speaker, Wire};
    Wire { source: "examples", client: Speaker::Ours, server: Speaker::Ours }.tapped(&[server], server)
}

#[cfg(not(unix))]
fn started(server: &str) -> Vec<String> {
    vec![server.to_owned()]
}

/// Runs a program to its end, which must come before the deadline.
fn run(program: &str, arguments: &[&str]) -> (ExitStatus, String) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let mut stdout = child.stdout.take().expect("the output is piped");
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        let mut printed = String::new();
        let read = stdout.read_to_string(&mut printed);
        let _ = done.send(read.map(|_| printed));
    });
    // A program's output ends with the program.
    match finished.recv_timeout(DEADLINE) {
        Ok(printed) => {
            let status = child.wait().expect("a child can be waited for");
            (status, printed.expect("an example prints text"))
        }
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{program} {arguments:?} did not end within {DEADLINE:?}");
        }
    }
}
