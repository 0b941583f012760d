//! Through a proxy that the test plays itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::rig::{Client, Side, drive_until, meet};
use crate::net::{DialOptions, HttpListener, ProxySettings};

/// A proxy for one connection: hears the request, answers, and if it is a good answer leads to `target`. Its result is
/// the request.
fn proxy(answer: &'static [u8], target: Option<SocketAddr>) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let handle = thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            near.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        // Byte by byte, as an answer may come; but what is behind it comes together with its end.
        near.set_nodelay(true).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(answer.len());
        for byte in &answer[..end] {
            let _ = near.write_all(&[*byte]);
        }
        let _ = near.write_all(&answer[end..]);
        if let Some(target) = target {
            relay(near, TcpStream::connect(target).unwrap());
        }
        String::from_utf8(request).unwrap()
    });
    (port, handle)
}

fn relay(near: TcpStream, far: TcpStream) {
    let (mut from, mut to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
    let back = thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to) = (near, far);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
    back.join().unwrap();
}

fn options(url: &str) -> DialOptions {
    DialOptions::new().proxy(ProxySettings::through(url).unwrap())
}

/// A client of a server whose name nobody but the proxy knows.
fn client_through(port: u16) -> Side<Client> {
    Side::dial("service.test", 80, false, options(&format!("http://127.0.0.1:{port}")))
}

/// What a client says that is answered like this.
fn failure(answer: &'static [u8]) -> String {
    let (port, proxy) = proxy(answer, None);
    let mut client = client_through(port);
    let failure = drive_until(&mut [&mut client], "closed");
    proxy.join().unwrap();
    assert!(failure.contains(&format!("service.test:80: through the proxy 127.0.0.1:{port}: ")), "{failure}");
    failure
}

#[test]
fn a_tunnel() {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let answer = b"HTTP/1.1 200 Connection established\r\n\r\n";
    let (port, proxy) = proxy(answer, listener.local_addr());
    let mut client = client_through(port);
    meet(&mut client, &listener, 100_000);
    assert_eq!(proxy.join().unwrap(), "CONNECT service.test:80 HTTP/1.1\r\nHost: service.test:80\r\n\r\n");
}

#[test]
fn credentials_are_shown_to_the_proxy_only() {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let (port, proxy) = proxy(b"HTTP/1.0 200 OK\r\nVia: test\r\n\r\n", listener.local_addr());
    let url = format!("http://user:p%40ss@127.0.0.1:{port}");
    let mut client = Side::dial("service.test", 80, false, options(&url));
    meet(&mut client, &listener, 10);
    let request = proxy.join().unwrap();
    assert!(request.contains("\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n"), "{request}");
}

#[test]
fn what_a_server_says_first_is_not_lost() {
    let answer = b"HTTP/1.1 200 OK\r\n\r\nthis is no message\n";
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let (port, proxy) = proxy(answer, listener.local_addr());
    let mut client = client_through(port);
    meet(&mut client, &listener, 10);
    assert!(client.saw("malformed"), "{:?}", client.log);
    proxy.join().unwrap();
}

#[test]
fn a_proxy_that_refuses() {
    let refused = failure(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno!!!");
    assert!(refused.ends_with("it refused: 403 Forbidden"), "{refused}");
    let unknown = failure(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    assert!(unknown.contains("credentials"), "{unknown}");
}

#[test]
fn a_proxy_that_is_none() {
    let garbage = failure(b"SSH-2.0-OpenSSH_9.9\r\n\r\n");
    assert!(garbage.contains("its answer is not understood"), "{garbage}");
    let silence = failure(b"");
    assert!(silence.contains("it closed the connection without an answer"), "{silence}");
    static ENDLESS: [u8; 70_000] = [b'x'; 70_000];
    let endless = failure(&ENDLESS);
    assert!(endless.contains("its answer is not understood"), "{endless}");
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut client = client_through(port);
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.contains(&format!("service.test:80: through the proxy 127.0.0.1:{port}: ")), "{failure}");
    assert!(failure.contains("refused"), "{failure}");
}

#[test]
fn a_proxy_that_is_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = options(&format!("http://127.0.0.1:{port}")).connect_timeout(Duration::from_millis(100));
    let mut client = Side::dial("service.test", 80, false, options);
    let failure = drive_until(&mut [&mut client], "closed");
    assert!(failure.ends_with(&format!("the proxy 127.0.0.1:{port} did not answer within 100ms")), "{failure}");
}

#[cfg(feature = "tls")]
#[test]
fn tls_inside_a_tunnel() {
    use super::secured::Authority;

    let authority = Authority::new();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server("service.test"));
    let (port, proxy) = proxy(b"HTTP/1.1 200 OK\r\n\r\n", listener.local_addr());
    let options = options(&format!("http://127.0.0.1:{port}")).tls(authority.trusted());
    let mut client = Side::dial("service.test", 443, true, options);
    meet(&mut client, &listener, 1 << 20);
    assert!(proxy.join().unwrap().starts_with("CONNECT service.test:443 HTTP/1.1\r\n"));
}
