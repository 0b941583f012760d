//! A proxy that is asked for tunnels.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::porter::{read_head, relay};

/// Leads whoever asks by `CONNECT` to one server, whatever it is called, or nowhere.
pub(crate) struct ConnectProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    pub(crate) fn leading_to(server: SocketAddr) -> Self {
        Self::start("200 Connection established", Some(server))
    }

    /// Answers with this status, and that is that.
    pub(crate) fn refusing_with(status: &'static str) -> Self {
        Self::start(status, None)
    }

    fn start(status: &'static str, server: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let hearing = asked.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let hearing = hearing.clone();
                thread::spawn(move || lead(client, status, server, &hearing));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The heads of all requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn lead(mut client: TcpStream, status: &str, server: Option<SocketAddr>, asked: &Mutex<Vec<String>>) -> io::Result<()> {
    let head = read_head(&client)?;
    asked.lock().unwrap().push(head);
    client.write_all(format!("HTTP/1.1 {status}\r\nVia: 1.1 test\r\n\r\n").as_bytes())?;
    server.map_or(Ok(()), |server| relay(client, TcpStream::connect(server)?))
}
