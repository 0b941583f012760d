//! Finding the way to a server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::link::http::{HttpClient, HttpClientConfig};
use windlass::model::{Implementation, ProtocolVersion};
use windlass::{Machine, Output, Target};

use super::rig::{Side, drive_until, meet};
use crate::Clock;
use crate::net::dial::Address;
use crate::net::{DialOptions, HttpListener, ProxySettings, SocketConnection, SocketConnections};

#[test]
fn a_refused_connection_names_the_address() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut client = Side::dial("127.0.0.1", port, false, DialOptions::new());
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.starts_with(&format!("closed the peer could not be reached: 127.0.0.1:{port}: ")), "{failure}");
    assert!(failure.contains("refused"), "{failure}");
    assert!(
        client.connection.is_over() && client.connection.socket().is_none() && client.connection.deadline().is_none()
    );
}

#[test]
fn localhost_is_whichever_address_answers() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        // Where there is no IPv6 there is nothing to listen on.
        let Ok(listener) = HttpListener::bind(address) else { continue };
        let port = listener.local_addr().unwrap().port();
        let mut client = Side::dial("localhost", port, false, DialOptions::new());
        meet(&mut client, &listener, 10);
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
    meet(&mut client, &listener, 10);
}

#[test]
fn a_name_that_nobody_knows_fails_in_time() {
    let limit = Duration::from_secs(5);
    let start = Instant::now();
    let mut client = Side::dial("no-such-host.invalid", 80, false, DialOptions::new().connect_timeout(limit));
    assert!(client.connection.socket().is_none(), "there is nothing to wait for yet");
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.contains("no-such-host.invalid:80: "), "{failure}");
    assert!(start.elapsed() < limit + Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    // Nobody accepts and the queue is full, so that the system itself stops answering.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    crate::io::listen(&listener, 0).unwrap();
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

/// Spellings that the system's resolver knows as well: they are read by the one function that judges them.
#[test]
fn an_address_in_other_spellings() {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in ["0x7f.1", "2130706433", "0177.0.0.01", "127.0.0.1."] {
        let mut client = Side::dial(host, port, false, DialOptions::new());
        meet(&mut client, &listener, 10);
    }
}

/// What becomes of a connection to a host that a server has named.
fn named_by_a_server(host: &str, port: u16, options: DialOptions) -> String {
    let clock = Clock::new();
    let config = ClientConfig::new(Implementation::new("test", "1"));
    let http = HttpClientConfig::new("http://a.example/mcp").unwrap();
    let call = ("ping", &serde_json::json!({}), &CallOptions::new());
    let mut machine =
        HttpClient::for_one_call(config, http, ProtocolVersion::LATEST, call, (), clock.now()).ok().unwrap();
    let mut connections = SocketConnections::dialled_by(options, clock, Arc::new(|| {}));
    let mut opened = None;
    let start = Instant::now();
    loop {
        match machine.poll() {
            Output::Open { conn, target: Target::Http(mut target) } => {
                assert!(!target.public_only, "the program has named its server itself");
                (target.host, target.port, target.public_only) = (host.into(), port, true);
                connections.open(conn, target);
                opened = Some(conn);
            }
            Output::Event(ClientEvent::Completed { outcome, .. }) => return outcome.unwrap_err().to_string(),
            Output::Idle { .. } => {
                connections.advance(&mut machine);
                if let Some(conn) = opened {
                    let _ = connections.write(&mut machine, conn);
                    connections.read(&mut machine, conn);
                }
                thread::yield_now();
            }
            _ => {}
        }
        assert!(start.elapsed() < Duration::from_secs(20), "nothing has come of it");
    }
}

#[test]
fn a_server_can_send_nobody_to_this_machine() {
    let here = HttpListener::bind("127.0.0.1:0").unwrap();
    let port = here.local_addr().unwrap().port();
    let proxy = ProxySettings::through(&format!("http://127.0.0.1:{port}")).unwrap().including_loopback();
    let path = std::env::temp_dir().join(format!("windlass-net-named-{}.sock", std::process::id()));
    let local = std::os::unix::net::UnixListener::bind(&path).unwrap();
    local.set_nonblocking(true).unwrap();
    for host in ["127.0.0.1", "localhost", "a.LocalHost.", "0x7f.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "127.0.0.1."]
    {
        for options in [
            DialOptions::new(),
            DialOptions::new().proxy(proxy.clone()),
            // The program's own server is behind it, and not what that names.
            DialOptions::new().unix_socket(&path),
        ] {
            let why = named_by_a_server(host, port, options);
            assert!(why.contains(host) && why.contains("it resolves to no public address"), "{why}");
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert!(here.accept().is_err() && local.accept().is_err(), "nobody has come");
}

/// The name says nothing: it is what it leads to that is judged.
#[test]
fn a_name_that_leads_to_this_machine_is_none_that_a_server_can_send_anybody_to() {
    let here = HttpListener::bind("127.0.0.1:0").unwrap();
    let port = here.local_addr().unwrap().port();
    let mut options = DialOptions::new();
    options.resolver = |host, port| {
        assert_eq!(host, "as.example");
        Ok(vec![([127, 0, 0, 1], port).into(), ([10, 0, 0, 1], port).into()])
    };
    let why = named_by_a_server("as.example", port, options.clone());
    assert!(why.contains(&format!("as.example:{port}: it resolves to no public address")), "{why}");
    assert!(here.accept().is_err(), "nobody has come");
    // What the program has named itself is reached where it is.
    let mut client = Side::dial("as.example", port, false, options);
    meet(&mut client, &here, 10);
}

/// A proxy is the program's choice, wherever it is.
#[test]
fn a_proxy_may_be_on_this_machine_whatever_is_reached_through_it() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = ProxySettings::through(&format!("http://{}", proxy.local_addr().unwrap())).unwrap();
    let refusing = thread::spawn(move || {
        let (mut asked, _) = proxy.accept().unwrap();
        let mut request = [0; 1024];
        let count = asked.read(&mut request).unwrap();
        asked.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    let why = named_by_a_server("as.example", 443, DialOptions::new().proxy(settings));
    assert!(why.contains("403"), "{why}");
    assert!(refusing.join().unwrap().starts_with("CONNECT as.example:443 HTTP/1.1\r\n"));
}

/// On a Unix socket a peer can do so; on others it is gone when it takes nothing any more.
#[test]
fn a_peer_that_listens_no_more_and_talks_on_is_given_up() {
    let path = std::env::temp_dir().join(format!("windlass-net-talks-on-{}.sock", std::process::id()));
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let clock = Clock::new();
    let config = ClientConfig::new(Implementation::new("test", "1"));
    let http = HttpClientConfig::new("http://anything.example/mcp").unwrap();
    let params = serde_json::json!({"name": "echo", "arguments": {"text": "x".repeat(8 << 20)}});
    let (call, version) = (("tools/call", &params, &CallOptions::new()), ProtocolVersion::LATEST);
    let mut machine = HttpClient::for_one_call(config, http, version, call, (), clock.now()).ok().unwrap();
    let Output::Open { conn, .. } = machine.poll() else { panic!("a call needs a connection") };
    let address = Address { host: "anything.example".into(), port: 80, tls: false, public_only: false };
    let options = Arc::new(DialOptions::new().unix_socket(&path));
    let mut connection = SocketConnection::dial(address, &options, clock, Arc::new(|| {}));
    // More than the socket holds: the rest waits.
    assert!(connection.write(&mut machine, conn, clock).is_err());
    let (mut peer, _) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let comments = ":\n".repeat(50_000);
    peer.write_all(head).unwrap();
    peer.shutdown(Shutdown::Read).unwrap();
    // It never has nothing to say.
    peer.set_nonblocking(true).unwrap();
    while peer.write(comments.as_bytes()).is_ok() {}
    peer.set_nonblocking(false).unwrap();
    let talking = thread::spawn(move || while peer.write_all(comments.as_bytes()).is_ok() {});
    let (done, is_done) = channel();
    thread::spawn(move || {
        connection.write(&mut machine, conn, clock).unwrap();
        assert!(connection.is_over() || !connection.interest(true, false).read, "the machine knows that it is gone");
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("it listens for ever");
    talking.join().unwrap();
}
