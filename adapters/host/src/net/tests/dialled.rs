//! Finding the way to a server.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::rig::{Side, connect, drive_until, round_trip, server};
use crate::net::{DialOptions, HttpListener};

#[test]
fn a_refused_connection_names_the_address() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut client = Side::dial("127.0.0.1", port, false, DialOptions::new());
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.starts_with(&format!("closed the peer could not be reached: 127.0.0.1:{port}: ")), "{failure}");
    assert!(failure.contains("refused"), "{failure}");
    assert!(client.wire.is_over() && client.wire.socket().is_none() && client.wire.deadline().is_none());
}

#[test]
fn localhost_is_whichever_address_answers() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        // Where there is no IPv6 there is nothing to listen on.
        let Ok(listener) = HttpListener::bind(address) else { continue };
        let port = listener.local_addr().unwrap().port();
        let mut client = Side::dial("localhost", port, false, DialOptions::new());
        let mut server = Side::accepted(server(), connect(&mut client, &listener));
        round_trip(&mut client, &mut server, 10);
    }
}

#[test]
fn localhost_without_a_server_names_both_addresses() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut client = Side::dial("LocalHost", port, false, DialOptions::new());
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.contains(&format!("LocalHost:{port}: [::1]:{port}: ")), "{failure}");
    assert!(failure.contains(&format!("; 127.0.0.1:{port}: ")), "{failure}");
}

#[test]
fn an_address_in_brackets() {
    let Ok(listener) = HttpListener::bind("[::1]:0") else { return };
    let port = listener.local_addr().unwrap().port();
    let mut client = Side::dial("[::1]", port, false, DialOptions::new());
    let mut server = Side::accepted(server(), connect(&mut client, &listener));
    round_trip(&mut client, &mut server, 10);
}

#[test]
fn a_name_that_nobody_knows_fails_in_time() {
    let limit = Duration::from_secs(5);
    let start = Instant::now();
    let mut client = Side::dial("no-such-host.invalid", 80, false, DialOptions::new().connect_timeout(limit));
    assert!(client.wire.socket().is_none(), "there is nothing to wait for yet");
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.contains("no-such-host.invalid:80: "), "{failure}");
    assert!(start.elapsed() < limit + Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    // Nobody accepts and the queue is full, so that the system itself stops answering.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    for _ in 0..8 {
        queued.push(Side::dial("127.0.0.1", address.port(), false, DialOptions::new()));
    }
    for side in &mut queued {
        super::rig::Part::turn(side);
    }
    let options = DialOptions::new().connect_timeout(Duration::from_millis(200));
    let mut client = Side::dial("127.0.0.1", address.port(), false, options);
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.ends_with(&format!("127.0.0.1:{}: it did not answer within 200ms", address.port())), "{failure}");
}
