//! The deterministic runtime for **Windlass**: a virtual clock, a seeded network, readable transcripts.
//!
//! A client and a server run in one process, or one of them against a script. Nothing sleeps, nothing is random, and
//! nothing runs in parallel: the seed decides how bytes are cut up and delayed, and the same seed gives the same run,
//! to the byte. Time jumps, so a test of a ten-minute timeout takes no time.
//!
//! ```
//! use windlass::client::ClientConfig;
//! use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, Tool};
//! use windlass::server::{Registry, ServerConfig};
//! use windlass_sim::{Sim, SimServer, NetworkConditions, handler};
//!
//! fn server() -> SimServer {
//!     let mut registry = Registry::new();
//!     registry.add_tool(
//!         Tool::without_arguments("greet"),
//!         handler(|_| Ok(CallToolResult::text("hello").into())),
//!     );
//!     SimServer::new(ServerConfig::new(Implementation::new("greeter", "1")), registry, 1)
//! }
//!
//! let client = ClientConfig::new(Implementation::new("doc", "1"));
//! let mut sim = Sim::new(7, NetworkConditions::rough(), client, server);
//! assert!(sim.run_until(|sim| sim.client.peer().is_some()));
//! let call = sim.client.call::<CallTool>(&CallToolParams::new("greet")).unwrap();
//! assert!(sim.run_until(|sim| sim.client.outcome(call).is_some()));
//! assert_eq!(sim.client.result::<CallTool>(call).unwrap().text_content(), "hello");
//!
//! sim.client.close();
//! sim.run_until_idle();
//! sim.assert_nothing_left();
//! println!("{}", sim.transcript());
//! ```
//!
//! The parts: [`Sim`] runs two [`Party`]s, which are a [`SimClient`], a [`SimServer`] or a [`Script`]; [`HttpSim`] runs
//! many clients and one server over HTTP; [`NetworkConditions`] says how their [`Pipe`]s behave, and [`Faults`] what breaks; the
//! [`Trace`] has a hash for comparing runs and a transcript for reading them, which [`assert_transcript_file`] compares
//! with the one that is expected.

#![forbid(unsafe_code)]

mod client;
mod clock;
mod conditions;
mod ends;
mod host;
mod http_sim;
mod movable;
mod network;
mod party;
mod pipe;
mod random;
mod scene;
mod script;
mod server;
mod sim;
mod stream;
mod trace;
mod transcript;

pub use client::{InputAnswer, SimClient, SimStore};
pub use conditions::{Faults, NetworkConditions};
pub use host::{SimRequest, SimResponse};
pub use http_sim::{HttpSim, SimClientId};
pub use party::{Closing, Log, Party, Turn};
pub use pipe::Pipe;
pub use random::Random;
pub use script::Script;
pub use server::{Handler, ServerMachine, SimContext, SimServer, handler};
pub use sim::Sim;
pub use trace::{Side, Trace};
pub use transcript::{UPDATE, assert_transcript, assert_transcript_file};
