//! Processes: servers that we start, and our own standard streams as somebody else's server. Read in this order:
//!
//! | module | what |
//! |---|---|
//! | [`command`] | [`Command`](crate::Command): how to start a server |
//! | [`environment`] | which environment variables it gets to see |
//! | [`windows_plan`] | how Windows has to be asked to start a program such as `npx` |
//! | [`child`] | [`Child`](crate::Child): a running server, and its end |
//! | [`ladder`] | [`Ladder`](crate::Ladder): when to use how much force to end it |
//! | `process_tree` | a child with all that it has started, on Unix and on Windows |
//! | [`stderr`] | [`StderrTail`](crate::StderrTail): the last lines of its standard error |
//! | [`spawn_error`] | [`SpawnError`](crate::SpawnError): why it did not start |
//! | `own_stdio` | `OwnStdio` (Unix): our own standard input and output, for a server |
//!
//! Nothing here waits for a stream, nor knows a runtime: drivers take the pipes of a child.

pub mod child;
pub mod command;
pub mod environment;
pub mod ladder;
#[cfg(all(unix, feature = "server"))]
pub mod own_stdio;
mod process_tree;
pub mod spawn_error;
pub mod stderr;
pub mod windows_plan;
