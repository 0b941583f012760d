//! The HTTP server, driven by hand: what a client writes, byte for byte, and what it gets.

mod bad_clients;
mod edges;
mod eviction;
mod guest;
mod headers;
mod lasting;
mod legacy;
mod modern;
mod moving;
mod protecting;
mod refusing;
mod standalone;
