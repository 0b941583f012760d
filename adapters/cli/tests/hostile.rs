//! A server that puts what a terminal would obey into everything that it can say. Nothing of it reaches the terminal.

#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use common::{RUNTIMES, Run, on_terminal, windlass};

/// All of it, in the escapes of JSON: the clipboard, a title, colours by C1, text turned around, a line gone over, and
/// what is not seen. `MARK` shows that it has come through.
const PAYLOAD: &str = r"MARK\u001b]52;c;TUFSSw==\u0007\u001b]0;x\u0007\u009b31m\u202egnirts\u2066\u200f\u2028\u2029\u0085\u000d\u0008\u007f\u200b\ufeff";

/// A legacy server that has `PAYLOAD` in everything. It is a script, so that no library of ours stands in its way.
fn server() -> String {
    let script = r#"
        say() { printf '%s\n' "$1"; }
        printf 'stderr MARK \033]52;c;TUFSSw==\007 \233 \302\233 \342\200\256 \r over \010 \n' >&2
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
            result() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
            case $line in
            *'"initialize"'*)
                result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{}},"serverInfo":{"name":"PAYLOAD","version":"PAYLOAD","title":"PAYLOAD"},"instructions":"PAYLOAD\nPAYLOAD"}' ;;
            *'"tools/list"'*)
                result '{"tools":[{"name":"PAYLOAD","title":"PAYLOAD","description":"PAYLOAD\nPAYLOAD","inputSchema":{"type":"object","properties":{"PAYLOAD":{"type":["PAYLOAD","integer"],"description":"PAYLOAD"}},"required":["PAYLOAD"]}},{"name":"b","title":"PAYLOAD","inputSchema":{"type":"object"}}]}' ;;
            *'"resources/list"'*)
                result '{"resources":[{"uri":"x:PAYLOAD","name":"PAYLOAD","title":"PAYLOAD","description":"PAYLOAD","mimeType":"PAYLOAD"},{"uri":"x:y","name":"PAYLOAD"}]}' ;;
            *'"resources/templates/list"'*)
                result '{"resourceTemplates":[{"uriTemplate":"x:PAYLOAD","name":"PAYLOAD","description":"PAYLOAD","mimeType":"PAYLOAD"}]}' ;;
            *'"prompts/list"'*)
                result '{"prompts":[{"name":"PAYLOAD","title":"PAYLOAD","arguments":[{"name":"PAYLOAD","title":"PAYLOAD","description":"PAYLOAD","required":true}]}]}' ;;
            *'"name":"content"'*)
                result '{"content":[{"type":"text","text":"first line\n\tPAYLOAD\nPAYLOAD"},{"type":"image","data":"AAAA","mimeType":"PAYLOAD"},{"type":"audio","data":"PAYLOAD","mimeType":"PAYLOAD"},{"type":"resource_link","uri":"x:PAYLOAD","name":"PAYLOAD","title":"PAYLOAD","mimeType":"PAYLOAD","size":1},{"type":"resource","resource":{"uri":"x:PAYLOAD","mimeType":"PAYLOAD","text":"PAYLOAD"}},{"type":"resource","resource":{"uri":"x:PAYLOAD","mimeType":"PAYLOAD","blob":"AAAA"}},{"type":"PAYLOAD","PAYLOAD":"PAYLOAD"}],"structuredContent":{"PAYLOAD":["PAYLOAD"]},"isError":true}' ;;
            *'"name":"chatter"'*)
                token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\("[^"]*"\|[0-9]*\).*/\1/p')
                say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"PAYLOAD","data":"PAYLOAD\nwindlass: PAYLOAD"}}'
                say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"PAYLOAD":"PAYLOAD"}}}'
                say '{"jsonrpc":"2.0","method":"notifications/PAYLOAD","params":{"PAYLOAD":"PAYLOAD"}}'
                say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1,\"total\":2,\"message\":\"PAYLOAD\"}}"
                printf 'garbage MARK \033]52;c;TUFSSw==\007 \302\233 \342\200\256 \n'
                printf '{"jsonrpc":"2.0","PAYLOAD":1}\n'
                result '{"content":[]}' ;;
            *'"name":"ask"'*)
                call=$id
                say '{"jsonrpc":"2.0","id":"PAYLOAD","method":"elicitation/create","params":{"mode":"form","message":"PAYLOAD\nPAYLOAD","requestedSchema":{"type":"object","properties":{"PAYLOAD":{"type":"string","title":"PAYLOAD","description":"PAYLOAD","enum":["PAYLOAD","b"],"enumNames":["PAYLOAD","PAYLOAD"],"default":"PAYLOAD"}}}}}'
                read -r answer
                say '{"jsonrpc":"2.0","id":"PAYLOAD2","method":"elicitation/create","params":{"mode":"url","elicitationId":"1","message":"PAYLOAD","url":"https://example.com/PAYLOAD"}}'
                read -r answer
                say '{"jsonrpc":"2.0","id":"three","method":"elicitation/create","params":{"mode":"url","elicitationId":"2","message":"visit us","url":"javascript:alert(1)"}}'
                read -r answer
                say '{"jsonrpc":"2.0","id":"four","method":"elicitation/create","params":{"mode":"url","elicitationId":"3","message":"visit us","url":"http://example.com/x"}}'
                read -r answer
                id=$call
                result "{\"content\":[{\"type\":\"text\",\"text\":$(printf '%s' "$answer" | sed -n 's/.*"action":\("[a-z]*"\).*/\1/p')}]}" ;;
            *'"name":"fail"'*)
                say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"PAYLOAD\nwindlass: PAYLOAD\",\"data\":{\"PAYLOAD\":\"PAYLOAD\"}}}" ;;
            *'"name":"wrong"'*)
                say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":\"PAYLOAD\"}}" ;;
            *'"ping"'*) result '{}' ;;
            esac
        done
    "#;
    script.replace("PAYLOAD", PAYLOAD)
}

