//! The promise of the adapters, checked on the examples: on every runtime a program has the same text, but for `async`,
//! `.await` and the name of the crate.

use std::path::Path;

/// The runtimes by the name in their crate's, and as the first line of an example calls them.
const RUNTIMES: [(&str, &str); 5] =
    [("tokio", "tokio"), ("smol", "smol"), ("async_std", "async-std"), ("blocking", "plain threads"), ("mio", "mio")];

#[test]
fn every_client_has_the_same_text() {
    assert_same_text("client");
}

#[test]
fn every_server_has_the_same_text() {
    assert_same_text("server");
}

#[test]
fn every_client_that_logs_in_has_the_same_text() {
    assert_same_text("login");
}

#[test]
fn every_server_that_is_protected_has_the_same_text() {
    assert_same_text("protected");
}

fn assert_same_text(role: &str) {
    let texts = RUNTIMES.map(|(name, title)| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/bin/{role}_{name}.rs"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (name, essence(&text, name, title))
    });
    let (first, expected) = &texts[0];
    for (other, text) in &texts[1..] {
        let differs = expected.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        assert!(
            text == expected,
            "{role}_{first} and {role}_{other} part ways:\n  {}\n  {}",
            excerpt(expected, differs),
            excerpt(text, differs),
        );
    }
}

/// What is left of a text when everything is gone that may differ between runtimes.
fn essence(text: &str, name: &str, title: &str) -> String {
    let (first_line, rest) = text.split_once('\n').expect("an example has more than one line");
    let first_line = first_line.replace(&format!(", on {title}."), "");
    let rest = rest
        .replace(&format!("windlass_{name}"), "windlass")
        .replace(&format!("client_{name}"), "client")
        .replace(&format!("server_{name}"), "server")
        .replace(&format!("login_{name}"), "login")
        .replace(&format!("protected_{name}"), "protected")
        .replace("async move ", "")
        .replace("async ", "")
        .replace(".await", "");
    without_layout(&format!("{first_line}\n{rest}"))
}

/// Drops what rustfmt decides by the length of a line: white space, and commas before a closing bracket. What is within
/// quotes stays.
fn without_layout(text: &str) -> String {
    let mut kept = String::new();
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            _ if quoted => {}
            ')' | ']' | '}' if kept.ends_with(',') => drop(kept.pop()),
            _ if character.is_whitespace() => continue,
            _ => {}
        }
        kept.push(character);
    }
    kept
}

/// A piece of the text around the place where it differs.
fn excerpt(text: &str, place: usize) -> String {
    String::from_utf8_lossy(text.as_bytes().get(place.saturating_sub(40)..).unwrap_or_default())
        .chars()
        .take(80)
        .collect()
}

#[test]
fn an_edit_of_one_text_only_is_seen() {
    let asynchronous =
        "//! It, on tokio.\nuse windlass_tokio::run;\nasync fn f() {\n    g(\n        \"a b\",\n    )\n    .await;\n}";
    let synchronous = "//! It, on mio.\nuse windlass_mio::run;\nfn f() {\n    g(\"a b\");\n}";
    let expected = essence(asynchronous, "tokio", "tokio");
    assert_eq!(essence(synchronous, "mio", "mio"), expected);
    for (from, to) in [("a b", "ab"), ("g(", "h("), (";\n}", ";\n    g();\n}"), ("It", "That"), ("run", "Client")] {
        let edited = synchronous.replace(from, to);
        assert_ne!(essence(&edited, "mio", "mio"), expected, "{from:?} became {to:?}, and nobody noticed");
    }
}
