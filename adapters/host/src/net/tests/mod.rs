//! Real sockets on the loopback interface, real TLS at both ends, and a driver that is no more than poll(2).

mod dialled;
mod plain;
mod proxied;
mod rig;
#[cfg(feature = "tls")]
mod secured;
mod settings;
