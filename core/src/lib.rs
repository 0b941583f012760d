//! **Windlass** is a Model Context Protocol engine that does no I/O of its own.
//!
//! Bytes, time and calls go in; bytes to send, streams to open or close, one deadline and events come out. An adapter
//! turns the crank: `windlass-tokio`, `windlass-async-std`, `windlass-smol`, `windlass-blocking`, `windlass-mio`, or a
//! loop of your own around [`Machine`]. This crate is `no_std`, has no `unsafe`, reads no clock and draws no randomness.
//!
//! Most programs use an adapter and meet this crate through its types: [`model`] for the protocol's, [`client`] and
//! [`server`] for configuration and events. Whoever ports to another runtime needs [`Machine`] and the machines in
//! [`link`].
//!
//! Modules depend on those below them only:
//!
//! ```text
//! link      a role bound to byte streams: stdio, HTTP
//! client    the client role: negotiation, typed calls, input requests, caches
//! server    the server role: registry, dispatch, subscriptions
//! call      what calls of either role have in common
//! rpc       a JSON-RPC peer without a role: correlation, deadlines, cancellation
//! auth      authorization: OAuth 2.1 for clients, what protects a server, the guard on URLs
//! observer  what is told to whoever watches
//! machine   the contract with whoever moves the bytes
//! error     why something failed, by whose fault
//! model     the types of the protocol, one file per feature, and the table of methods
//! jsonrpc   the envelope: ids, requests, notifications, responses, errors, batches
//! codec     bytes to frames and back
//! time, entropy, limits, buffer, table, json, secret, principal, url, address
//! ```
//!
//! # Features
//!
//! | feature | by default | what it brings |
//! |---|---|---|
//! | `client` | yes | the client role: `client`, and its links |
//! | `server` | yes | the server role: `server`, its links, and the cipher that seals what modern clients keep for it |
//! | `http` | yes | Streamable HTTP for the roles that there are: its codecs and its links |
//! | `auth` | no | authorization over HTTP, for the roles that there are |
//! | `es256` | no | a `Signer` that holds a P-256 key in memory |
//!
//! They combine freely. A program that has one role compiles nothing of the other; without either the types of the protocol
//! are left, and the codecs.
//!
//! # What we regret
//!
//! - [`client::CallOptions`] serves calls of a server's to its client too, where some of it has no meaning.
//! - A machine asks for its peer to be opened even when the adapter has it open already, as a server's own stdin is.
//! - [`link::http::HttpOneShot::new`] takes the method, the parameters and the options of its call as a tuple.
//! - Over HTTP a temporary redirect is followed again by every request.

#![no_std]
#![forbid(unsafe_code)]
// The roles have what the links on HTTP need of them, and what is below has what the roles need; without those some of it
// is left over.
#![cfg_attr(not(all(feature = "http", any(feature = "client", feature = "server"))), allow(dead_code))]
#![cfg_attr(not(any(feature = "client", feature = "server")), allow(unused_imports))]

extern crate alloc;

// Hosts and URLs are shown by the links.
#[cfg_attr(not(any(feature = "client", feature = "server")), allow(unreachable_pub))]
#[cfg(feature = "http")]
mod address;
#[cfg(feature = "auth")]
pub mod auth;
#[cfg(any(feature = "client", feature = "server"))]
mod buffer;
#[cfg(any(feature = "client", feature = "server"))]
mod call;
#[cfg(feature = "client")]
pub mod client;
pub mod codec;
#[cfg(any(feature = "server", all(feature = "client", feature = "http")))]
mod entropy;
mod error;
mod json;
pub mod jsonrpc;
mod limits;
#[cfg(any(feature = "client", feature = "server"))]
pub mod link;
mod machine;
pub mod model;
mod observer;
#[cfg(feature = "server")]
mod principal;
mod secret;
#[cfg(feature = "server")]
pub mod server;
// A session speaks in both directions, and a role alone uses more of the one than of the other.
#[cfg_attr(not(all(feature = "client", feature = "server")), allow(dead_code))]
#[cfg(any(feature = "client", feature = "server"))]
mod rpc;
#[cfg(any(feature = "client", feature = "server"))]
mod table;
mod time;
#[cfg_attr(not(any(feature = "client", feature = "server")), allow(unreachable_pub))]
#[cfg(feature = "http")]
mod url;

#[cfg(any(feature = "server", all(feature = "client", feature = "http")))]
pub use entropy::Seed;
pub use error::{CallError, CloseReason, ConnError, ConnErrorKind, HttpFailure, NegotiationError, Refused, SendError};
pub use json::{Json, JsonText};
pub use jsonrpc::RpcError;
pub use limits::Limits;
pub use machine::{ConnId, HttpTarget, Machine, Output, Target};
pub use observer::{
    Direction, Failure, Finished, MessageKind, Observation, Observed, Observer, Outcome, Passed, Phase, SessionId,
};
#[cfg(any(feature = "client", feature = "server"))]
pub use rpc::{Counters, RequestKey};
pub use secret::Secret;
pub use time::{Instant, earliest};
