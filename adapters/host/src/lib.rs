//! What every hosted platform shares for the Model Context Protocol: the things that the engine asks of its
//! surroundings and that no runtime has to do in its own way.
//!
//! | module | what |
//! |---|---|
//! | [`clock`] | [`Clock`]: the engine's time, read from the system |
//! | [`entropy`] | [`seed`]: the engine's randomness, drawn from the system |
//! | [`command`] | [`Command`]: how to start a server |
//! | [`environment`] | which environment variables a server gets to see |
//! | [`windows_plan`] | how Windows has to be asked to start a program such as `npx` |
//! | [`child`] | [`Child`]: a running server, and its end |
//! | [`ladder`] | [`Ladder`]: when to use how much force to end it |
//! | [`stderr`] | [`StderrTail`]: the last lines of its standard error |
//! | [`spawn_error`] | [`SpawnError`]: why it did not start |
//! | `own_stdio` | `OwnStdio` (Unix): our own standard input and output, for a server |
//!
//! Nothing here knows a runtime. Adapters take the pipes of a [`Child`] and drive them in their own way.

#![cfg_attr(not(windows), forbid(unsafe_code))]
#![cfg_attr(windows, deny(unsafe_code))]

#[cfg(unix)]
pub mod asynchronous;
#[cfg(unix)]
mod canceller;
#[cfg(all(unix, feature = "http"))]
mod challenge;
pub mod child;
#[cfg(unix)]
mod client;
pub mod clock;
#[cfg(unix)]
mod closer;
pub mod command;
#[cfg(unix)]
mod completion;
#[cfg(unix)]
mod context;
mod ending;
#[cfg(unix)]
mod endpoint;
pub mod entropy;
pub mod environment;
#[cfg(unix)]
mod error;
#[cfg(unix)]
mod handler;
pub mod hub;
pub mod ladder;
mod leaving;
#[cfg(all(unix, feature = "http"))]
mod net;
#[cfg(unix)]
pub mod own_stdio;
mod process_tree;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod shared;
pub mod spawn_error;
pub mod stderr;
#[cfg(unix)]
pub mod sync;
#[cfg(unix)]
mod thread_waker;
mod waiters;
pub mod windows_plan;

#[cfg(unix)]
pub use canceller::Canceller;
#[cfg(all(unix, feature = "http"))]
pub use challenge::Challenge;
pub use child::Child;
pub use clock::Clock;
#[cfg(unix)]
pub use closer::Closer;
pub use command::Command;
#[cfg(unix)]
pub use completion::{Completion, ProgressHandler, Token};
#[cfg(unix)]
pub use context::{Cancellation, Context, ResourceRequest};
#[cfg(unix)]
pub use ending::Ending;
#[cfg(unix)]
pub use endpoint::{Connector, Endpoint};
pub use entropy::seed;
#[cfg(unix)]
pub use error::{ConnectError, Error, ServeError};
pub use ladder::{Grace, Ladder, Step};
#[cfg(all(unix, feature = "http"))]
pub use net::{DialOptions, HttpListener, HttpTarget, InvalidProxy, ProxySettings};
#[cfg(all(unix, feature = "tls"))]
pub use net::{ServerTls, TlsError, TlsOptions};
#[cfg(unix)]
pub use own_stdio::{OutputPump, OwnStdio};
pub use spawn_error::SpawnError;
pub use stderr::StderrTail;