/// Runs the command with the hostile server, and without a terminal.
fn hostile(words: &[&str]) -> Run {
    windlass(&[words, &["--era", "legacy", "--", "sh", "-c", &server()]].concat())
}

/// Whether a terminal obeys it, or shows something else than what it says.
fn steers(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text holds what the server said so many times at least, and nothing that steers.
#[track_caller]
fn check(what: &str, text: &str, marks: usize) {
    assert!(!text.contains(steers), "{what}: {text:?}");
    assert!(text.matches("MARK").count() >= marks, "{what} has {} of it: {text}", text.matches("MARK").count());
}

#[test]
fn nothing_that_a_server_says_steers_the_terminal() {
    for runtime in RUNTIMES {
        let run = |words: &[&str]| hostile(&[words, &["--runtime", runtime]].concat());
        let ping = run(&["ping"]).expect(0);
        check("ping", &ping.stdout, 1);
        check("standard error", &ping.stderr, 1);

        let list = run(&["list"]).expect(0);
        check("list", &list.stdout, 21);

        let content = run(&["call", "content", "{}"]).expect(5);
        check("content", &content.stdout, 15);
        assert!(content.stdout.starts_with("first line\n\tMARK"), "lines and tabs stay: {content:?}");

        let chatter = run(&["call", "chatter", "{}"]).expect(0);
        check("chatter", &chatter.stderr, 7);
        assert!(!chatter.stderr.contains("\nwindlass: "), "nobody speaks in our name: {chatter:?}");

        check("questions", &run(&["call", "ask", "{}"]).expect(0).stderr, 3);

        let failed = run(&["call", "fail", "{}"]).expect(5);
        check("fail", &failed.stderr, 2);
        assert_eq!(failed.stderr.matches("\nwindlass: ").count(), 1, "{failed:?}");
        check("wrong", &run(&["call", "wrong", "{}"]).expect(5).stderr, 1);
    }
}

#[test]
fn json_is_the_same_json_and_steers_nothing() {
    let all: String = serde_json::from_str(&format!("\"{PAYLOAD}\"")).unwrap();
    for runtime in RUNTIMES {
        let run = |words: &[&str]| hostile(&[words, &["--json", "--runtime", runtime]].concat());
        let list = run(&["list"]).expect(0);
        check("list", &list.stdout, 20);
        assert_eq!(list.json()["tools"][0]["name"], all);
        let content = run(&["call", "content", "{}"]).expect(5);
        check("content", &content.stdout, 15);
        assert_eq!(content.json()["content"][1]["mimeType"], all);
        let failed = run(&["call", "fail", "{}"]).expect(5);
        check("fail", &failed.stderr, 4);
        assert_eq!(failed.json_error()["data"][&all], all);
    }
}

#[test]
fn nothing_that_a_server_asks_steers_the_terminal() {
    let script = server();
    for runtime in RUNTIMES {
        let words = ["call", "ask", "{}", "--era", "legacy", "--runtime", runtime, "--", "sh", "-c", &script];
        // The first choice of the form, and yes to the only page that is offered.
        let shown = on_terminal(&words, "1\nyes\n");
        check(runtime, &shown, 8);
        assert!(shown.contains("declined, because what it wants to be visited is no valid address"), "{shown}");
        assert!(shown.contains("declined, because what it wants to be visited is no page of the web"), "{shown}");
        assert!(!shown.contains("javascript"), "{shown}");
        assert!(shown.contains("visit a page on example.com\n  http://example.com/x\n"), "{shown}");
        assert!(shown.contains("not encrypted") && shown.ends_with("accept\n"), "{shown}");
        let words = ["call", "chatter", "{}", "--era", "legacy", "--runtime", runtime, "--", "sh", "-c", &script];
        check(runtime, &on_terminal(&words, ""), 6);
    }
}

/// A web server that answers everything with the same.
fn always(response: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut request = BufReader::new(stream.try_clone().unwrap());
            while request.read_line(&mut line).unwrap_or(0) > 2 {
                line.clear();
            }
            let _ = stream.write_all(&response);
        }
    });
    url
}

