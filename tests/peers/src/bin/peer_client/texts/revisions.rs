//! The same server in every legacy revision.

use std::sync::Arc;

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::ProtocolVersion;
use super::helpful::helpful;
use crate::heard::Heard;
use crate::peer::Peer;

program!(hold(peer: Peer), {
    for revision in ProtocolVersion::LEGACY {
        let builder = helpful(&peer, &Arc::new(Heard::default())).negotiation(Negotiation::Pinned(revision));
        let client = wait!(builder.connect(peer.server())).unwrap();
        assert_eq!(client.peer().version, revision);
        let tools = wait!(client.list_tools()).unwrap();
        assert!(tools.iter().any(|tool| tool.name == "echo"), "{revision:?}");
        let result = wait!(client.call_tool("echo", json!({ "text": "grüß dich\n" }))).unwrap();
        assert_eq!(result.text_content(), "grüß dich\n", "{revision:?}");
        let asked = wait!(client.call_tool("ask_model", json!({}))).unwrap();
        assert_eq!(asked.text_content(), "windlass by a-model", "{revision:?}");
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});
