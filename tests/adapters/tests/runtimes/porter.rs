//! A porter before a server: whoever has no token is sent away.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What is let in.
pub(crate) const TOKEN: &str = "Authorization: Bearer right";

/// Stands before a server on this machine.
pub(crate) struct Porter {
    address: SocketAddr,
    refused: Arc<AtomicUsize>,
}

impl Porter {
    pub(crate) fn before(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let refused = Arc::<AtomicUsize>::default();
        let server = server.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let counting = refused.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, counting) = (server.clone(), counting.clone());
                thread::spawn(move || admit(client, &server, &counting));
            }
        });
        Self { address, refused }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// How many requests were sent away.
    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }
}

/// Looks at the first request of a connection. Whoever is let in is let in for good.
fn admit(mut client: TcpStream, server: &str, refused: &AtomicUsize) -> io::Result<()> {
    let head = read_head(&client)?;
    if !head.contains(TOKEN) {
        refused.fetch_add(1, Ordering::SeqCst);
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
        io::copy(&mut (&client).take(length.unwrap_or(0)), &mut io::sink())?;
        let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"porter\"\r\nContent-Length: 0\r\n\
                      Connection: close\r\n\r\n";
        return client.write_all(answer.as_bytes());
    }
    let mut server = TcpStream::connect(server)?;
    server.write_all(head.as_bytes())?;
    relay(client, server)
}

/// The head of a request, and nothing behind it.
pub(crate) fn read_head(mut client: &TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Passes on what either says until the server has ended.
pub(crate) fn relay(mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(std::net::Shutdown::Write);
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(std::net::Shutdown::Both)
}
