//! As much of an HTTP server, and of a browser, as the tests need.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

pub(crate) struct Response {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(status: &'static str, body: &serde_json::Value) -> Self {
        Self { status, headers: vec![("Content-Type", "application/json".into())], body: body.to_string() }
    }

    pub(crate) fn empty(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }
}

/// Answers requests for as long as the test runs; its origin.
pub(crate) fn serve(listener: TcpListener, answer: impl Fn(&Request) -> Response + Clone + Send + 'static) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || while converse(&stream, &answer).is_some() {});
        }
    });
}

fn converse(mut stream: &TcpStream, answer: &impl Fn(&Request) -> Response) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let (method, rest) = line.split_once(' ')?;
    let target = rest.split_once(' ')?.0;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: form(query),
        headers,
        body: String::from_utf8(body).ok()?,
    };
    let Response { status, headers, body } = answer(&request);
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).ok()
}

/// A page, as a browser gets it: where it leads to, and what it says.
pub(crate) fn get(url: &str) -> (Option<String>, String) {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("no browser of a test goes to {url}"));
    let (authority, target) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(authority).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{url}: {head}");
    }
    let header =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
    length += header("Content-Length:").unwrap().parse::<usize>().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (header("Location:"), String::from_utf8(body).unwrap())
}

/// `a=b&c=d`, decoded.
pub(crate) fn form(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
