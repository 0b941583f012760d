//! Exit codes, and what is said when something is wrong.

#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use common::{RUNTIMES, Run, windlass, with_demo};

#[test]
fn wrong_usage_is_1() {
    for words in
        [&["frobnicate"][..], &["list"], &["call", "--", "x"], &["--runtime", "glommio"], &["list", "--x", "--", "x"]]
    {
        let run = windlass(words).expect(1);
        assert!(run.stdout.is_empty() && run.stderr.contains("windlass help"), "{run:?}");
    }
    let error = windlass(&["list", "--json"]).expect(1).json_error();
    assert_eq!((&error["kind"], &error["exitCode"]), (&"usage".into(), &1.into()));
}

#[test]
fn a_value_that_does_not_fit_is_1_and_names_the_key() {
    let run = with_demo("blocking", &["call", "countdown", "steps=many"]).expect(1);
    assert!(run.stderr.contains("`steps` must be an integer"), "{run:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_6() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let output = command.arg("help").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"), "{output:?}");
    // Whoever stops reading has seen enough.
    let (reading, writing) = UnixStream::pair().unwrap();
    drop(reading);
    let output =
        Command::new(env!("CARGO_BIN_EXE_windlass")).arg("help").stdout(OwnedFd::from(writing)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_error_of_the_tool_is_5() {
    for runtime in RUNTIMES {
        let run = with_demo(runtime, &["call", "countdown", "steps=0", "--runtime", runtime]).expect(5);
        assert_eq!(run.stdout, "steps must be from 1 to 100, not 0\n");
    }
    let run = with_demo("mio", &["call", "--json", "echo"]).expect(5);
    assert_eq!(run.json()["isError"], true);
    assert_eq!(run.json_error()["kind"], "tool");
}

#[test]
fn an_unknown_tool_is_5() {
    for era in ["legacy", "modern"] {
        let run = with_demo("tokio", &["call", "nothing", "a=1", "--json", "--era", era]).expect(5);
        let error = run.json_error();
        assert!(run.stdout.is_empty(), "{run:?}");
        assert_eq!((&error["kind"], &error["code"]), (&"server".into(), &(-32602).into()), "{run:?}");
    }
}

#[test]
fn a_server_that_does_not_start_is_4() {
    for runtime in RUNTIMES {
        let run = windlass(&["list", "--runtime", runtime, "--", "/nonexistent/server"]).expect(4);
        assert!(run.stderr.contains("does not exist"), "{run:?}");
    }
}

#[test]
fn a_server_that_dies_is_4_and_its_last_words_are_shown() {
    for runtime in RUNTIMES {
        let words = [
            "ping",
            "--json",
            "--era",
            "legacy",
            "--runtime",
            runtime,
            "--",
            "sh",
            "-c",
            "echo no licence >&2; exit 3",
        ];
        let run = windlass(&words).expect(4);
        assert_eq!(run.json_error()["kind"], "unreachable");
        assert_eq!(run.json_error()["stderr"], serde_json::json!(["no licence"]));
        assert!(run.stderr.starts_with("no licence\n"), "{run:?}");
    }
}

#[test]
fn a_server_that_stays_silent_is_4_and_does_not_outlive_the_command() {
    for runtime in RUNTIMES {
        let server = ["sh", "-c", "echo $$ >&2; exec sleep 1000"];
        let words = ["list", "--era", "modern", "--timeout", "0.3", "--runtime", runtime, "--"];
        let run = windlass(&[&words[..], &server].concat()).expect(4);
        let process = run.stderr.lines().next().unwrap_or_default();
        let is_alive = Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status().unwrap().success();
        assert!(!is_alive, "{runtime}: {run:?}");
    }
}

#[test]
fn a_call_that_takes_too_long_is_4() {
    let slow = ["call", "countdown", "steps=1", "milliseconds=1000", "--timeout", "0.1"];
    for runtime in RUNTIMES {
        let run = with_demo(runtime, &[&slow[..], &["--runtime", runtime]].concat()).expect(4);
        assert!(run.stderr.contains("did not answer within"), "{run:?}");
    }
}

#[test]
fn progress_does_not_extend_the_time_of_the_command() {
    let chatty = ["call", "countdown", "steps=40", "milliseconds=100", "--timeout", "1"];
    for runtime in RUNTIMES {
        let run = with_demo(runtime, &[&chatty[..], &["--runtime", runtime]].concat()).expect(4);
        assert!(run.stderr.contains("the whole command") && run.stderr.contains("1/40"), "{run:?}");
        assert!(!run.stderr.contains("40/40") && run.stdout.is_empty(), "{run:?}");
    }
}

#[test]
fn all_pages_together_have_the_time_of_the_command() {
    // Ten pages, each of which comes in time.
    let server = r#"
        page=0
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
            case $line in
                *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"tools/list"'*)
                    sleep 0.3
                    page=$((page + 1))
                    next=$([ $page -lt 10 ] && printf ',"nextCursor":"%s"' $page)
                    result="{\"tools\":[]$next}" ;;
                *) continue ;;
            esac
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
        done
    "#;
    for runtime in RUNTIMES {
        let words = ["list", "--era", "legacy", "--timeout", "1", "--runtime", runtime, "--", "sh", "-c", server];
        let run = windlass(&words).expect(4);
        assert!(run.stderr.contains("the whole command") && run.stdout.is_empty(), "{run:?}");
    }
}

