//! The server under test against a scripted modern client.

use std::time::Duration;

use crate::common::{META, fresh_server, fresh_server_with, legacy_server, modern, say, server_config};
use crate::end_and_expect;

#[test]
fn requests_are_answered_without_a_handshake() {
    let mut sim = fresh_server();
    say(&mut sim, &modern(1, "server/discover", ""));
    say(&mut sim, &modern(2, "tools/call", r#""name":"echo","arguments":{"a":1}"#));
    say(&mut sim, &modern(3, "tools/call", r#""name":"missing""#));
    say(&mut sim, &modern(4, "tools/call", r#""name":"echo","arguments":[]"#));
    say(&mut sim, &modern(5, "resources/read", r#""uri":"file:///a.txt""#));
    say(&mut sim, &modern(6, "resources/read", r#""uri":"file:///notes/x%20y""#));
    say(&mut sim, &modern(7, "resources/read", r#""uri":"file:///missing""#));
    say(&mut sim, &modern(8, "prompts/get", r#""name":"greet","arguments":{"name":"Ada"}"#));
    say(&mut sim, &modern(9, "prompts/get", r#""name":"greet""#));
    say(
        &mut sim,
        &modern(
            10,
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}"#,
        ),
    );
    end_and_expect(&mut sim, "server_modern_call");
}

#[test]
fn methods_of_the_other_era_are_unknown() {
    let mut sim = fresh_server();
    for (id, method) in
        ["ping", "initialize", "logging/setLevel", "resources/subscribe", "x/unknown"].into_iter().enumerate()
    {
        say(&mut sim, &modern(id as u64, method, r#""uri":"file:///a.txt""#));
    }
    end_and_expect(&mut sim, "server_modern_unknown_method");
}

#[test]
fn an_unknown_version_is_refused_with_those_that_are_known() {
    let mut sim = fresh_server();
    for version in ["2099-01-01", "2025-11-25", "", "1.0"] {
        say(&mut sim, &modern(1, "tools/list", "").replace("2026-07-28", version));
    }
    end_and_expect(&mut sim, "server_modern_unknown_version");
}

#[test]
fn every_request_states_its_version_and_capabilities() {
    let mut sim = fresh_server();
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    for meta in [
        version.to_owned(),
        capabilities.to_owned(),
        format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":[]"#),
        format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":null"#),
        format!(r#""io.modelcontextprotocol/protocolVersion":7,{capabilities}"#),
        format!(r#"{version},{capabilities},"io.modelcontextprotocol/logLevel":"loud""#),
        format!(r#"{version},{capabilities},"progressToken":1.5"#),
    ] {
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#));
    }
    say(&mut sim, r#"{"jsonrpc":"2.0","id":2,"method":"server/discover"}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":7}}"#);
    end_and_expect(&mut sim, "server_modern_missing_meta");
}

#[test]
fn a_handler_that_asks_is_run_again_by_the_next_request() {
    let mut sim = fresh_server();
    say(&mut sim, &modern(1, "tools/call", r#""name":"ask""#));
    say(
        &mut sim,
        &modern(
            2,
            "tools/call",
            r#""name":"ask","inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}},"unknown":{}}"#,
        ),
    );
    say(&mut sim, &modern(3, "tools/call", r#""name":"ask","inputResponses":{"name":{"action":"decline"}}"#));
    // What makes no sense is asked for again, or refused if it is no object.
    say(&mut sim, &modern(4, "tools/call", r#""name":"ask","inputResponses":{"name":{"action":7}}"#));
    say(&mut sim, &modern(5, "tools/call", r#""name":"ask","inputResponses":{"name":null}"#));
    say(&mut sim, &modern(6, "tools/call", r#""name":"ask","inputResponses":7"#));
    // This client did not say that it can be asked.
    say(&mut sim, &modern(7, "tools/call", r#""name":"ask""#).replace(r#"{"elicitation":{}}"#, "{}"));
    end_and_expect(&mut sim, "server_modern_input");
}

#[test]
fn the_state_between_rounds_is_sealed() {
    let mut sim = fresh_server();
    let first = r#""name":"ask-twice","inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}}"#;
    say(&mut sim, &modern(1, "tools/call", r#""name":"ask-twice""#));
    say(&mut sim, &modern(2, "tools/call", first));
    let answer = sim.client.heard().last().unwrap().clone();
    let start = answer.find(r#""requestState":""#).unwrap() + r#""requestState":""#.len();
    let state = answer[start..].split('"').next().unwrap().to_owned();
    let second = |state: &str, tool: &str| {
        format!(
            r#""name":"{tool}","inputResponses":{{"seat":{{"action":"accept","content":{{"seat":"4a"}}}}}},"requestState":"{state}""#
        )
    };
    say(&mut sim, &modern(3, "tools/call", &second(&state, "ask-twice")));
    // Tampered with, for another tool, not a state at all.
    let tampered = format!("{}{}", if state.starts_with('A') { "B" } else { "A" }, &state[1..]);
    say(&mut sim, &modern(4, "tools/call", &second(&tampered, "ask-twice")));
    say(&mut sim, &modern(5, "tools/call", &second(&state, "ask")));
    say(&mut sim, &modern(6, "tools/call", &second("x", "ask-twice")));
    say(&mut sim, &modern(7, "tools/call", r#""name":"ask-twice","requestState":7"#));
    // Too late.
    sim.run_for(Duration::from_secs(601));
    say(&mut sim, &modern(8, "tools/call", &second(&state, "ask-twice")));
    end_and_expect(&mut sim, "server_modern_state");
}

#[test]
fn a_state_is_used_once_where_the_server_says_so() {
    let mut config = server_config();
    config.single_use_state = true;
    let mut sim = fresh_server_with(config);
    let first = r#""name":"ask-twice","inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}}"#;
    let mut states = Vec::new();
    for id in 1..=2 {
        say(&mut sim, &modern(id, "tools/call", first));
        let answer = sim.client.heard().last().unwrap().clone();
        states.push(answer.split(r#""requestState":""#).nth(1).unwrap().split('"').next().unwrap().to_owned());
    }
    assert_ne!(states[0], states[1], "even what is the same is not sealed alike");
    let second = |state: &str| {
        format!(
            r#""name":"ask-twice","inputResponses":{{"seat":{{"action":"accept","content":{{"seat":"4a"}}}}}},"requestState":"{state}""#
        )
    };
    for (id, state, used) in [(3, 0, false), (4, 0, true), (5, 1, false), (6, 1, true), (7, 0, true)] {
        say(&mut sim, &modern(id, "tools/call", &second(&states[state])));
        let answer = sim.client.heard().last().unwrap();
        assert_eq!(answer.contains("the request state was used already"), used, "{answer}");
        assert_eq!(answer.contains("half way"), !used, "{answer}");
    }
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn progress_and_log_messages_belong_to_a_request_that_wants_them() {
    let mut sim = fresh_server();
    let with = |more: &str| META.replace("{\"io", &format!("{{{more},\"io"));
    say(&mut sim, &modern(1, "tools/call", r#""name":"chatty""#));
    let meta = with(r#""io.modelcontextprotocol/logLevel":"info""#);
    say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"chatty",{meta}}}}}"#));
    let meta = with(r#""progressToken":"p""#);
    say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"steps",{meta}}}}}"#));
    sim.run_for(Duration::from_secs(60));
    // Nothing is sent outside of a request.
    sim.server.machine().log(
        None,
        &windlass::model::LoggingMessageParams::text(windlass::model::LoggingLevel::Emergency, "nobody hears this"),
    );
    end_and_expect(&mut sim, "server_modern_progress_and_log");
}

#[test]
fn a_cancel_and_its_races() {
    let mut sim = fresh_server();
    say(&mut sim, &modern(1, "tools/call", r#""name":"slow""#));
    say(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"changed my mind"}}"#,
    );
    sim.run_for(Duration::from_secs(61));
    assert_eq!(sim.server.cancelled(), [1]);
    // After the answer, of something unknown, of an id of the other type, and without any.
    say(&mut sim, &modern(2, "tools/call", r#""name":"echo""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    say(&mut sim, &modern(3, "tools/call", r#""name":"slow""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"3"}}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#);
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    assert_eq!(sim.server.counters().stray_cancellations, 2);
    sim.run_for(Duration::from_secs(60));
    // Both in one read.
    sim.client.say(&modern(4, "tools/call", r#""name":"slow""#));
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#);
    end_and_expect(&mut sim, "server_modern_cancel");
}

#[test]
fn an_id_that_is_in_use() {
    let mut sim = fresh_server();
    say(&mut sim, &modern(1, "tools/call", r#""name":"slow""#));
    say(&mut sim, &modern(1, "tools/call", r#""name":"echo""#));
    sim.run_for(Duration::from_secs(60));
    // Once it is answered the id is free again.
    say(&mut sim, &modern(1, "tools/call", r#""name":"echo""#));
    end_and_expect(&mut sim, "server_modern_duplicate_id");
}

#[test]
fn pages_and_their_cursors() {
    let mut config = server_config();
    config.page_size = 3;
    let mut sim = fresh_server_with(config);
    say(&mut sim, &modern(1, "tools/list", ""));
    say(&mut sim, &modern(2, "tools/list", r#""cursor":"3""#));
    say(&mut sim, &modern(3, "tools/list", r#""cursor":"6""#));
    for (id, cursor) in ["", "nonsense", "+3", "03", "0", "99", "3w5e11264sgsf"].into_iter().enumerate() {
        say(&mut sim, &modern(10 + id as u64, "tools/list", &format!(r#""cursor":"{cursor}""#)));
    }
    say(&mut sim, &modern(20, "tools/list", r#""cursor":3"#));
    say(&mut sim, &modern(21, "tools/list", r#""cursor":null"#));
    end_and_expect(&mut sim, "server_modern_pages");
}

#[test]
fn both_eras_on_one_stream() {
    let mut sim = legacy_server("2025-11-25");
    say(&mut sim, &modern(1, "tools/call", r#""name":"ask""#));
    say(&mut sim, &crate::common::legacy(2, "tools/call", r#""name":"echo""#));
    end_and_expect(&mut sim, "server_both_eras");
}

#[test]
fn the_client_closes_its_end() {
    let mut sim = fresh_server();
    // What is quick is answered, what is slow is told to stop after a moment.
    sim.client.say(&modern(1, "tools/call", r#""name":"echo""#));
    sim.client.say(&modern(2, "tools/call", r#""name":"slow""#));
    end_and_expect(&mut sim, "server_modern_client_closes");
}

#[test]
fn a_server_that_closes_ends_calls_and_subscriptions() {
    let mut sim = fresh_server();
    say(&mut sim, &modern(1, "tools/call", r#""name":"slow""#));
    say(&mut sim, &modern(2, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#));
    sim.server.close();
    end_and_expect(&mut sim, "server_modern_closes");
}
