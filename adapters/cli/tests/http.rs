//! Servers that have a URL: the demo server as a process of its own, and others that are not what they should be.

#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;

use common::{RUNTIMES, Run, windlass, windlass_with};
use serde_json::json;
use windlass_blocking::model::{CallToolResult, Tool};
use windlass_blocking::{HttpListener, ServerTls};

/// The demo server on a port of its own.
struct Demo {
    process: Child,
    url: String,
}

impl Demo {
    fn start(runtime: &str) -> Self {
        Self::start_with(&["--runtime", runtime])
    }

    fn start_with(options: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["serve", "--http", "127.0.0.1:0"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Self { process, url: url.trim_end().to_owned() }
    }

    /// What Ctrl-C does.
    fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
    }

    /// Ends it as a person would, and sees that it ends well.
    fn interrupt(mut self, name: &str) {
        self.signal(name);
        let status = self.process.wait().unwrap();
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success() && said.lines().count() == 4, "{status}: {said}");
        let open = "windlass: listening on 127.0.0.1:";
        assert!(said.starts_with(open) && said.contains("only programs on this machine"), "{said}");
        assert!(said.contains("there is no authentication"), "{said}");
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It is gone by now, unless a test failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Every runtime as a client, with the next one as its server, in both eras.
fn everywhere(check: impl Fn(&dyn Fn(&[&str]) -> Run)) {
    for (at, runtime) in RUNTIMES.iter().enumerate() {
        let demo = Demo::start(RUNTIMES[(at + 1) % RUNTIMES.len()]);
        for era in ["legacy", "modern"] {
            check(&|words| windlass(&[words, &[&demo.url, "--runtime", runtime, "--era", era]].concat()));
        }
        demo.interrupt("-INT");
    }
}

#[test]
fn every_command_takes_a_url() {
    everywhere(|run| {
        let listing = run(&["list", "--json"]).expect(0).json();
        assert_eq!(listing["serverInfo"]["name"], "windlass-demo");
        assert_eq!(listing["tools"].as_array().map(Vec::len), Some(5), "{listing}");

        let pong = run(&["ping"]).expect(0);
        assert!(pong.stdout.starts_with("windlass-demo ") && pong.stdout.contains(" answered in "), "{pong:?}");

        let counted = run(&["call", "countdown", "steps=3", "milliseconds=1"]).expect(0);
        assert_eq!(counted.stdout, "lift-off after 3 steps in 0.0 s\n");
        assert_eq!(counted.stderr.lines().count(), 3, "{counted:?}");

        let greeted = run(&["call", "greet"]).expect(0);
        assert!(greeted.stdout.starts_with("Hello, whoever you are."), "{greeted:?}");
        assert!(greeted.stderr.contains("the server asks: How would you like to be greeted?"), "{greeted:?}");

        assert_eq!(run(&["call", "countdown", "steps=0"]).expect(5).stdout, "steps must be from 1 to 100, not 0\n");
    });
}

#[test]
fn the_eras_are_found_out() {
    let demo = Demo::start("tokio");
    let answer = windlass(&["ping", "--json", "--", &demo.url]).expect(0).json();
    assert_eq!(answer["protocolVersion"], "2026-07-28");
    demo.interrupt("-TERM");
}

#[test]
fn ctrl_c_lets_open_calls_finish() {
    for runtime in RUNTIMES {
        let demo = Demo::start(runtime);
        let mut call = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["call", "countdown", "steps=3", "milliseconds=100", &demo.url])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut progress = String::new();
        let mut stderr = BufReader::new(call.stderr.take().unwrap());
        stderr.read_line(&mut progress).unwrap();
        assert!(progress.contains("1/3"), "{runtime}: {progress}");
        demo.interrupt("-INT");
        let output = call.wait_with_output().unwrap();
        assert!(output.status.success(), "{runtime}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "{runtime}: {output:?}");
    }
}

#[test]
fn an_address_that_is_taken_is_4_and_one_that_is_none_is_1() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for runtime in RUNTIMES {
        let run = windlass(&["serve", "--http", &address, "--runtime", runtime]).expect(4);
        assert!(run.stderr.contains(&address) && run.stderr.contains("another port"), "{run:?}");
        let run = windlass(&["serve", "--http", "nonsense", "--runtime", runtime]).expect(1);
        assert!(run.stderr.contains("127.0.0.1:8080"), "{run:?}");
    }
}

#[test]
fn nobody_there_is_4() {
    let url = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/mcp", gone.local_addr().unwrap())
    };
    for runtime in RUNTIMES {
        let run = windlass(&["list", "--runtime", runtime, &url]).expect(4);
        assert!(run.stderr.contains("Connection refused") && run.stderr.contains("is the server running"), "{run:?}");
        let error = windlass(&["list", "--json", "--runtime", runtime, &url]).expect(4).json_error();
        assert_eq!(error["kind"], "unreachable");
    }
}

