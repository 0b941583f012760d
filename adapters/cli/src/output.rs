//! Standard output and standard error. Nothing else writes to them, and nothing gets there that a terminal would obey,
//! but for what this program itself has to say to it.

use std::io::{self, Write};
use std::sync::OnceLock;

use serde::Serialize;

use crate::failure::{Failure, FailureKind};
use crate::harmless;

/// Writes a result for people to standard output. What does not get there is for [`check`] to say.
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

/// Why something did not get to standard output, the first time that it did not.
static LOST: OnceLock<io::Error> = OnceLock::new();

fn to_stdout(text: &str) {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever stops reading has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => drop(LOST.set(error)),
        _ => {}
    }
}

/// Whether all that was printed got to where it was to go.
pub(crate) fn check() -> Result<(), Failure> {
    LOST.get().map_or(Ok(()), |error| {
        Err(Failure::new(FailureKind::Output, format!("the result could not be written to standard output: {error}")))
    })
}

fn to_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
