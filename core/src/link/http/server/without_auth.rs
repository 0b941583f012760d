//! What takes the place of authorization where that is left out: nobody has to show anything.

use alloc::sync::Arc;

use super::HttpServer;
use super::admission::Refusal;
use super::config::HttpServerConfig;
use crate::codec::http1::RequestHead;
use crate::jsonrpc::Parsed;
use crate::machine::ConnId;
use crate::secret::Secret;
use crate::server::{Params, Principal};
use crate::time::Instant;

#[derive(Default)]
pub(super) struct Tokens {}

impl Tokens {
    pub(super) fn is_idle(&self) -> bool {
        true
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        None
    }
}

pub(super) fn is_for_metadata(_: &RequestHead, _: &str, _: &HttpServerConfig) -> Result<bool, Refusal> {
    Ok(false)
}

pub(super) fn shown(_: &RequestHead, _: &HttpServerConfig) -> Result<Option<Secret>, Refusal> {
    Ok(None)
}

impl<T, H: Clone> HttpServer<T, H> {
    pub(super) fn show(&mut self, _: ConnId, _: Secret) {}

    pub(super) fn end_overdue_verifications(&mut self) {}

    pub(super) fn tell_metadata(&mut self, _: ConnId) {}

    pub(super) fn check_scopes(
        &self,
        _: Option<&Arc<Principal>>,
        _: Option<(&Parsed<'_>, Option<&Params<'_>>)>,
    ) -> Result<(), Refusal> {
        Ok(())
    }
}
