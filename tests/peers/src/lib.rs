//! Conversations between Windlass and the SDKs that come from npm and PyPI, over the standard streams of real
//! processes and over HTTP, on all of our runtimes.
//!
//! - `peer_client` is our client, against the servers in `node` and `python` and against the reference server.
//! - `peer_server` is our server, for the clients in `node` and `python`.
//!
//! All servers here offer the same, whoever wrote the SDK beneath, and so one text suits all of them. `run` installs
//! the peers and lets everyone talk with everyone. Nothing of it happens in `cargo test`, which has no peers.
