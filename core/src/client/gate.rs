//! Which calls a server can be asked for: those of its revision, behind a capability that it declared. Anything else is
//! refused here, before it costs a round trip.

use alloc::borrow::ToOwned;

use super::Peer;
use crate::error::SendError;
use crate::model::{MethodInfo, Side};

/// Whether a request or notification may be sent to `peer`. What the protocol does not know may be: it is between the
/// program and the server.
pub(super) fn check(method: &MethodInfo, peer: &Peer) -> Result<(), SendError> {
    if !method.is_sent_by(Side::Client) {
        return Ok(());
    }
    if !method.can_be_asked_for_in(peer.version) {
        return Err(SendError::NotInRevision { method: method.name.to_owned(), version: peer.version });
    }
    match method.capability {
        Some(capability) if !capability.is_declared_by_server(&peer.capabilities, peer.version) => {
            Err(SendError::NotSupported { method: method.name.to_owned(), capability: capability.name() })
        }
        _ => Ok(()),
    }
}