/// A server with more tools than a pipe holds. It says which process it is, and that it was told of the end of its input.
const LONG_LIST: &str = r#"
    echo "busy $$" >&2
    read initialize
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"long","version":"1"}}}'
    read initialized
    read list
    printf '{"jsonrpc":"2.0","id":2,"result":{"tools":['
    awk 'BEGIN { for (i = 0; i < 4000; i++) printf "{\"name\":\"tool-%d\",\"description\":\"one of so many that nobody reads all of them\",\"inputSchema\":{\"type\":\"object\"}},", i }'
    echo '{"name":"last","inputSchema":{"type":"object"}}]}}'
    while read line; do :; done
    echo "end of input" >&2
"#;

/// Runs the command with a standard output of which somebody reads this many lines before going away.
fn read_by(lines: usize, words: &[&str]) -> Run {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(words).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut process = match lines {
        // Nobody is there from the first word on.
        0 => {
            drop(ours);
            command.stdout(OwnedFd::from(theirs)).spawn().unwrap()
        }
        _ => command.stdout(Stdio::piped()).spawn().unwrap(),
    };
    let stdout = process.stdout.take().map(|stdout| BufReader::new(stdout).lines().take(lines));
    let stdout = stdout.into_iter().flatten().map(Result::unwrap).collect::<Vec<_>>().join("\n");
    let output = process.wait_with_output().unwrap();
    Run { code: output.status.code(), stdout, stderr: String::from_utf8(output.stderr).unwrap() }
}

#[test]
fn whoever_stops_reading_has_seen_enough() {
    for runtime in RUNTIMES {
        for (lines, json) in [(1, &[][..]), (0, &[]), (0, &["--json"])] {
            let words =
                [&["list", "--era", "legacy", "--runtime", runtime], json, &["--", "sh", "-c", LONG_LIST]].concat();
            let run = read_by(lines, &words).expect(0);
            // Nothing but what the server says: no complaint of the command's, and none of Rust's.
            let (busy, rest) = run.stderr.split_once('\n').unwrap();
            assert_eq!(rest, "end of input\n", "{runtime}: {run:?}");
            assert_eq!(run.stdout, if lines == 0 { "" } else { "long 1, protocol 2025-11-25 (legacy)" });
            let process = busy.strip_prefix("busy ").unwrap();
            let is_alive = Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status().unwrap().success();
            assert!(!is_alive, "{runtime}: {run:?}");
        }
    }
}

#[test]
fn what_came_of_it_is_told_by_the_exit_code_though_nobody_reads() {
    let demo = [env!("CARGO_BIN_EXE_windlass"), "serve"];
    for runtime in RUNTIMES {
        for (words, code) in [
            (&["ping"][..], 0),
            (&["call", "echo", "text=ahoy"], 0),
            (&["call", "countdown", "steps=0"], 5),
            (&["call", "nothing", "a=1", "--json"], 5),
        ] {
            let run = read_by(0, &[words, &["--runtime", runtime, "--"], &demo].concat()).expect(code);
            assert!(!run.stderr.contains("panicked") && !run.stderr.contains("pipe"), "{runtime}: {run:?}");
        }
        // The tour is many words, each of which may be the first that nobody reads.
        let run = read_by(0, &["--runtime", runtime]).expect(0);
        assert!(!run.stderr.contains("panicked") && !run.stderr.contains("pipe"), "{runtime}: {run:?}");
    }
    for words in ["help", "--version"] {
        assert_eq!(read_by(0, &[words]).expect(0).stderr, "");
    }
}
