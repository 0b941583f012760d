//! Connections without TLS.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use super::rig::{Part, Side, client, drive_to_end, drive_until, meet, server};
use crate::io::{Direction, Pollable, Poller};
use crate::net::{DialOptions, HttpListener, SocketConnection};

/// A connection to a peer that the test plays itself.
fn accepted() -> (SocketConnection, TcpStream) {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert_eq!(readable(&listener), 1);
    (listener.accept().unwrap(), peer)
}

/// Whether somebody has connected, as a driver sees it.
fn readable(listener: &HttpListener) -> usize {
    let (mut count, wanted) = (0, [(listener.pollable(), Direction::Read.into())]);
    Poller::new().unwrap().wait(wanted, Some(Duration::ZERO), |_, _| count += 1).unwrap();
    count
}

#[test]
fn small_and_large_transfers_both_ways() {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(listener.accept().err().map(|error| error.kind()), Some(std::io::ErrorKind::WouldBlock));
    assert_eq!(readable(&listener), 0, "there is nothing to wait for");
    let port = listener.local_addr().unwrap().port();
    for bytes in [100, 8 << 20] {
        let mut client = Side::dial("127.0.0.1", port, false, DialOptions::new());
        meet(&mut client, &listener, bytes);
    }
}

#[test]
fn a_unix_socket() {
    let path = std::env::temp_dir().join(format!("windlass-net-{}.sock", std::process::id()));
    let listener = HttpListener::bind_unix(&path).unwrap();
    assert!(listener.is_loopback() && listener.local_addr().is_none());
    assert_eq!(listener.url("/mcp"), format!("unix:{}", path.display()));

    let mut client = Side::dial("anything.example", 80, false, DialOptions::new().unix_socket(&path));
    meet(&mut client, &listener, 100_000);

    let again = HttpListener::bind_unix(&path).map(|_| ()).map_err(|error| error.kind());
    assert_eq!(again, Err(std::io::ErrorKind::AddrInUse), "somebody listens there");
    drop(listener);
    assert!(!path.exists(), "nobody listens there any more");
    std::mem::drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the standard library leaves its file behind");
    drop(HttpListener::bind_unix(&path).unwrap());
    let mut client = Side::dial("anything.example", 80, false, DialOptions::new().unix_socket(&path));
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.contains("anything.example:80: through the Unix socket"), "{failure}");
    assert!(failure.contains(path.to_str().unwrap()), "{failure}");
}

#[test]
fn a_peer_that_sends_byte_by_byte() {
    let (connection, mut peer) = accepted();
    let mut side = Side::accepted(server(), connection);
    let talk = thread::spawn(move || {
        peer.set_nodelay(true).unwrap();
        for byte in b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n" {
            peer.write_all(&[*byte]).unwrap();
        }
        let mut answer = [0; 4096];
        let count = peer.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..count]).into_owned()
    });
    drive_until(&mut [&mut side], "closed the peer closed");
    drive_to_end(&mut [&mut side]);
    let answer = talk.join().unwrap();
    assert!(answer.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,"), "{answer}");
}

#[test]
fn what_a_half_closed_peer_asked_is_answered() {
    let (connection, mut peer) = accepted();
    let mut side = Side::accepted(server(), connection);
    peer.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    drive_to_end(&mut [&mut side]);
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,"), "{answer}");
}

#[test]
fn the_last_words_of_a_peer_that_is_gone_are_heard() {
    // A Unix socket says at once that nobody reads any more; over TCP the first write would still succeed.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let connection =
        |stream: UnixStream| SocketConnection::accepted(Pollable::new(stream).unwrap(), None, None).unwrap();
    let mut client = Side::accepted(client(), connection(ours));
    let mut server = Side::accepted(server(), connection(theirs));
    drive_until(&mut [&mut client, &mut server], "ready");
    client.ask(10);
    client.turn();
    client.ready(false, true);
    drive_until(&mut [&mut server], "invoked");
    server.ready(false, true);
    drop(server);
    // The driver writes before it reads, so this is where the client notices.
    client.ask(20);
    drive_until(&mut [&mut client], "closed the peer closed the connection");
    assert!(client.saw("completed") && client.saw("failed"), "one was answered: {:?}", client.log);
}

#[test]
fn an_answer_is_not_lost_because_the_client_still_sends() {
    use windlass::link::http::{HttpServer, HttpServerConfig};
    use windlass::model::Implementation;
    use windlass::server::{Registry, ServerConfig};
    use windlass::{Instant, Machine, Output, Seed};

    let (mut connection, mut peer) = accepted();
    let clock = crate::Clock::new();
    let config = ServerConfig::new(Implementation::new("test", "1"));
    let http = HttpServerConfig::on_loopback();
    let registry = Registry::<()>::new();
    let mut machine: HttpServer<(), ()> = HttpServer::new(config, http, registry, &Seed::from_number(1), Instant::ZERO);
    let conn = machine.accept(Instant::ZERO);
    let talk = thread::spawn(move || {
        // The server refuses this as soon as it has seen the length; the client is not that quick.
        peer.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").unwrap();
        peer.write_all(b"Accept: application/json, text/event-stream\r\nContent-Length: 99999999\r\n\r\n").unwrap();
        for _ in 0..512 {
            peer.write_all(&[b'x'; 16 * 1024]).unwrap();
        }
        peer.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        answer
    });
    while !connection.is_over() {
        while let Output::Event(_) | Output::Open { .. } | Output::Close(_) = {
            let output = machine.poll();
            if let Output::Close(_) = output {
                connection.close(clock);
            }
            output
        } {}
        let readiness = connection.interest(!machine.read_buf(conn).is_empty(), !machine.write_buf(conn).is_empty());
        if readiness.write {
            let _ = connection.write(&mut machine, conn, clock);
        }
        if readiness.read {
            let _ = connection.read(&mut machine, conn, clock);
        }
        thread::yield_now();
    }
    let answer = talk.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn a_listener_says_where_it_is() {
    let listener = HttpListener::from_std(TcpListener::bind("0.0.0.0:0").unwrap()).unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(!listener.is_loopback());
    assert_eq!(listener.url("/mcp"), format!("http://127.0.0.1:{port}/mcp"));
    assert_eq!(listener.to_string(), format!("http://127.0.0.1:{port}"));
    assert_eq!(listener.url("mcp"), listener.url("/mcp"));
}
