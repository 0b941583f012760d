//! Standard output and standard error. Nothing else writes to them, and nothing gets there that a terminal would obey,
//! but for what this program itself has to say to it.

use std::io::{self, Write};

use serde::Serialize;

use crate::harmless;

/// Writes a result for people to standard output. Whoever stops reading it has seen enough.
pub(crate) fn print(text: &str) {
    to_stdout(&harmless::text(text));
}

/// Writes a result for programs to standard output, as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) {
    to_stdout(&as_json(value));
}

/// Writes to standard error. If nobody reads it, there is nobody to tell.
pub(crate) fn tell(text: &str) {
    tell_after("", text);
}

/// The same, after an order of ours to the terminal. No peer can have written it, because it is part of the program.
pub(crate) fn tell_after(order: &'static str, text: &str) {
    to_stderr(&[order, &harmless::text(text)].concat());
}

/// Writes one line of JSON to standard error.
pub(crate) fn tell_json(value: &impl Serialize) {
    to_stderr(&as_json(value));
}

fn as_json(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => harmless::json(&text).into_owned() + "\n",
        Err(error) => unreachable!("what came as JSON can be written as JSON: {error}"),
    }
}

fn to_stdout(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn to_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
