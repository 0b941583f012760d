//! Which revision the two agree on.

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};

use crate::guest::{Answers, Program, call, connect, connect_as, legacy, modern};

/// The headers of a request and what it says do not fit.
const HEADER_MISMATCH: i32 = -32020;

on_every_runtime! {
    the_defaults_meet_in_the_legacy_era
    every_legacy_revision_can_be_asked_for
    discovery_leads_to_the_modern_era
    a_handshake_revision_is_not_to_be_discovered
}

async fn the_defaults_meet_in_the_legacy_era(server: Program) {
    let (client, _) = connect(server, legacy()).await;
    let peer = client.peer_info().unwrap();
    assert_eq!(peer.protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(peer.server_info.as_ref().unwrap().name, "windlass");
    assert_eq!(peer.instructions.as_deref(), Some("For tests only."));
    assert_eq!(call(&client, "caller").await, "guest by 2025-11-25");
    client.cancel().await.unwrap();
}

async fn every_legacy_revision_can_be_asked_for(server: Program) {
    for version in ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25) {
        let (client, _) = connect_as(server, legacy(), version.clone(), Answers::Gladly).await.unwrap();
        assert_eq!(client.peer_info().unwrap().protocol_version, *version);
        assert_eq!(call(&client, "caller").await, format!("guest by {version}"));
        client.cancel().await.unwrap();
    }
}

async fn discovery_leads_to_the_modern_era(server: Program) {
    let automatic = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_06_18),
    };
    for lifecycle in [modern(), automatic] {
        let (client, _) = connect(server, lifecycle).await;
        let peer = client.peer_info().unwrap();
        assert_eq!(peer.protocol_version, ProtocolVersion::V_2026_07_28);
        assert_eq!(peer.server_info.as_ref().unwrap().name, "windlass");
        assert_eq!(peer.instructions.as_deref(), Some("For tests only."));
        assert_eq!(call(&client, "caller").await, "guest by 2026-07-28");
        client.cancel().await.unwrap();
    }
}

async fn a_handshake_revision_is_not_to_be_discovered(server: Program) {
    // rmcp would speak an older revision without its handshake. No revision allows that, and our server says what it
    // speaks that way.
    let preferred_versions = vec![ProtocolVersion::V_2025_11_25];
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
    match connect_as(server, lifecycle, ProtocolVersion::LATEST, Answers::Gladly).await.map_err(|error| *error) {
        Err(ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. }) => {
            assert!(server_supported.contains(&ProtocolVersion::V_2026_07_28), "{server_supported:?}");
        }
        // Over HTTP it leaves out the headers, too, that every request of the modern era has.
        Err(ClientInitializeError::JsonRpcError(error)) => assert_eq!(error.code.0, HEADER_MISMATCH, "{error:?}"),
        Err(other) => panic!("{other:?}"),
        Ok((client, _)) => panic!("{:?}", client.peer_info()),
    }
}
