//! A connection on which nothing happens costs next to nothing.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::{CallError, Client, Error};
use crate::peers::{AMONG_US, BY_SCRIPT, SCRIPTED, server};
use crate::processes::{self, RawServer};

/// A loop that does not rest uses all of the time that it is given, which is 300 ms and more.
const NEXT_TO_NOTHING: Duration = Duration::from_millis(80);

/// What a process of its own prints about itself.
fn measured(mode: &str, peer: [&str; 2]) -> u64 {
    let wire = if peer[0] == SCRIPTED { BY_SCRIPT } else { AMONG_US };
    let output = Command::new(OWN_SERVER).arg(mode).args(wire.tapped(&peer, SCRIPTED)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

case!(an_idle_client_uses_no_processor_time, {
    let used = Duration::from_millis(measured("idle", [OWN_SERVER, "serve"]));
    assert!(used < NEXT_TO_NOTHING, "{used:?}");
});

case!(a_client_that_cannot_say_its_last_words_waits_without_spinning, {
    let used = Duration::from_millis(measured("leave", [SCRIPTED, "stops_reading"]));
    assert!(used < NEXT_TO_NOTHING, "{used:?}");
});

case!(connections_that_are_closed_leave_no_descriptor_open, {
    for peer in [[OWN_SERVER, "serve"], [SCRIPTED, "legacy"], [SCRIPTED, "exits_on_probe"]] {
        // The thread that reads a child's standard error may still be closing its last one.
        let left = measured("cycle", peer);
        assert!(left <= 2, "{left} are open after {peer:?}");
    }
});

case!(an_idle_server_uses_no_processor_time, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
    let before = processes::processor_time(pid);
    let outcome = wait!(client.with_idle_timeout(Duration::from_millis(300)).call_tool("never", json!({})));
    assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
    let used = processes::processor_time(pid) - before;
    assert!(used < NEXT_TO_NOTHING, "{used:?}");
    wait!(client.close());
});

case!(a_server_whose_client_is_gone_waits_for_its_handlers_without_spinning, {
    let mut server = RawServer::start(OWN_SERVER);
    server.call_tool(2, "stuck");
    server.call_tool(3, "echo");
    assert!(server.hear().contains(r#""id":3"#));
    let before = processes::processor_time(server.pid());
    server.end_input();
    server.wait_for_exit();
    let used = processes::processor_time(server.pid()) - before;
    assert!(used < NEXT_TO_NOTHING, "{used:?}");
});
