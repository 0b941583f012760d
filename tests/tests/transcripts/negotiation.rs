//! How a client finds out which era a server speaks.

use std::time::Duration;

use windlass::CloseReason;
use windlass::NegotiationError;
use windlass::client::Negotiation;
use windlass::model::{Era, ProtocolVersion};
use windlass_sim::{NetworkConditions, Script, SimClient};

use crate::common::{Sim, client_config, initialize_answer, tell};
use crate::{close_and_expect, expect};

const METHOD_NOT_FOUND: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}"#;
const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"}}}"#;

fn client(negotiation: Negotiation) -> Sim<SimClient, Script> {
    let mut config = client_config();
    config.negotiation = negotiation;
    let mut sim = Sim::with_scripted_server(1, NetworkConditions::ideal(), config);
    sim.settle();
    sim
}

fn automatic() -> Sim<SimClient, Script> {
    client(Negotiation::Automatic)
}

#[test]
fn a_modern_server_is_found_out_by_one_probe() {
    let mut sim = automatic();
    tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#));
    close_and_expect(&mut sim, "negotiate_modern");
}

#[test]
fn a_legacy_server_answers_the_probe_with_an_error() {
    for code in [-32601, -32602, -32600, -32002, 0] {
        let mut sim = automatic();
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no"}}}}"#));
        tell(&mut sim, &initialize_answer(2, "2025-11-25"));
        assert_eq!(sim.client.peer().unwrap().version, ProtocolVersion::V2025_11_25, "code {code}");
        sim.client.close();
        sim.run_until_idle();
        sim.assert_nothing_left();
    }
    let mut sim = automatic();
    tell(&mut sim, METHOD_NOT_FOUND);
    tell(&mut sim, &initialize_answer(2, "2024-11-05"));
    close_and_expect(&mut sim, "negotiate_legacy_error");
}

#[test]
fn a_legacy_server_answers_the_probe_with_a_result_of_its_own() {
    let mut sim = automatic();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    tell(&mut sim, &initialize_answer(2, "2025-06-18"));
    close_and_expect(&mut sim, "negotiate_legacy_nonsense");
}

#[test]
fn a_legacy_server_stays_silent() {
    let mut sim = automatic();
    sim.run_for(Duration::from_secs(3));
    tell(&mut sim, &initialize_answer(2, "2025-11-25"));
    // The answer to the probe may still come, and is of no interest.
    tell(&mut sim, METHOD_NOT_FOUND);
    assert_eq!(sim.client.counters().late_answers, 1);
    close_and_expect(&mut sim, "negotiate_legacy_silent");
}

#[test]
fn a_modern_server_is_slow_to_start() {
    let mut sim = automatic();
    sim.run_for(Duration::from_secs(3));
    // It was taken for a legacy server; what it answers to the handshake shows what it is.
    let refused =
        r#"{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}"#;
    tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":2,"error":{refused}}}"#));
    tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":3,"result":{DISCOVERED}}}"#));
    close_and_expect(&mut sim, "negotiate_modern_slow");
}

#[test]
fn a_server_that_refuses_the_revision_that_it_names_is_given_up() {
    let mut sim = automatic();
    for id in 1..=10 {
        let refused = r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}"#;
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{refused}}}"#));
    }
    let probes = sim.server.heard().iter().filter(|line| line.contains("server/discover")).count();
    assert_eq!(probes, 3, "{}", sim.transcript());
    let offered = vec!["2026-07-28".to_owned()];
    assert_eq!(sim.client.closed(), Some(&CloseReason::Negotiation(NegotiationError::NoCommonVersion { offered })));
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_server_that_sends_the_client_to_and_fro_between_the_eras_is_given_up() {
    let mut sim = automatic();
    for id in 1..=20 {
        let last = sim.server.heard().last().cloned().unwrap_or_default();
        let other = if last.contains("server/discover") { "2025-11-25" } else { "2026-07-28" };
        let refused = format!(r#"{{"code":-32022,"message":"no","data":{{"supported":["{other}"]}}}}"#);
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{refused}}}"#));
    }
    assert!(sim.server.heard().len() <= 4, "{}", sim.transcript());
    assert!(matches!(sim.client.closed(), Some(CloseReason::Negotiation(_))), "{}", sim.transcript());
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_legacy_server_exits_on_the_probe() {
    let mut sim = automatic();
    sim.server.exit();
    sim.settle();
    assert_eq!(sim.streams(), 2);
    tell(&mut sim, &initialize_answer(2, "2025-11-25"));
    close_and_expect(&mut sim, "negotiate_legacy_exits");
}

