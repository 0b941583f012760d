//! The server under test against a scripted legacy client.

use std::time::Duration;

use windlass::SendError;
use windlass::model::{Elicit, ElicitFormParams, ListRoots, ListRootsParams};

use crate::common::{fresh_server, initialize, legacy, legacy_server, legacy_server_with, say, server_config};
use crate::end_and_expect;

#[test]
fn requests_are_answered_or_refused_one_by_one() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"echo","arguments":{"a":1}"#));
    say(&mut sim, &legacy(2, "resources/read", r#""uri":"file:///a.txt""#));
    say(&mut sim, &legacy(3, "resources/read", r#""uri":"file:///missing""#));
    say(&mut sim, &legacy(4, "prompts/get", r#""name":"greet","arguments":{"name":"Ada"}"#));
    say(&mut sim, &legacy(5, "tools/list", ""));
    say(&mut sim, &legacy(6, "x/unknown", ""));
    say(&mut sim, &legacy(7, "subscriptions/listen", r#""notifications":{}"#));
    end_and_expect(&mut sim, "server_legacy_call");
}

#[test]
fn nothing_but_pings_is_answered_before_the_handshake() {
    let mut sim = fresh_server();
    // Pings are answered in any state; other requests have to wait.
    say(&mut sim, &legacy(1, "ping", ""));
    say(&mut sim, &legacy(2, "tools/list", ""));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    say(&mut sim, &legacy(3, "initialize", ""));
    say(&mut sim, &initialize("2025-06-18"));
    say(&mut sim, &legacy(4, "ping", ""));
    // Many clients do not wait for their own notification to be delivered.
    say(&mut sim, &legacy(5, "tools/call", r#""name":"echo""#));
    assert_eq!(sim.server.call::<ListRoots>(&ListRootsParams::default()), Err(SendError::NotReady));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    say(&mut sim, &initialize("2025-06-18"));
    say(&mut sim, &legacy(6, "ping", ""));
    end_and_expect(&mut sim, "server_legacy_handshake");
}

#[test]
fn an_unknown_version_gets_a_counter_offer() {
    let mut sim = fresh_server();
    say(&mut sim, &initialize("2099-01-01"));
    end_and_expect(&mut sim, "server_legacy_counter_offer");
    let mut sim = fresh_server();
    say(&mut sim, &initialize("2024-11-05"));
    end_and_expect(&mut sim, "server_legacy_oldest");
}

#[test]
fn a_handler_that_asks_is_run_again_with_the_answers() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"ask""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}"#);
    say(&mut sim, &legacy(2, "tools/call", r#""name":"ask-twice""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"name":"Ada"}}}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"seat":"4a"}}}"#);
    // The client cannot answer.
    say(&mut sim, &legacy(3, "tools/call", r#""name":"ask""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no window to ask in"}}"#);
    // The client's answer is no answer.
    say(&mut sim, &legacy(4, "tools/call", r#""name":"ask""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":5,"result":7}"#);
    end_and_expect(&mut sim, "server_legacy_input");
}

#[test]
fn a_client_that_cannot_be_asked() {
    let mut sim = fresh_server();
    say(&mut sim, &initialize("2025-11-25").replace(r#""elicitation":{}"#, ""));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    say(&mut sim, &legacy(1, "tools/call", r#""name":"ask""#));
    end_and_expect(&mut sim, "server_legacy_cannot_ask");
}

#[test]
fn an_input_times_out() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"ask""#));
    sim.run_for(Duration::from_secs(601));
    end_and_expect(&mut sim, "server_legacy_input_timeout");
}

#[test]
fn a_call_of_the_server_to_its_client() {
    let mut sim = legacy_server("2025-11-25");
    assert!(matches!(
        sim.server.call::<ListRoots>(&ListRootsParams::default()),
        Err(SendError::NotSupported { capability: "roots", .. })
    ));
    sim.server.call::<Elicit>(&ElicitFormParams::new("Anyone there?").into()).unwrap();
    sim.settle();
    say(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#);
    sim.server.call::<Elicit>(&ElicitFormParams::new("And now?").into()).unwrap();
    sim.run_for(Duration::from_secs(600));
    say(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}}"#);
    assert_eq!(sim.server.counters().late_answers, 1);
    sim.server.call::<Elicit>(&ElicitFormParams::new("Still nobody?").into()).unwrap();
    sim.settle();
    end_and_expect(&mut sim, "server_legacy_calls_client");
}

#[test]
fn a_cancel_and_its_races() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"slow""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    say(&mut sim, &legacy(2, "tools/call", r#""name":"echo""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    // A request that waits for input takes its own requests back.
    say(&mut sim, &legacy(3, "tools/call", r#""name":"ask""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#);
    assert_eq!(sim.server.counters().late_answers, 1);
    end_and_expect(&mut sim, "server_legacy_cancel");
}

#[test]
fn log_messages_below_the_level_are_not_sent() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"chatty""#));
    say(&mut sim, &legacy(2, "logging/setLevel", r#""level":"error""#));
    say(&mut sim, &legacy(3, "tools/call", r#""name":"chatty""#));
    say(&mut sim, &legacy(4, "logging/setLevel", r#""level":"loud""#));
    say(&mut sim, &legacy(5, "logging/setLevel", ""));
    end_and_expect(&mut sim, "server_legacy_log_levels");

    let mut config = server_config();
    config.logging = false;
    let mut sim = legacy_server_with("2025-11-25", config);
    say(&mut sim, &legacy(1, "tools/call", r#""name":"chatty""#));
    say(&mut sim, &legacy(2, "logging/setLevel", r#""level":"error""#));
    end_and_expect(&mut sim, "server_legacy_without_logging");
}

#[test]
fn progress_is_sent_to_who_gave_a_token() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"steps","_meta":{"progressToken":7}"#));
    say(&mut sim, &legacy(2, "tools/call", r#""name":"steps""#));
    sim.run_for(Duration::from_secs(61));
    end_and_expect(&mut sim, "server_legacy_progress");
}

#[test]
fn the_client_closes_while_it_is_asked() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &legacy(1, "tools/call", r#""name":"ask""#));
    say(&mut sim, &legacy(2, "tools/call", r#""name":"slow""#));
    end_and_expect(&mut sim, "server_legacy_client_closes");
}

#[test]
fn after_closing_nothing_is_said() {
    let mut sim = legacy_server("2025-11-25");
    sim.server.close();
    sim.run_until_idle();
    let message = windlass::model::LoggingMessageParams::text(windlass::model::LoggingLevel::Emergency, "too late");
    sim.server.machine().log(None, &message);
    sim.server.machine().resource_updated("file:///a.txt");
    sim.server.machine().registry().remove_tool("echo");
    assert_eq!(sim.server.call::<Elicit>(&ElicitFormParams::new("Hello?").into()), Err(SendError::Closed));
    end_and_expect(&mut sim, "server_legacy_closes");
}