#[test]
fn the_wrong_path_is_named() {
    let demo = Demo::start("blocking");
    for runtime in RUNTIMES {
        let run = windlass(&["list", "--runtime", runtime, &demo.url.replace("/mcp", "/elsewhere")]).expect(4);
        assert!(run.stderr.contains("the endpoint is /mcp"), "{run:?}");
    }
    demo.interrupt("-INT");
}

/// A server that answers every request with the same, and the heads of the requests that it got.
fn always(response: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (told, heads) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, told) = (stream.unwrap(), told.clone());
            thread::spawn(move || {
                let mut request = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let at = head.len();
                    if request.read_line(&mut head).unwrap_or(0) == 0 || head[at..].trim().is_empty() {
                        break;
                    }
                    let line = head[at..].to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                let _ = request.read_exact(&mut body);
                let _ = told.send(head);
                let _ = stream.write_all(response.as_bytes());
            });
        }
    });
    (url, heads)
}

#[test]
fn who_wants_credentials_is_3_and_says_which() {
    let (url, heads) = always(
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"tea\"\r\nContent-Length: 8\r\n\
         Connection: close\r\n\r\nno token",
    );
    for runtime in RUNTIMES {
        let words = ["list", "--runtime", runtime, &url, "--header", "X-Team: blue", "--header-from", "TEST_TOKEN"];
        let run = windlass_with(&words, &[("TEST_TOKEN", "Authorization: Bearer hush")]).expect(3);
        for part in ["no token", "Bearer realm=\"tea\"", "--header 'Authorization: Bearer …'"] {
            assert!(run.stderr.contains(part), "{part}: {run:?}");
        }
        assert!(!run.stderr.contains("hush"), "{run:?}");
        let head = heads.recv().unwrap();
        assert!(head.contains("X-Team: blue\r\n") && head.contains("Authorization: Bearer hush\r\n"), "{head}");
    }
    let error = windlass(&["list", "--json", &url]).expect(3).json_error();
    assert_eq!((&error["kind"], &error["httpStatus"]), (&json!("authorization"), &json!(401)));
}

#[test]
fn what_is_no_mcp_server_is_said_to_be_none() {
    let (page, _) =
        always("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>");
    let (nothing, _) = always("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    for runtime in RUNTIMES {
        let run = windlass(&["list", "--runtime", runtime, &page]).expect(4);
        assert!(run.stderr.contains("it is a web page, not an MCP server"), "{run:?}");
        let run = windlass(&["list", "--runtime", runtime, &nothing]).expect(5);
        assert!(run.stderr.contains("404") && run.stderr.contains("Servers are often at /mcp"), "{run:?}");
    }
}

#[test]
fn wrong_headers_and_files_are_1() {
    let url = "http://127.0.0.1:1/mcp";
    for (words, part) in [
        (["list", url, "--header", "hush"], "NAME: VALUE"),
        (["list", url, "--header", "Mcp-Method: x"], "Mcp-Method"),
        (["list", url, "--header-from", "WINDLASS_UNSET"], "WINDLASS_UNSET"),
        (["list", url, "--ca", "/nonexistent.pem"], "/nonexistent.pem"),
        (["list", "http://", "--era", "modern"], "cannot be used"),
    ] {
        let run = windlass(&words).expect(1);
        assert!(run.stderr.contains(part) && !run.stderr.contains("hush"), "{run:?}");
    }
}

#[test]
fn a_secret_in_a_url_is_not_repeated() {
    for words in [
        &["list", "http://me:hush@127.0.0.1:1/mcp"][..],
        &["list", "http://me:hu/hush@127.0.0.1:1/mcp"],
        &["list", "http://127.0.0.1:1/mcp?key=hush"],
        &["list", "http://127.0.0.1:99999/mcp?key=hush"],
        &["list", "http://127.0.0.1:1/?key=hush", "http://127.0.0.1:1/?key=hush"],
        &["list", "http://127.0.0.1:1/?key=hush", "--", "sh"],
        &["list", "htp://me:hush@127.0.0.1:1/mcp"],
        &["htp://me:hush@127.0.0.1:1/mcp"],
        &["call", "x", "htp://me:hush@127.0.0.1:1/mcp"],
    ] {
        for runtime in RUNTIMES {
            for format in [&["--runtime", runtime][..], &["--runtime", runtime, "--json"]] {
                let run = windlass(&[words, format].concat());
                assert!(!run.stderr.contains("hush") && run.stderr.contains("…"), "{run:?}");
            }
        }
    }
    let (url, _) =
        always("HTTP/1.1 302 Found\r\nLocation: https://login.example/?state=hush\r\nContent-Length: 0\r\n\r\n");
    let run = windlass(&["list", &url]);
    assert!(run.stderr.contains("to https://login.example/?state=…") && !run.stderr.contains("hush"), "{run:?}");
}