#[test]
fn a_server_exits_twice() {
    let mut sim = automatic();
    sim.server.exit();
    sim.settle();
    sim.server.exit();
    sim.run_until_idle();
    assert_eq!(sim.client.closed(), Some(&CloseReason::Negotiation(NegotiationError::ClosedEarly)));
    expect(&sim, "negotiate_exits_twice");
    sim.assert_nothing_left();
}

#[test]
fn a_legacy_server_answers_the_probe_without_an_id() {
    for id in ["", r#""id":null,"#] {
        let mut sim = automatic();
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"what?"}}}}"#));
        tell(&mut sim, &initialize_answer(2, "2025-11-25"));
        close_and_expect(
            &mut sim,
            if id.is_empty() { "negotiate_error_without_id" } else { "negotiate_error_null_id" },
        );
    }
}

#[test]
fn a_modern_server_refuses_the_probe_without_an_id() {
    let mut sim = automatic();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","error":{"code":-32022,"message":"unsupported","data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}}"#,
    );
    sim.run_until_idle();
    expect(&sim, "negotiate_modern_error_without_id");
    sim.assert_nothing_left();
}

#[test]
fn a_server_names_other_versions() {
    let unsupported = |supported: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32022,"message":"unsupported protocol version","data":{{"supported":{supported},"requested":"2026-07-28"}}}}}}"#
        )
    };
    let mut sim = automatic();
    tell(&mut sim, &unsupported(r#"["2025-06-18","2025-11-25"]"#));
    tell(&mut sim, &initialize_answer(2, "2025-11-25"));
    close_and_expect(&mut sim, "negotiate_unsupported_then_legacy");

    let mut sim = automatic();
    tell(&mut sim, &unsupported(r#"["2099-01-01"]"#));
    sim.run_until_idle();
    let offered = vec!["2099-01-01".to_owned()];
    let expected = CloseReason::Negotiation(NegotiationError::NoCommonVersion { offered });
    assert_eq!(sim.client.closed(), Some(&expected));
    expect(&sim, "negotiate_unsupported_unknown");
    sim.assert_nothing_left();
}

#[test]
fn a_modern_error_is_no_reason_to_fall_back() {
    let mut sim = automatic();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"needs sampling"}}"#);
    sim.run_until_idle();
    expect(&sim, "negotiate_modern_refusal");
    sim.assert_nothing_left();
}

#[test]
fn a_server_answers_initialize_in_an_unknown_revision() {
    let mut sim = client(Negotiation::Legacy);
    tell(&mut sim, &initialize_answer(1, "1999-12-31"));
    sim.run_until_idle();
    expect(&sim, "negotiate_unknown_revision");
    sim.assert_nothing_left();
}

#[test]
fn a_server_never_answers_initialize() {
    let mut sim = client(Negotiation::Legacy);
    sim.run_until_idle();
    expect(&sim, "negotiate_initialize_silent");
    sim.assert_nothing_left();
}

#[test]
fn versions_can_be_pinned() {
    let mut sim = client(Negotiation::Pinned(ProtocolVersion::V2025_03_26));
    tell(&mut sim, &initialize_answer(1, "2025-03-26"));
    close_and_expect(&mut sim, "negotiate_pinned_legacy");

    let mut sim = client(Negotiation::Pinned(ProtocolVersion::V2025_03_26));
    tell(&mut sim, &initialize_answer(1, "2025-11-25"));
    sim.run_until_idle();
    expect(&sim, "negotiate_pinned_legacy_refused");
    sim.assert_nothing_left();

    let mut sim = client(Negotiation::Pinned(ProtocolVersion::V2026_07_28));
    tell(&mut sim, METHOD_NOT_FOUND);
    sim.run_until_idle();
    expect(&sim, "negotiate_pinned_modern_refused");
    sim.assert_nothing_left();

    let mut sim = client(Negotiation::Pinned(ProtocolVersion::V2026_07_28));
    sim.server.exit();
    sim.run_until_idle();
    assert_eq!(sim.streams(), 1, "a pinned modern server gets no second chance");
    sim.assert_nothing_left();
}

#[test]
fn a_cached_verdict_saves_the_probe_and_is_revised() {
    let mut sim = client(Negotiation::Cached(Era::Legacy));
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: initialize","data":{"supported":["2026-07-28"]}}}"#,
    );
    tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{DISCOVERED}}}"#));
    close_and_expect(&mut sim, "negotiate_cached_legacy_now_modern");
}
