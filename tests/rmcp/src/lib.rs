//! Conversations between Windlass and rmcp, the official SDK, over the standard streams of real processes and
//! over HTTP.
//!
//! - `tests/our_client`: our client on every runtime against `rmcp_server`, a server that offers all that rmcp can.
//! - `tests/our_server`: rmcp's client against `our_server_*`, the same server on every runtime of ours.
//!
//! Where rmcp lacks something, or reads the specification in another way, the test says so and shows that our side
//! stays usable.
