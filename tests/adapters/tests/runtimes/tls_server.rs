//! A server over HTTP within TLS, written by hand, that ends its answers as it is asked to.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use windlass_tests::hand_written::read_request;

use crate::certificates::Authority;

/// How the end of the answer to a call is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its head says how long it is. The connection is ended without a goodbye.
    Length,
    /// The connection ends with a goodbye.
    Goodbye,
    /// The connection ends, without a goodbye: so it looks if somebody in between cuts it off.
    Cut,
    /// The same, by a reset.
    Reset,
}

/// Serves one client at a time, and returns its URL. Calls are answered by `done`.
pub(crate) fn start(authority: &Authority, end: End) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let config = authority.server_config(&["127.0.0.1"]);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, stream) = (config.clone(), stream.unwrap());
            std::thread::spawn(move || converse(stream, config, end));
        }
    });
    url
}

fn converse(stream: TcpStream, config: Arc<ServerConfig>, end: End) -> io::Result<()> {
    let session = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(session, stream));
    while let Some(request) = read_request(&mut reader)? {
        let stream = reader.get_mut();
        let message = &request.message;
        let result = match (&*request.verb, message["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "by hand", "version": "0"},
            }),
            ("POST", "tools/call") => json!({"content": [{"type": "text", "text": "done"}]}),
            (verb, _) => {
                let status = if verb == "POST" { "202 Accepted" } else { "405 Method Not Allowed" };
                write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")?;
                stream.flush()?;
                continue;
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let is_call = message["method"] == "tools/call";
        let length = match is_call && end != End::Length {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", body.len()),
        };
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{length}\r\n{body}")?;
        stream.flush()?;
        if is_call {
            return finish(stream, end);
        }
    }
    Ok(())
}

fn finish(stream: &mut StreamOwned<ServerConnection, TcpStream>, end: End) -> io::Result<()> {
    if end == End::Goodbye {
        stream.conn.send_close_notify();
        stream.flush()?;
    }
    if end == End::Reset {
        crate::http_server::reset(&stream.sock);
        return Ok(());
    }
    stream.sock.shutdown(Shutdown::Write)?;
    let _ = io::copy(&mut stream.sock, &mut io::sink());
    Ok(())
}
