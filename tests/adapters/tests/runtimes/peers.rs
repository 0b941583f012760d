//! The programs to talk to.

use std::time::Duration;

use windlass_host::{Command, Grace};
use windlass_tests::wires::{Speaker, Wire};

pub(crate) const PARTY_TOKIO: &str = env!("CARGO_BIN_EXE_party_tokio");
pub(crate) const PARTY_ASYNC_STD: &str = env!("CARGO_BIN_EXE_party_async_std");
pub(crate) const PARTY_SMOL: &str = env!("CARGO_BIN_EXE_party_smol");
pub(crate) const PARTY_BLOCKING: &str = env!("CARGO_BIN_EXE_party_blocking");
pub(crate) const PARTY_MIO: &str = env!("CARGO_BIN_EXE_party_mio");

/// The servers of all runtimes.
pub(crate) const PARTIES: [&str; 5] = [PARTY_TOKIO, PARTY_ASYNC_STD, PARTY_SMOL, PARTY_BLOCKING, PARTY_MIO];

/// The program that misbehaves.
pub(crate) const SCRIPTED: &str = env!("CARGO_BIN_EXE_scripted");

/// How long a server is given at each step of its shutdown, where it is known to need all of it.
pub(crate) const SHORT_GRACE: Grace = Grace { eof: Duration::from_millis(50), terminate: Duration::from_millis(50) };

/// Both sides are ours.
pub(crate) const AMONG_US: Wire = Wire { source: "adapters", client: Speaker::Ours, server: Speaker::Ours };

/// The same over HTTP.
pub(crate) const OVER_HTTP: Wire = Wire { source: "adapters over http", ..AMONG_US };

/// The client is ours, and the server is [`SCRIPTED`].
pub(crate) const BY_SCRIPT: Wire = Wire { source: "adapters", client: Speaker::Ours, server: Speaker::Raw };

/// The server is ours, and a test is its client.
pub(crate) const BY_HAND: Wire = Wire { source: "adapters", client: Speaker::Raw, server: Speaker::Ours };

/// A real server.
pub(crate) fn server(party: &str) -> Command {
    command(&AMONG_US, &[party, "serve"])
}

/// A peer that misbehaves in the ways that are named, with spaces in between.
pub(crate) fn scripted(faults: &str) -> Command {
    let words: Vec<&str> = [SCRIPTED].into_iter().chain(faults.split(' ')).collect();
    command(&BY_SCRIPT, &words)
}

/// A shell that prepares something and becomes the peer that misbehaves, which it knows as `$0`.
pub(crate) fn scripted_by_shell(script: &str) -> Command {
    command(&BY_SCRIPT, &["sh", "-c", script, SCRIPTED])
}

fn command(wire: &Wire, words: &[&str]) -> Command {
    let words = wire.tapped(words, SCRIPTED);
    Command::new(&words[0]).args(&words[1..])
}
