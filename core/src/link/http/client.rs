//! The client's end of HTTP.
//!
//! ```text
//! one_shot    HttpOneShot: a client for one call
//! machine     HttpClient: the exchanges on connections
//! pool        which connection an exchange is on
//! exchanges   Exchanges: the role on exchanges, whoever makes them
//!  sending    from messages to exchanges, in the right order
//!  receiving  from responses to messages
//!  events     events that borrow, until they are given out
//!  open       the exchanges that are open, and how many at a time
//!  handshake  what messages wait for
//!  redirects  where the endpoint is, and where it has moved
//!  failing    from failures to what they mean: another era, another session, another try
//!  reinitializing  another handshake, with a server that has changed
//!  tools      what is remembered of tools, and calls that wait for it
//!  streams    streams that are opened again, the stream for what comes unasked, the HTTP+SSE transport
//!  closing    the last words
//!  authorizing  requests that have to be authorized
//! ```

#[cfg(feature = "auth")]
mod authorizing;
#[cfg(not(feature = "auth"))]
#[path = "client/without_auth.rs"]
mod authorizing;
mod body;
mod closing;
mod config;
mod connection;
mod events;
mod exchange;
mod exchanges;
mod failing;
mod handshake;
mod machine;
mod one_shot;
mod open;
mod pool;
mod receiving;
mod redirects;
mod reinitializing;
mod request;
mod sending;
mod streams;
mod tools;

pub use config::{HeaderError, HttpClientConfig, RequestHeaders};
pub use machine::{HttpClient, HttpExchanges};
pub use one_shot::HttpOneShot;
pub use request::HttpRequest;
