//! What a server answers to what is no message, or the wrong one at the wrong place.

use crate::common::{fresh_server, fresh_server_with, legacy, legacy_server, modern, say, server_config};
use crate::end_and_expect;

/// One line for each way of being wrong.
const WRONG: &[&str] = &[
    "not JSON",
    r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
    "7",
    r#""text""#,
    "null",
    "[]",
    "{}",
    r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    r#"{"id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#,
    r#"{"jsonrpc":"2.0","ID":1,"id":true,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
];

/// What is never answered, however wrong it is.
const UNANSWERED: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"notifications/x-unknown"}"#,
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/x-unknown","params":[]}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[]}}"#,
    r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":"77","result":{}}"#,
    r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":77,"result":7}"#,
    r#"{"jsonrpc":"2.0","id":77,"error":7}"#,
    r#"{"jsonrpc":"2.0","id":77,"result":{},"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","result":{}}"#,
];

#[test]
fn every_kind_of_wrong_line() {
    let mut sim = fresh_server();
    for line in WRONG {
        say(&mut sim, line);
    }
    sim.client.say_bytes(b"\xff\xfe\n");
    sim.settle();
    end_and_expect(&mut sim, "server_malformed");
}

#[test]
fn older_clients_get_a_null_id() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut sim = legacy_server(version);
        say(&mut sim, "not JSON");
        say(&mut sim, r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#);
        end_and_expect(&mut sim, &format!("server_malformed_{version}"));
    }
}

#[test]
fn notifications_and_answers_are_never_answered() {
    let mut sim = legacy_server("2025-11-25");
    let before = sim.client.heard().len();
    for line in UNANSWERED {
        say(&mut sim, line);
    }
    assert_eq!(sim.client.heard().len(), before, "nothing was answered");
    end_and_expect(&mut sim, "server_unanswered");
}

#[test]
fn white_space_and_byte_order_marks() {
    let mut sim = fresh_server();
    sim.client.say_bytes(b"\xef\xbb\xbf");
    say(&mut sim, &legacy(1, "ping", ""));
    sim.client.say_bytes(b"\n\r\n  \t\n");
    sim.client.say_bytes(format!("  {} \r\n", legacy(2, "ping", "")).as_bytes());
    // A newline inside a message makes two broken lines of it.
    say(&mut sim, "{\"jsonrpc\":\"2.0\",\n\"id\":3,\"method\":\"ping\"}");
    // The last line may lack its newline, but it must be whole.
    sim.client.say_bytes(legacy(4, "ping", "").as_bytes());
    end_and_expect(&mut sim, "server_white_space");

    let mut sim = fresh_server();
    sim.client.say_bytes(br#"{"jsonrpc":"2.0","id":4,"meth"#);
    end_and_expect(&mut sim, "server_truncated");
}

#[test]
fn too_long_and_too_deep() {
    let mut config = server_config();
    config.limits.message_bytes = 300;
    config.limits.nesting = 8;
    let mut sim = fresh_server_with(config);
    let long = "x".repeat(500);
    say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{long}"}}}}"#));
    say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":"{long}"}},"id":"last"}}"#));
    say(&mut sim, &long);
    say(
        &mut sim,
        &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"ping","params":{{"x":{}{}}}}}"#, "[".repeat(7), "]".repeat(7)),
    );
    say(
        &mut sim,
        &format!(r#"{{"jsonrpc":"2.0","id":3,"method":"ping","params":{{"x":{}{}}}}}"#, "[".repeat(6), "]".repeat(6)),
    );
    end_and_expect(&mut sim, "server_too_long");
}

#[test]
fn batches_are_read_where_the_revision_has_them_and_within_the_limit() {
    let ping = legacy(1, "ping", "");
    let call = legacy(2, "tools/call", r#""name":"echo""#);
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let batch = format!("[{ping},7,{call},{notice},{{\"jsonrpc\":\"2.0\",\"id\":3}}]");
    let mut sim = legacy_server("2025-03-26");
    say(&mut sim, &batch);
    say(&mut sim, "[]");
    say(&mut sim, &format!("[{}]", crate::common::initialize("2025-03-26")));
    say(&mut sim, &format!("[{ping}"));
    let many = vec![notice; 129].join(",");
    say(&mut sim, &format!("[{many}]"));
    end_and_expect(&mut sim, "server_batch");

    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut sim = legacy_server(version);
        say(&mut sim, &batch);
        end_and_expect(&mut sim, &format!("server_batch_{version}"));
    }
    let mut sim = fresh_server();
    say(&mut sim, &format!("[{}]", modern(1, "tools/list", "")));
    end_and_expect(&mut sim, "server_batch_modern");
}

#[test]
fn requests_beyond_the_limit_are_refused_at_once() {
    let mut config = server_config();
    config.limits.incoming_requests = 2;
    let mut sim = fresh_server_with(config);
    for id in 1..=3 {
        say(&mut sim, &modern(id, "tools/call", r#""name":"slow""#));
    }
    sim.run_for(std::time::Duration::from_secs(60));
    say(&mut sim, &modern(4, "tools/call", r#""name":"echo""#));
    end_and_expect(&mut sim, "server_too_many_requests");
}
