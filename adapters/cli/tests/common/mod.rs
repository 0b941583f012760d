//! Runs the real command.

#![allow(dead_code, reason = "not every test file uses all of it")]

use std::process::{Command, Stdio};

use serde_json::Value;
use windlass_tests::wires::{Speaker, Wire};

/// Both sides are the command itself.
const WIRE: Wire = Wire { source: "command", client: Speaker::Ours, server: Speaker::Ours };

pub(crate) const RUNTIMES: [&str; 5] = ["blocking", "mio", "tokio", "async-std", "smol"];

/// What became of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Standard output, which has to be one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error in the last line of standard error.
    pub(crate) fn json_error(&self) -> Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        let error: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        error["error"].clone()
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

/// Runs `windlass` with these words. Nobody is there to answer questions.
pub(crate) fn windlass(words: &[&str]) -> Run {
    windlass_with(words, &[])
}

/// The same, with these variables in its environment.
pub(crate) fn windlass_with(words: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let output = command.args(words).envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `windlass` with these words and the demo server on a runtime.
pub(crate) fn with_demo(server_runtime: &str, words: &[&str]) -> Run {
    let server = [env!("CARGO_BIN_EXE_windlass"), "serve", "--runtime", server_runtime];
    let server = WIRE.tapped(&server, server[0]);
    let server: Vec<&str> = server.iter().map(String::as_str).collect();
    windlass(&[words, &["--"], &server].concat())
}

/// Runs `windlass` on a terminal where somebody types this; what the terminal was told to show. Line ends are those of
/// Unix, and what the command itself has to say to the terminal is left out.
pub(crate) fn on_terminal(words: &[&str], typed: &str) -> String {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::{Read, Write};

    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let end = || Stdio::from(theirs.try_clone().unwrap());
    let mut process = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(words)
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    drop(theirs);
    let mut ours = std::fs::File::from(ours);
    ours.write_all(typed.as_bytes()).unwrap();
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    // The end is told as an error: nobody is at the other side any more.
    while let Ok(count @ 1..) = ours.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
    }
    process.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\x1b[2K", "\n").replace("\r\n", "\n")
}
