//! What servers over HTTP have in common that are written by hand: they read requests, and say what they like.

use std::io::{self, BufRead, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

/// A request of HTTP.
pub struct Request {
    /// `POST` and the like.
    pub verb: String,
    headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub message: Value,
}

impl Request {
    /// What the first header of this name says.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

/// The next request; none when the client has said all.
pub fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut lines = reader.by_ref().lines();
    let Some(first) = lines.next().transpose()? else { return Ok(None) };
    let mut request = Request {
        verb: first.split(' ').next().unwrap_or_default().to_owned(),
        headers: Vec::new(),
        message: Value::Null,
    };
    for line in lines {
        match line?.split_once(':') {
            Some((name, value)) => request.headers.push((name.to_owned(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = request.header("Content-Length").map_or(0, |length| length.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if !body.is_empty() {
        request.message = serde_json::from_slice(&body)?;
    }
    Ok(Some(request))
}

/// A complete response. Each of the headers ends its line.
pub fn respond(mut stream: &TcpStream, status: &str, headers: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    stream.write_all(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}").as_bytes())
}

/// The same, with a message.
pub fn respond_json(stream: &TcpStream, status: &str, headers: &str, message: &Value) -> io::Result<()> {
    respond(stream, status, &format!("Content-Type: application/json\r\n{headers}"), &message.to_string())
}

/// The result of a request, as it should be.
pub fn answer(stream: &TcpStream, id: &Value, result: Value) -> io::Result<()> {
    respond_json(stream, "200 OK", "", &json!({"jsonrpc": "2.0", "id": id, "result": result}))
}