#[test]
fn nothing_that_a_web_server_says_steers_the_terminal() {
    let hostile = "MARK \x1b]52;c;TUFSSw==\x07 \u{9b} \u{202e} \x7f";
    // Header values are bytes; what is no text in them must do no harm either.
    let body = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .into_bytes()
    };
    let servers = [
        always(body("500 Oops", "Content-Type: text/plain\r\n", hostile)),
        always(body("401 No", &format!("WWW-Authenticate: Bearer realm=\"{}\"\r\n", "MARK \u{9b}\u{202e}"), hostile)),
        always(body(&format!("418 {}", "MARK \u{9b}\u{202e}"), "", hostile)),
        always(body("200 OK", &format!("Content-Type: text/{}\r\n", "MARK\u{9b}\u{202e}"), hostile)),
        always(body("302 Found", &format!("Location: http://127.0.0.1:1/{}\r\n", "MARK\u{9b}\u{202e}"), hostile)),
        always(body(
            "200 OK",
            "Content-Type: application/json\r\n",
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"message\":\"{PAYLOAD}\"}}}}"),
        )),
    ];
    for runtime in RUNTIMES {
        for url in &servers {
            for format in [&["list"][..], &["list", "--json"]] {
                let run = windlass(&[format, &["--runtime", runtime, "--timeout", "5", url]].concat());
                assert_ne!(run.code, Some(0), "{run:?}");
                check(url, &run.stderr, 0);
                check(url, &run.stdout, 0);
            }
        }
    }
}

#[test]
fn a_server_that_floods_is_cut_short_and_what_is_missing_is_counted() {
    // Lines that are no messages, on both ways out, for as long as anybody lets it.
    let flood = r#"
        yes 'MARK this is a log that has gone the wrong way' >&2 &
        exec yes 'MARK this is a log that has gone the wrong way'
    "#;
    for runtime in RUNTIMES {
        let words = ["list", "--era", "legacy", "--timeout", "1", "--runtime", runtime, "--", "sh", "-c", flood];
        let run = windlass(&words).expect(4);
        assert!(run.stderr.len() < 1024 * 1024, "{runtime}: {} bytes", run.stderr.len());
        assert!(run.stderr.contains("begins \"MARK this is a log"), "{}", &run.stderr[..1_000]);
        assert!(run.stderr.contains(" lines of the server's are left out here"), "{runtime}");
    }
}
