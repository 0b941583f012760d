//! Which revision the two agree on.

use serde_json::json;

use super::adapter::Client;
use super::adapter::client::Negotiation;
use super::adapter::model::{Era, ProtocolVersion};
use crate::peer::rmcp_server;

case!(left_alone_the_two_find_the_newest_revision, {
    let client = wait!(Client::connect(rmcp_server())).unwrap();
    let peer = client.peer();
    assert_eq!(peer.version, ProtocolVersion::V2026_07_28);
    assert_eq!(peer.info.as_ref().unwrap().name, "everything");
    assert_eq!(peer.instructions.as_deref(), Some("For tests only."));
    assert!(peer.capabilities.tools.is_some() && peer.capabilities.completions.is_some());
    wait!(client.close());
});

case!(every_revision_can_be_asked_for, {
    for version in ProtocolVersion::ALL {
        let builder = Client::builder("pinned", "1.0").negotiation(Negotiation::Pinned(version));
        let client = wait!(builder.connect(rmcp_server())).unwrap();
        assert_eq!(client.peer().version, version);
        let caller = wait!(client.call_tool("caller", json!({}))).unwrap().text_content();
        assert_eq!(caller, format!("pinned by {version}, elicitation false, sampling false, roots false"));
        assert_eq!(wait!(client.list_tools()).unwrap().len(), 18, "{version}");
        wait!(client.close());
    }
});

case!(the_legacy_era_is_its_newest_revision, {
    let client =
        wait!(Client::builder("older", "1.0").negotiation(Negotiation::Legacy).connect(rmcp_server())).unwrap();
    assert_eq!(client.peer().version, ProtocolVersion::V2025_11_25);
    assert_eq!(client.peer().info.as_ref().unwrap().title.as_deref(), Some("Everything of rmcp"));
    wait!(client.close());
});

case!(a_server_without_the_modern_era_is_found_out_on_the_same_connection, {
    let client = wait!(Client::connect(rmcp_server().arg("--legacy"))).unwrap();
    assert_eq!(client.peer().version, ProtocolVersion::V2025_11_25);
    assert_eq!(client.peer().verdict(), Era::Legacy);
    assert_eq!(wait!(client.call_tool("echo", json!({"text": "ahoy"}))).unwrap().text_content(), "ahoy");
    wait!(client.close());
});

case!(what_was_found_out_can_be_kept, {
    for (server, verdict) in [(rmcp_server(), Era::Modern), (rmcp_server().arg("--legacy"), Era::Legacy)] {
        let builder = Client::builder("regular", "1.0").negotiation(Negotiation::Cached(verdict));
        let client = wait!(builder.connect(server)).unwrap();
        assert_eq!(client.peer().verdict(), verdict);
        wait!(client.close());
    }
    // A server that has changed since is found out anew.
    let builder = Client::builder("regular", "1.0").negotiation(Negotiation::Cached(Era::Modern));
    let client = wait!(builder.connect(rmcp_server().arg("--legacy"))).unwrap();
    assert_eq!(client.peer().verdict(), Era::Legacy);
    wait!(client.close());
});

case!(a_revision_that_the_server_lacks_is_an_error_that_says_so, {
    let builder = Client::builder("modern", "1.0").negotiation(Negotiation::Pinned(ProtocolVersion::V2026_07_28));
    let error = match wait!(builder.connect(rmcp_server().arg("--legacy"))) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the server does not speak it"),
    };
    assert!(error.contains("2025-11-25"), "it tells what there is instead: {error}");
});
