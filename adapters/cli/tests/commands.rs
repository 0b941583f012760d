//! `list`, `call` and `ping` against the demo server, on every runtime at either end and in both eras.

#![cfg(unix)]

mod common;

use common::{RUNTIMES, Run, with_demo};
use serde_json::json;

/// Every runtime as a client, with the next one as its server, in both eras.
fn everywhere(words: &[&str], check: impl Fn(Run)) {
    for (at, runtime) in RUNTIMES.iter().enumerate() {
        let server_runtime = RUNTIMES[(at + 1) % RUNTIMES.len()];
        for era in ["legacy", "modern"] {
            check(with_demo(server_runtime, &[words, &["--runtime", runtime, "--era", era]].concat()));
        }
    }
}

#[test]
fn list_shows_all_that_the_server_has() {
    everywhere(&["list"], |run| {
        let run = run.expect(0);
        for part in [
            "\ntools\n  echo        Says back",
            "\n      text  string, required  What to say back\n",
            "\nresources\n  demo://guide  text/markdown  ",
            "\nresource templates\n  demo://convert/{value}/{from}/{to}  text/plain  ",
            "\nprompts\n  code_review  Asks",
            "\n      language  string, required  ",
        ] {
            assert!(run.stdout.contains(part), "{part:?}: {run:?}");
        }
        assert_eq!(run.stderr, "");
    });
}

#[test]
fn list_as_json_is_one_object() {
    everywhere(&["list", "--json"], |run| {
        let listing = run.expect(0).json();
        assert_eq!(listing["serverInfo"]["name"], "windlass-demo");
        assert_eq!(listing["tools"].as_array().map(Vec::len), Some(5), "{listing}");
        assert_eq!(listing["tools"][0]["inputSchema"]["required"], json!(["text"]));
        assert_eq!(listing["resources"][0]["uri"], "demo://guide");
        assert_eq!(listing["resourceTemplates"][0]["name"], "convert");
        assert_eq!(listing["prompts"][0]["arguments"][0]["name"], "language");
        assert!(listing["capabilities"]["completions"].is_object());
    });
}

#[test]
fn ping_says_who_answered() {
    everywhere(&["ping"], |run| {
        let run = run.expect(0);
        assert!(run.stdout.starts_with("windlass-demo ") && run.stdout.contains(" answered in "), "{run:?}");
    });
    let answer = with_demo("mio", &["ping", "--json"]).expect(0).json();
    assert_eq!(answer["protocolVersion"], "2026-07-28");
    assert!(answer["milliseconds"].as_f64().is_some_and(|milliseconds| milliseconds > 0.0), "{answer}");
}

#[test]
fn a_call_shows_progress_on_standard_error_and_the_result_on_standard_output() {
    everywhere(&["call", "countdown", "steps=3", "milliseconds=1"], |run| {
        let run = run.expect(0);
        assert_eq!(run.stdout, "lift-off after 3 steps in 0.0 s\n");
        let lines: Vec<_> = run.stderr.lines().collect();
        assert_eq!(lines.len(), 3, "{run:?}");
        assert!(lines[0].ends_with("1/3  2 to go") && lines[2].ends_with("3/3  lift-off"), "{run:?}");
    });
}

#[test]
fn structured_content_is_shown_as_json_once() {
    let run = with_demo("smol", &["call", "word_count", "text=ahoy there"]).expect(0);
    assert_eq!(run.json(), json!({"characters": 10, "words": 2, "lines": 1, "longestWord": "there"}));
    assert!(run.stdout.find("characters") < run.stdout.find("words"), "the order is the server's: {run:?}");
    let whole = with_demo("smol", &["call", "--json", "word_count", "text=ahoy there"]).expect(0).json();
    assert_eq!(whole["structuredContent"]["words"], 2);
    assert_eq!(whole["content"][0]["type"], "text");
}

#[test]
fn an_image_is_described() {
    let run = with_demo("tokio", &["call", "chart", "values=[3,1,-4,1.5]"]).expect(0);
    assert!(run.stdout.starts_with("4 values from -4 to 3\n[image: image/png, "), "{run:?}");
    let whole = with_demo("tokio", &["call", "--json", "chart", "{\"values\": [1]}"]).expect(0).json();
    assert_eq!(whole["content"][1]["mimeType"], "image/png");
    assert!(whole["content"][1]["data"].as_str().is_some_and(|data| data.starts_with("iVBORw0KGgo")), "{whole}");
}

#[test]
fn a_question_without_a_terminal_is_declined() {
    everywhere(&["call", "greet"], |run| {
        let run = run.expect(0);
        assert!(run.stdout.starts_with("Hello, whoever you are."), "{run:?}");
        assert!(run.stderr.contains("the server asks: How would you like to be greeted?"), "{run:?}");
        assert!(run.stderr.contains("declined"), "{run:?}");
    });
}

#[test]
fn arguments_take_the_types_of_the_schema() {
    let echo = |words: &[&str]| with_demo("blocking", &[&["call", "echo"][..], words].concat());
    assert_eq!(echo(&["text=5"]).expect(0).stdout, "5\n");
    assert_eq!(echo(&["text=a=b"]).expect(0).stdout, "a=b\n");
    assert_eq!(echo(&["text:=\"five\""]).expect(0).stdout, "five\n");
    assert_eq!(echo(&["{\"text\": \"all\"}"]).expect(0).stdout, "all\n");
}
