//! A client that has no authorization of its own: nothing of it is compiled.

use super::config::HttpClientConfig;
use super::exchange::Exchange;
use super::exchanges::Exchanges;
use super::request::HttpRequest;
use crate::codec::http1::Headers;
use crate::error::HttpFailure;
use crate::time::Instant;

pub(super) struct Authorizing;

impl Authorizing {
    pub(super) fn new(_: &HttpClientConfig) -> Self {
        Self
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        None
    }

    pub(super) fn is_idle(&self) -> bool {
        true
    }

    pub(super) fn must_finish(&self) -> bool {
        false
    }

    pub(super) fn head(&mut self, _: &HttpRequest, _: &Headers) {}
}

impl<T> Exchanges<T> {
    pub(super) fn may_send(&mut self) -> bool {
        true
    }

    pub(super) fn authorize(&mut self, _: u32) -> bool {
        true
    }

    pub(super) fn advance_authorization(&mut self) -> bool {
        false
    }

    pub(super) fn fetched(&mut self, _: u32, _: bool) {}

    pub(super) fn authorization_expired(&mut self) {}

    pub(super) fn not_allowed(&mut self, _: u32, _: &HttpFailure) -> Option<bool> {
        None
    }

    pub(super) fn listener_wants_authorization(&mut self, _: &Exchange) -> bool {
        false
    }
}
