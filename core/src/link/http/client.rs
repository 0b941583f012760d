//! The client's end of HTTP.
//!
//! ```text
//! machine    HttpClient: the exchanges on connections
//! pool       which connection an exchange is on
//! exchanges  Exchanges: the role on exchanges, whoever makes them
//! ```

mod body;
mod closing;
mod config;
mod connection;
mod exchange;
mod exchanges;
mod failing;
mod machine;
mod one_shot;
mod pool;
mod receiving;
mod request;
mod sending;
mod streams;
mod tools;

pub use config::{HeaderError, HttpClientConfig};
pub use exchange::ExchangeId;
pub use exchanges::{ExchangeOutput, Exchanges};
pub use machine::HttpClient;
pub use one_shot::HttpOneShot;
pub use request::HttpRequest;
