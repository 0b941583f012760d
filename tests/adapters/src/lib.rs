//! Tests of the adapters with real processes, on all runtimes.
//!
//! Every text is written once and compiled for each runtime. `words` holds what differs: how to wait, what a handler's
//! body becomes, how to run things at once. The programs are parties to a conversation: `party_*` is a real server or
//! a client on one runtime, `scripted` is a peer that misbehaves on purpose.

#[cfg(unix)]
pub mod by_hand;
#[cfg(unix)]
pub mod memory;
#[cfg(unix)]
pub mod pause;
