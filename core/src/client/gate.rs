//! Which methods the negotiated revision and the server's capabilities allow.
//!
//! A call that the server cannot serve fails here, with a reason, instead of costing a round trip. Methods that the
//! engine does not know (extensions) pass.

use alloc::borrow::ToOwned;

use super::config::Peer;
use crate::error::SendError;
use crate::model::{Era, ProtocolVersion};

pub(super) fn check(method: &str, peer: &Peer) -> Result<(), SendError> {
    let server = &peer.capabilities;
    let (capability, declared) = match method {
        "tools/list" | "tools/call" => ("tools", server.tools.is_some()),
        "resources/list" | "resources/templates/list" | "resources/read" => ("resources", server.resources.is_some()),
        "resources/subscribe" | "resources/unsubscribe" => {
            in_era(method, Era::Legacy, peer)?;
            ("resources.subscribe", server.resources.as_ref().is_some_and(|it| it.subscribe == Some(true)))
        }
        "prompts/list" | "prompts/get" => ("prompts", server.prompts.is_some()),
        // The first revision had completion, but no capability to declare it by.
        "completion/complete" => {
            ("completions", server.completions.is_some() || peer.version == ProtocolVersion::V2024_11_05)
        }
        "logging/setLevel" => ("logging", server.logging.is_some()),
        "initialize" | "notifications/roots/list_changed" => return in_era(method, Era::Legacy, peer),
        "server/discover" | "subscriptions/listen" => return in_era(method, Era::Modern, peer),
        _ => return Ok(()),
    };
    if declared { Ok(()) } else { Err(SendError::NotSupported { method: method.to_owned(), capability }) }
}

fn in_era(method: &str, era: Era, peer: &Peer) -> Result<(), SendError> {
    if peer.version.era() == era {
        Ok(())
    } else {
        Err(SendError::NotInRevision { method: method.to_owned(), version: peer.version })
    }
}

/// Methods behind which a handler of the server's runs, perhaps for long: they ask for progress, and in the modern era
/// they may answer that they need input.
pub(super) fn runs_a_handler(method: &str) -> Option<&'static str> {
    ["tools/call", "prompts/get", "resources/read"].into_iter().find(|name| *name == method)
}

/// Methods whose results may be cached.
pub(super) fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}
