//! Turning the crank: a machine, what it is connected to, and who waits for that. Read in this order:
//!
//! | module | what |
//! |---|---|
//! | [`hub`] | `Hub`: a machine with its stream or its connections; everything but waiting |
//! | `endpoint` | `Endpoint`, `Connector`: the stream to the peer, and how to get one |
//! | `shared` | `Shared`: a hub that its driver and its callers have in common; `Driven`: what a driver sees of it |
//! | [`sync`] | drivers for threads: blocking, mio |
//! | [`asynchronous`] | drivers for futures: tokio, async-std, smol |
//!
//! Nothing here knows what a program makes of the events. That is a [`hub::Program`], and those are in `handles`.

pub(crate) mod asynchronous;
pub(crate) mod endpoint;
pub mod hub;
pub(crate) mod shared;
pub(crate) mod sync;

pub(crate) use hub::{Hub, Interest, Program, Reading};
