//! However the bytes of a server are cut up, the client hears the same and says the same.

use quickcheck::{Arbitrary, Gen, QuickCheck};
use windlass::model::{CallTool, CallToolParams};

use crate::talk::{Talk, config, http};

/// What is said, without the connections, which come and go with the bytes. What is said again because a kept connection
/// was closed counts once.
fn said(talk: &Talk) -> (Vec<String>, Vec<String>) {
    let lines = |mark: &str| {
        let lines = talk.transcript.lines().filter(|line| line.starts_with(mark)).map(String::from);
        lines.collect::<Vec<String>>()
    };
    let mut sent = lines(">   ");
    // Messages on different connections have no order.
    sent.sort();
    sent.dedup();
    (lines("!"), sent)
}

/// A talk with a server of the given era that answers one call with these bytes and then closes the connection.
fn talk(legacy: bool, bytes: &[u8], chunk: usize) -> (Vec<String>, Vec<String>) {
    let mut config = config();
    config.limits.message_bytes = 400;
    let mut talk =
        if legacy { Talk::legacy_with(config, http(), "2025-03-26", None) } else { Talk::modern_with(config, http()) };
    talk.call::<CallTool>(&CallToolParams::new("echo"));
    let call = talk.request();
    talk.chunk = chunk;
    talk.raw(call.conn, bytes);
    if talk.is_open(call.conn) {
        talk.cut(&call);
    }
    talk.chunk = usize::MAX;
    talk.pass(std::time::Duration::from_secs(100));
    talk.close();
    talk.pass(std::time::Duration::from_secs(10));
    assert!(talk.client.is_idle(), "{}", talk.transcript);
    said(&talk)
}

#[derive(Clone, Debug)]
struct Response(Vec<u8>);

impl Arbitrary for Response {
    fn arbitrary(g: &mut Gen) -> Self {
        let id = *g.choose(&[2_i64, 2, 2, 1, 99]).unwrap();
        let message = match u8::arbitrary(g) % 10 {
            0..4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#),
            4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"\u00e9"}}}}"#),
            5 => r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#
                .into(),
            6 => r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#.into(),
            7 => {
                format!(r#"[{{"jsonrpc":"2.0","id":"q","method":"ping"}},{{"jsonrpc":"2.0","id":{id},"result":{{}}}}]"#)
            }
            8 => "x".repeat(usize::arbitrary(g) % 900),
            _ => "nonsense".into(),
        };
        let status = g.choose(&["200 OK", "200 OK", "200 OK", "202 X", "400 X", "404 X", "500 X"]).unwrap();
        let events = bool::arbitrary(g);
        let body = match events {
            false => message,
            true => {
                let end = g.choose(&["\n", "\r\n", "\r"]).unwrap();
                let extra = g.choose(&["", ": c", "id: 4", "event: message", "retry: 1", "data: "]).unwrap();
                let before = g.choose(&["", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"]).unwrap();
                let (extra, before) = (format!("{extra}{end}{end}"), format!("{before}{end}{end}"));
                format!("{extra}{before}data: {message}{end}{end}")
            }
        };
        let kind = if events { "text/event-stream" } else { "application/json" };
        let mut bytes = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n").into_bytes();
        match u8::arbitrary(g) % 3 {
            0 => bytes.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).bytes()),
            1 => {
                bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                for piece in body.as_bytes().chunks(usize::arbitrary(g) % 50 + 1) {
                    bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
                    bytes.extend(piece);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
            }
            _ => bytes.extend(format!("\r\n{body}").bytes()),
        }
        // Now and then something is missing, or wrong.
        match u8::arbitrary(g) % 6 {
            0 => bytes.truncate(usize::arbitrary(g) % (bytes.len() + 1)),
            1 => {
                let at = usize::arbitrary(g) % bytes.len();
                bytes[at] = u8::arbitrary(g);
            }
            _ => {}
        }
        Self(bytes)
    }
}

#[test]
fn any_response_in_any_pieces() {
    fn same(legacy: bool, response: Response, chunk: u8) -> bool {
        let whole = talk(legacy, &response.0, usize::MAX);
        assert!(
            whole
                .0
                .iter()
                .filter(|line| line.starts_with("! call 1 completed") || line.contains("call 1 failed"))
                .count()
                == 1
        );
        for chunk in [1, usize::from(chunk).max(2)] {
            let cut = talk(legacy, &response.0, chunk);
            assert_eq!(cut, whole, "{legacy} {chunk} {:?}", String::from_utf8_lossy(&response.0));
        }
        true
    }
    QuickCheck::new().tests(600).quickcheck(same as fn(bool, Response, u8) -> bool);
}

#[test]
fn a_whole_session_at_every_size() {
    let run = |chunk: usize| {
        let mut talk = Talk::new(config(), http());
        talk.chunk = chunk;
        let probe = talk.request();
        talk.plain(&probe, 400, "no");
        let initialize = talk.request();
        talk.initialized(&initialize, "2025-11-25", Some("s"));
        let get = talk.request();
        talk.stream(&get);
        talk.announced();
        talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        talk.call::<CallTool>(&CallToolParams::new("echo"));
        let call = talk.request();
        talk.stream(&call);
        talk.lines(&call, "id: 1\ndata:\n\n");
        talk.lines(&call, &format!("id: 2\ndata: {}\ndata: \ndata: \n\n", call.result(r#"{"text":"ü"}"#)));
        talk.end(&call);
        talk.close_down();
        talk.transcript
    };
    let whole = run(usize::MAX);
    for chunk in (1..80).chain([100, 1000]) {
        assert_eq!(run(chunk), whole, "{chunk}");
    }
}
