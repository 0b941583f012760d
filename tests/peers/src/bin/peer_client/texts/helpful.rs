//! A client that answers whatever a server may ask.

use std::sync::Arc;
use std::time::Duration;

use super::adapter::model::*;
use super::adapter::{Client, ClientBuilder, RpcError};
use crate::heard::Heard;
use crate::peer::Peer;

/// What the user is called.
pub(super) const NAME: &str = "Ada";
/// An interpreter may take its time to start, and a server that is late with its first answer counts as a legacy one.
const PATIENCE: Duration = Duration::from_secs(20);
/// The roots, in order.
pub(super) const ROOTS: [&str; 2] = ["file:///one", "file:///two"];

/// Sets up the client, so that what it hears can be looked at.
pub(super) fn helpful(peer: &Peer, heard: &Arc<Heard>) -> ClientBuilder {
    let (notified, asked) = (heard.clone(), heard.clone());
    Client::builder("windlass-peer-tests", "1.0.0")
        .negotiation(peer.negotiation)
        .configure(|config| config.probe_timeout = PATIENCE)
        .on_notification(move |notification| notified.notification(notification))
        .on_malformed(|detail| panic!("the server said what is no message: {detail}"))
        .on_elicit_with_urls(move |params| {
            let heard = asked.clone();
            answer!({
                let is_form = matches!(params, ElicitParams::Form(_));
                heard.question(params);
                if heard.is_declining() {
                    return Ok(ElicitResult::decline());
                }
                let mut content = ElicitContent::new();
                if is_form {
                    content.insert("name", NAME).map_err(|error| RpcError::internal(error.to_string()))?;
                    return Ok(ElicitResult::accept(content));
                }
                // A page that was visited leaves nothing to tell.
                Ok(ElicitResult::new(ElicitAction::Accept))
            })
        })
        .on_sample(|params| {
            answer!({
                assert_eq!(params.max_tokens, 10);
                Ok(CreateMessageResult::new("a-model", "windlass"))
            })
        })
        .on_roots(|| answer!({ Ok(ListRootsResult::new(ROOTS.map(Root::new))) }))
}
