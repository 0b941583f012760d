//! Clients that ask for more than they read. The server stays within its limits, and goes when its client goes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::OWN_SERVER;
use crate::processes::RawServer;

/// Requests that are made before any answer is read.
const FLOOD: u32 = 50_000;

/// What a server may need for a flood, in kilobytes: the answers wait in its memory, and so do up to a thousand
/// handlers.
const FLOOD_BOUND: u64 = 64 * 1024;

/// What a server may need for answers that nobody reads, in kilobytes: as much as it lets wait, and room for what
/// comes on top.
const UNREAD_BOUND: u64 = 160 * 1024;

case!(every_request_of_a_flood_is_answered_once, {
    let mut server = RawServer::start(OWN_SERVER);
    for id in 2..FLOOD + 2 {
        server.call_tool(id, "pid");
    }
    let mut open: BTreeSet<u64> = (2..u64::from(FLOOD) + 2).collect();
    let mut served = 0_u32;
    while !open.is_empty() {
        let line = server.hear();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let id = answer["id"].as_u64().unwrap();
        assert!(open.remove(&id), "a second answer, or one to nobody: {line}");
        // Beyond the limit of open requests there is an error, at once.
        match answer["error"]["code"].as_i64() {
            None => served += 1,
            Some(code) => assert_eq!(code, -32603, "{line}"),
        }
    }
    assert!(served > 0);
    server.end_input();
    assert_eq!(server.hear(), "");
    let took = server.peak_kilobytes();
    assert!(took < FLOOD_BOUND, "{took} kilobytes");
});

case!(a_server_whose_client_never_reads_gives_up_within_its_limits, {
    let mut server = RawServer::start(OWN_SERVER);
    // All at once, so that many handlers are done before any answer can be written. Each answer is a megabyte.
    let requests: Vec<_> = (2..502).map(|id| grow(id, 1_000_000)).collect();
    server.say(&requests.join("\n"));
    // There is no need for the client to do anything more: the server ends by itself.
    let took = server.peak_kilobytes();
    assert!(took < UNREAD_BOUND, "{took} kilobytes");
    server.wait_for_exit();
});

case!(a_server_exits_when_its_client_goes_though_much_is_unread, {
    for start in [RawServer::start, RawServer::start_on_sockets] {
        for goes in [RawServer::end_input, RawServer::hang_up] {
            let mut server = start(OWN_SERVER);
            for id in 2..12 {
                server.say(&grow(id, 1_000_000));
            }
            let started = Instant::now();
            goes(&mut server);
            server.wait_for_exit();
            assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        }
    }
});

fn grow(id: u32, bytes: usize) -> String {
    let params = format!(r#"{{"name":"grow","arguments":{{"bytes":{bytes}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}
