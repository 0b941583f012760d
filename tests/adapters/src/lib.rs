//! Tests of the adapters with real processes, on all runtimes.
//!
//! Every text is written once and compiled for each runtime, in the words of `windlass-test-runtimes`. The programs are parties to a conversation: `party_*` is a real server or
//! a client on one runtime, `scripted` is a peer that misbehaves on purpose.

#[cfg(unix)]
pub mod by_hand;
#[cfg(unix)]
pub mod memory;
