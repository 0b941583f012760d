//! Clients of both eras.

use super::adapter::client::Negotiation;
use super::adapter::{Client, ClientBuilder};

/// A server of ours is modern unless it is asked to be legacy.
pub(super) const ERAS: [Negotiation; 2] = [Negotiation::Automatic, Negotiation::Legacy];

/// A client to be set up further.
pub(super) fn in_era(negotiation: Negotiation) -> ClientBuilder {
    Client::builder("tester", "1.0").negotiation(negotiation)
}
