//! The client's end of HTTP.
//!
//! ```text
//! one_shot    HttpOneShot: a client for one call
//! machine     HttpClient: the exchanges on connections
//! carrier     who makes exchanges in place of connections
//! pool        which connection an exchange is on
//! exchanges   Exchanges: the role on exchanges, whoever makes them
//!  sending    from messages to exchanges, in the right order
//!  receiving  from responses to messages
//!  events     events that borrow, until they are given out
//!  redirects  where the endpoint is, and where it has moved
//!  failing    from failures to what they mean: another era, another session, another try
//!  renewing   beginning anew with a server that has
//!  streams    streams that are opened again, the stream for what comes unasked, the HTTP+SSE transport
//!  closing    the last words
//! ```

mod body;
mod carrier;
mod closing;
mod config;
mod connection;
mod events;
mod exchange;
mod exchanges;
mod failing;
mod machine;
mod one_shot;
mod pool;
mod receiving;
mod redirects;
mod renewing;
mod request;
mod sending;
mod streams;
mod tools;
mod turns;

pub use carrier::{Carried, Carrier};
pub use config::{HeaderError, HttpClientConfig};
pub use exchange::ExchangeId;
pub use exchanges::{ExchangeOutput, Exchanges};
pub use machine::HttpClient;
pub use one_shot::HttpOneShot;
pub use request::HttpRequest;
