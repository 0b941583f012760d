//! Exchanges that are made by somebody else's HTTP, beneath the same machine.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::exchange::ExchangeId;
use super::request::HttpRequest;
use crate::codec::http1::Headers;
use crate::error::ConnError;
use crate::time::Instant;

/// Makes requests of HTTP for an [`HttpClient`](super::HttpClient) in place of connections: another HTTP library.
///
/// Nothing here may wait. Redirects are not to be followed, and statuses that are no success are responses like others.
/// Whoever drives the machine has to be woken when there is news.
pub trait Carrier: Send {
    /// Begins to make a request.
    fn start(&mut self, exchange: ExchangeId, request: Arc<HttpRequest>);

    /// Gives one up: its stream is to be closed at once. Whatever still comes of it is ignored.
    fn abort(&mut self, exchange: ExchangeId);

    /// What has come since, in order for each exchange, with the time at which it came.
    fn next(&mut self) -> Option<(ExchangeId, Carried, Instant)>;
}

/// What comes of a request.
#[derive(Debug)]
pub enum Carried {
    /// The head of the response. Interim ones (1xx) are not told.
    Response {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: Headers,
    },
    /// A part of the body, as soon as it is there: a server may speak for hours in one.
    Body(Vec<u8>),
    /// The response is complete.
    End,
    /// The request could not be made, or its response broke off.
    Failed(ConnError),
}
