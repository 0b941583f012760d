//! The programs to talk to.

use std::time::Duration;

use windlass_host::{Command, Grace};

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

/// A real server.
pub(crate) fn server(party: &str) -> Command {
    Command::new(party).arg("serve")
}

/// A peer that misbehaves in the ways that are named, with spaces in between.
pub(crate) fn scripted(faults: &str) -> Command {
    Command::new(SCRIPTED).args(faults.split(' '))
}