#[test]
fn only_names_and_pages_that_are_allowed_reach_the_server() {
    for runtime in RUNTIMES {
        let demo = Demo::start_with(&[
            "--runtime",
            runtime,
            "--allow-host",
            "mcp.example",
            "--allow-origin",
            "https://app.example",
        ]);
        let status = |host: &str, origin: &str| {
            let address = demo.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            let origin = if origin.is_empty() { String::new() } else { format!("Origin: {origin}\r\n") };
            let request = format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line.split(' ').nth(1).unwrap().to_owned()
        };
        for (host, origin, refused) in [
            ("mcp.example", "", false),
            ("localhost:1", "", false),
            ("other.example", "", true),
            ("mcp.example", "https://app.example", false),
            ("localhost", "http://localhost", true),
        ] {
            assert_eq!(status(host, origin) == "403", refused, "{runtime}: {host} {origin}");
        }
        demo.interrupt("-INT");
    }
}

/// A server of each runtime behind TLS, on a thread of its own, until the test is over.
macro_rules! secured {
    ($adapter:ident, $listener:expr, [$($async:tt)*], [$($await:tt)*]) => {{
        let listener = $listener;
        let url = listener.url("/mcp");
        thread::spawn(move || {
            $adapter::run($($async)* {
                let echo = Tool::new("echo", json!({"type": "object"}));
                let echoed = |_: $adapter::Context, _: serde_json::Value| $($async)* { Ok(CallToolResult::text("here")) };
                $adapter::Server::builder("secured", "1").tool(echo, echoed).serve_http(listener)$($await)*
            })
        });
        url
    }};
}

#[test]
fn certificates_are_checked_unless_told_otherwise() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.key_pair.serialize_pem());
    let file = std::env::temp_dir().join(format!("windlass-cli-{}.pem", std::process::id()));
    std::fs::write(&file, &certificate).unwrap();
    let listener = || {
        let tls = ServerTls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        HttpListener::bind("127.0.0.1:0").unwrap().with_tls(tls)
    };
    let urls = [
        secured!(windlass_blocking, listener(), [], []),
        secured!(windlass_mio, listener(), [], []),
        secured!(windlass_tokio, listener(), [async], [.await]),
        secured!(windlass_async_std, listener(), [async], [.await]),
        secured!(windlass_smol, listener(), [async], [.await]),
    ];
    // More than one record and one read, and more than a session holds.
    let long = json!({"text": "x".repeat(100_000)}).to_string();
    for (at, runtime) in RUNTIMES.iter().enumerate() {
        let near = [urls[at].as_str(), &urls[(at + 1) % urls.len()]];
        for url in near {
            let run = |words: &[&str]| {
                windlass(&[&["call", "echo", &long, url, "--runtime", runtime, "--timeout", "5"], words].concat())
            };
            assert!(url.starts_with("https://"));
            assert_eq!(run(&["--ca", file.to_str().unwrap()]).expect(0).stdout, "here\n");
            let unchecked = run(&["--insecure", "--era", "legacy"]).expect(0);
            assert!(
                unchecked.stdout == "here\n" && unchecked.stderr.contains("no certificate is checked"),
                "{unchecked:?}"
            );
            let refused = run(&[]).expect(4);
            assert!(refused.stderr.contains("certificate") && refused.stderr.contains("--ca FILE"), "{refused:?}");
        }
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn the_demo_server_shows_its_certificate() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let folder = std::env::temp_dir().join(format!("windlass-cli-demo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, contents: String| {
        let path = folder.join(name);
        std::fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let certificate = file("certificate.pem", made.cert.pem());
    let key = file("key.pem", made.key_pair.serialize_pem());
    for (at, runtime) in RUNTIMES.iter().enumerate() {
        let demo = Demo::start_with(&["--cert", &certificate, "--key", &key, "--runtime", runtime]);
        assert!(demo.url.starts_with("https://127.0.0.1:"), "{}", demo.url);
        let client = RUNTIMES[(at + 1) % RUNTIMES.len()];
        let run = |words: &[&str]| windlass(&[&["ping", &demo.url, "--runtime", client], words].concat());
        assert!(run(&["--ca", &certificate]).expect(0).stdout.starts_with("windlass-demo "));
        assert!(run(&[]).expect(4).stderr.contains("certificate"));
        demo.interrupt("-INT");
    }
    let serve = |certificate: &str, key: &str| {
        windlass(&["serve", "--http", "127.0.0.1:0", "--cert", certificate, "--key", key]).expect(1).stderr
    };
    assert!(serve("/nonexistent.pem", &key).contains("/nonexistent.pem cannot be read"));
    assert!(serve(&key, &certificate).contains("cannot be used"));
    std::fs::remove_dir_all(&folder).unwrap();
}
