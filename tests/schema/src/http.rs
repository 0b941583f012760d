//! Reading recordings of HTTP: which messages are in what was said on some connections, and in which conversation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use windlass::codec::http1::{self, Frame, HttpFault, RequestDecoder, RequestHead, ResponseDecoder, ResponseHead};
use windlass::codec::sse::{self, EventDecoder};
use windlass::model::ProtocolVersion;
use windlass_sim::Side;
use windlass_tests::wires::http::{DIRECTION_BYTES, TRANSPORT, unescaped};

/// A message that was on some connection.
#[derive(Debug, PartialEq)]
pub struct Said {
    /// Who said it.
    pub sender: Side,
    /// What.
    pub text: String,
    /// The number of the conversation that it is a part of.
    pub conversation: usize,
    /// The revision that the headers of its exchange name.
    pub version: Option<ProtocolVersion>,
}

/// Whether a recording is one of connections.
pub fn is_http(recording: &str) -> bool {
    recording.lines().take_while(|line| line.starts_with('#')).any(|line| line == TRANSPORT)
}

/// What was found in a recording.
#[derive(Debug, Default)]
pub struct Found {
    /// The messages, in the order in which their last bytes came.
    pub said: Vec<Said>,
    /// Who said something that is no HTTP, and why it is none.
    pub broken: Vec<(Side, HttpFault)>,
    /// Whether more was said than was recorded.
    pub is_cut: bool,
}

/// Reads a recording.
pub fn read(recording: &str) -> Result<Found, String> {
    let mut reading = Reading::default();
    for line in recording.lines().filter(|line| line.starts_with(['>', '<'])) {
        let wrong = || format!("no line of a recording of HTTP: {line}");
        let (mark, rest) = line.split_once(' ').ok_or_else(wrong)?;
        let (number, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let number = number.parse::<u32>().map_err(|_| wrong())?;
        let side = if mark.starts_with('>') { Side::Client } else { Side::Server };
        match &mark[1..] {
            "" => reading.bytes(number, side, &unescaped(text).ok_or_else(wrong)?),
            "." => reading.end(number, side),
            // Not recorded any further: what others say from here on may answer what is missing.
            _ => {
                reading.found.is_cut = true;
                break;
            }
        }
    }
    Ok(reading.found)
}

#[derive(Default)]
struct Reading {
    connections: BTreeMap<u32, Connection>,
    found: Found,
    conversations: usize,
    /// Conversations by the session that they have, or by the address that messages to them are sent to.
    known: BTreeMap<String, usize>,
    /// The events and answers that were told, by conversation: some are told again.
    told: BTreeSet<(usize, String)>,
}

struct Connection {
    requests: RequestDecoder,
    responses: ResponseDecoder,
    unread: [Vec<u8>; 2],
    /// Directions that cannot be read any more, because they are broken.
    lost: [bool; 2],
    request: Option<(RequestHead, Vec<u8>)>,
    /// Requests that began, and whose responses did not.
    unanswered: usize,
    /// Exchanges whose responses have not ended.
    exchanges: VecDeque<Exchange>,
    response: Option<ResponseBody>,
}

/// A request, as far as its response depends on it.
struct Exchange {
    conversation: usize,
    version: Option<ProtocolVersion>,
    /// Whether a handshake begins with it.
    begins: bool,
    /// Whether it is for a document about the server, which is no message.
    document: bool,
    /// The session that the response names.
    session: String,
}

enum ResponseBody {
    Json(Vec<u8>),
    Events { decoder: Box<EventDecoder>, unread: Vec<u8> },
    Other,
}

impl Default for Connection {
    fn default() -> Self {
        let bounds = http1::Bounds::default();
        Self {
            requests: RequestDecoder::new(bounds),
            responses: ResponseDecoder::new(bounds),
            unread: [Vec::new(), Vec::new()],
            lost: [false; 2],
            request: None,
            unanswered: 0,
            exchanges: VecDeque::new(),
            response: None,
        }
    }
}

impl Connection {
    fn expect(&mut self, method: &str) {
        self.responses.expect(method);
        self.unanswered += 1;
    }
}

impl Reading {
    fn bytes(&mut self, number: u32, side: Side, bytes: &[u8]) {
        let mut connection = self.connections.remove(&number).unwrap_or_default();
        connection.unread[side as usize].extend_from_slice(bytes);
        match side {
            Side::Client => self.requests(&mut connection),
            Side::Server => self.responses(&mut connection),
        }
        self.connections.insert(number, connection);
    }

    fn end(&mut self, number: u32, side: Side) {
        let Some(mut connection) = self.connections.remove(&number) else { return };
        if side == Side::Server && matches!(connection.responses.finish(), Ok(Some(Frame::End))) {
            self.response_ended(&mut connection);
        }
        connection.lost[side as usize] = true;
        self.connections.insert(number, connection);
    }

    fn broke(&mut self, connection: &mut Connection, side: Side, fault: HttpFault) {
        connection.lost[side as usize] = true;
        self.found.broken.push((side, fault));
    }

    fn requests(&mut self, connection: &mut Connection) {
        while !connection.lost[Side::Client as usize] {
            let unread = &mut connection.unread[Side::Client as usize];
            let (consumed, frame) = match connection.requests.next(unread) {
                Ok(found) => found,
                Err(fault) => return self.broke(connection, Side::Client, fault),
            };
            let body = if let Some(Frame::Body(range)) = &frame { unread[range.clone()].to_vec() } else { Vec::new() };
            unread.drain(..consumed);
            match frame {
                None => return,
                Some(Frame::Head(head)) => {
                    connection.expect(&head.method);
                    connection.request = Some((head, Vec::new()));
                }
                Some(Frame::Body(_)) => {
                    if let Some((_, whole)) = &mut connection.request {
                        whole.extend_from_slice(&body);
                    }
                }
                Some(Frame::End) => {
                    if let Some((head, body)) = connection.request.take() {
                        connection.exchanges.push_back(self.requested(&head, body));
                    }
                }
            }
        }
    }

    /// A request is there as a whole.
    fn requested(&mut self, head: &RequestHead, body: Vec<u8>) -> Exchange {
        let text = String::from_utf8_lossy(&body).into_owned();
        let begins = text.contains("\"initialize\"");
        let version = head.headers.get("mcp-protocol-version").and_then(ProtocolVersion::parse);
        let known = |key: &str| self.known.get(key).copied();
        let conversation = match head.headers.get("mcp-session-id") {
            // A modern request is a conversation of its own.
            _ if text.contains("io.modelcontextprotocol/protocolVersion") => self.begin_unknown(),
            Some(session) => known(session).unwrap_or_else(|| self.begin(session)),
            None => match known(&head.target) {
                Some(conversation) => conversation,
                // Before there are revisions to be named, a stream is how a conversation begins.
                None if begins || (head.method == "GET" && version.is_none()) => self.begin_unknown(),
                // What is said in the legacy era without a session is taken for what follows on the last handshake.
                None => known("").unwrap_or_else(|| self.begin("")),
            },
        };
        let document = head.method == "GET" && head.target.starts_with("/.well-known/");
        let exchange = Exchange { conversation, version, begins, document, session: String::new() };
        if head.method == "POST" && head.headers.content_type_is("application/json") {
            self.say(Side::Client, text, &exchange);
        }
        exchange
    }

    fn begin(&mut self, key: &str) -> usize {
        let conversation = self.begin_unknown();
        self.known.insert(key.to_owned(), conversation);
        conversation
    }

    fn begin_unknown(&mut self) -> usize {
        self.conversations += 1;
        self.conversations - 1
    }

    fn responses(&mut self, connection: &mut Connection) {
        while !connection.lost[Side::Server as usize] {
            if connection.unanswered == 0 && !connection.unread[Side::Server as usize].is_empty() {
                // A server need not wait for the beginning of a request to refuse it.
                connection.expect("POST");
            }
            let unread = &mut connection.unread[Side::Server as usize];
            let (consumed, frame) = match connection.responses.next(unread) {
                Ok(found) => found,
                Err(fault) => return self.broke(connection, Side::Server, fault),
            };
            let body = if let Some(Frame::Body(range)) = &frame { unread[range.clone()].to_vec() } else { Vec::new() };
            unread.drain(..consumed);
            match frame {
                None => return,
                Some(Frame::Head(head)) => self.responded(connection, &head),
                Some(Frame::Body(_)) => self.response_body(connection, &body),
                Some(Frame::End) => self.response_ended(connection),
            }
        }
    }

    fn responded(&mut self, connection: &mut Connection, head: &ResponseHead) {
        connection.unanswered -= 1;
        if connection.exchanges.is_empty() {
            // A server need not wait for the end of a request either.
            let exchange = match connection.request.take() {
                Some((head, _)) => self.requested(&head, Vec::new()),
                None => Exchange {
                    conversation: self.begin_unknown(),
                    version: None,
                    begins: false,
                    document: false,
                    session: String::new(),
                },
            };
            connection.exchanges.push_back(exchange);
        }
        if let Some(exchange) = connection.exchanges.front_mut() {
            exchange.session = head.headers.get("mcp-session-id").unwrap_or_default().to_owned();
        }
        let document = connection.exchanges.front().is_some_and(|exchange| exchange.document) && head.status == 200;
        // What has no type is taken for JSON by our client, too.
        let body = if document {
            ResponseBody::Other
        } else if head.headers.content_type_is("application/json") || !head.headers.contains("content-type") {
            ResponseBody::Json(Vec::new())
        } else if head.headers.content_type_is("text/event-stream") {
            let decoder = Box::new(EventDecoder::new(sse::Bounds::for_events_of(DIRECTION_BYTES)));
            ResponseBody::Events { decoder, unread: Vec::new() }
        } else {
            ResponseBody::Other
        };
        connection.response = Some(body);
    }

    fn response_body(&mut self, connection: &mut Connection, bytes: &[u8]) {
        let (Some(body), Some(exchange)) = (&mut connection.response, connection.exchanges.front()) else { return };
        match body {
            ResponseBody::Other => {}
            ResponseBody::Json(whole) => whole.extend_from_slice(bytes),
            ResponseBody::Events { decoder, unread } => {
                unread.extend_from_slice(bytes);
                loop {
                    let (consumed, frame) = decoder.next(unread);
                    if let Some(sse::Frame::Event(event)) = &frame {
                        let data = String::from_utf8_lossy(event.data.bytes(unread)).into_owned();
                        self.event(event.name.as_deref(), decoder.last_event_id(), data, exchange);
                    }
                    unread.drain(..consumed);
                    if frame.is_none() {
                        break;
                    }
                }
            }
        }
    }

    fn event(&mut self, name: Option<&str>, id: &str, data: String, exchange: &Exchange) {
        if name == Some("endpoint") {
            // The transport of 2024-11-05: what is sent to this address belongs to this stream.
            let (_, rest) = data.split_once("://").unwrap_or(("", &data));
            let target = rest.find('/').map_or("", |at| &rest[at..]);
            self.known.insert(target.to_owned(), exchange.conversation);
            return;
        }
        let is_message = matches!(name, None | Some("message")) && !data.is_empty();
        // What broke off is told again.
        if is_message && (id.is_empty() || self.told.insert((exchange.conversation, format!("{id} {data}")))) {
            self.say(Side::Server, data, exchange);
        }
    }

    fn response_ended(&mut self, connection: &mut Connection) {
        let (response, exchange) = (connection.response.take(), connection.exchanges.pop_front());
        if let (Some(ResponseBody::Json(body)), Some(exchange)) = (response, exchange) {
            self.say(Side::Server, String::from_utf8_lossy(&body).into_owned(), &exchange);
        }
    }

    fn say(&mut self, sender: Side, text: String, exchange: &Exchange) {
        let Exchange { conversation, version, .. } = *exchange;
        // A session is known by its id from the answer to `initialize` on.
        if sender == Side::Server && exchange.begins && text.contains("\"result\"") {
            self.known.insert(exchange.session.clone(), conversation);
        }
        // An answer is sent again if the connection was closed before anybody can have read it.
        let again =
            sender == Side::Client && !text.contains("\"method\"") && !self.told.insert((conversation, text.clone()));
        if !again && !text.trim().is_empty() {
            self.found.said.push(Said { sender, text, conversation, version });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_tests::wires::http::escaped;

    /// A recording of what was said, each piece as the number of its connection, its sender and its text.
    fn recorded(pieces: &[(u32, char, &str)]) -> Vec<(usize, String)> {
        let line = |(number, mark, text): &(u32, char, &str)| format!("{mark} {number} {}\n", escaped(text.as_bytes()));
        let recording = format!("# source: x\n{TRANSPORT}\n{}", pieces.iter().map(line).collect::<String>());
        assert!(is_http(&recording) && !is_http("# source: x\n> {}\n"));
        let said = read(&recording).unwrap().said.into_iter();
        said.map(|said| (said.conversation, format!("{:?} {}", said.sender, said.text))).collect()
    }

    fn post(headers: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    fn json(headers: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
    }

    #[test]
    fn a_session_is_one_conversation_on_all_its_connections() {
        let session = "Mcp-Session-Id: s\r\n";
        let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let said = recorded(&[
            (1, '>', &post("", r#"{"method":"initialize"}"#)),
            (1, '<', &json(session, r#"{"result":1}"#)),
            (2, '>', &post(session, r#"{"method":"a"}"#)),
            (1, '>', &post(session, r#"{"method":"b"}"#)),
            (2, '<', events),
            (2, '<', "1b\r\nid: 7\ndata: {\"result\":2}\n\n\r\n"),
            (3, '>', "GET /mcp HTTP/1.1\r\nHost: h\r\nMcp-Session-Id: s\r\n\r\n"),
            (3, '<', events),
            // It is told again.
            (3, '<', "1b\r\nid: 7\ndata: {\"result\":2}\n\n\r\n"),
            (4, '>', &post("Mcp-Session-Id: t\r\n", r#"{"method":"c"}"#)),
        ]);
        let expected = [
            (0, r#"Client {"method":"initialize"}"#),
            (0, r#"Server {"result":1}"#),
            (0, r#"Client {"method":"a"}"#),
            (0, r#"Client {"method":"b"}"#),
            (0, r#"Server {"result":2}"#),
            (1, r#"Client {"method":"c"}"#),
        ];
        assert_eq!(said, expected.map(|(number, text)| (number, text.to_owned())));
    }

    #[test]
    fn a_modern_request_stands_alone_and_pieces_are_joined() {
        let request = post("", r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#);
        let said = recorded(&[
            (1, '>', &request[..20]),
            (1, '>', &request[20..]),
            (1, '<', &json("", "{}")),
            (1, '>', &request),
            (1, '<', &json("", "[]")),
        ]);
        assert_eq!(said.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }

    #[test]
    fn messages_to_an_address_of_their_own_belong_to_its_stream() {
        let said = recorded(&[
            (1, '>', "GET /sse HTTP/1.1\r\nHost: h\r\n\r\n"),
            (1, '<', "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /m?s=1\n\n"),
            (2, '>', &post("", r#"{"method":"initialize"}"#).replace("/mcp", "/m?s=1")),
            (2, '<', "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"),
            (1, '<', "event: message\ndata: {\"result\":1}\n\n"),
        ]);
        assert_eq!(
            said,
            [(0, r#"Client {"method":"initialize"}"#.to_owned()), (0, r#"Server {"result":1}"#.to_owned())]
        );
    }

    #[test]
    fn who_is_told_to_go_on_says_the_rest() {
        let request = post("Expect: 100-continue\r\n", r#"{"method":"a"}"#);
        let said = recorded(&[
            (1, '>', &request[..request.len() - 3]),
            (1, '<', "HTTP/1.1 100 Continue\r\n\r\n"),
            (1, '>', &request[request.len() - 3..]),
            (1, '<', &json("", r#"{"result":1}"#)),
        ]);
        assert_eq!(said, [(0, r#"Client {"method":"a"}"#.to_owned()), (0, r#"Server {"result":1}"#.to_owned())]);
    }

    #[test]
    fn without_a_session_the_stream_belongs_to_the_last_handshake() {
        let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let said = recorded(&[
            (1, '>', &post("", r#"{"method":"initialize"}"#)),
            (1, '<', &json("", r#"{"result":1}"#)),
            (2, '>', "GET /mcp HTTP/1.1\r\nHost: h\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"),
            (2, '<', events),
            (2, '<', "data: {\"method\":\"roots/list\"}\n\n"),
            (1, '>', &post("MCP-Protocol-Version: 2025-11-25\r\n", r#"{"result":2}"#)),
        ]);
        assert_eq!(said.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0; 4], "{said:?}");
    }

    #[test]
    fn what_has_no_type_is_read_as_json() {
        let asks = r#"{"method":"ping"}"#;
        let untyped = json("", asks).replace("Content-Type", "Content-Tyqe");
        let said = recorded(&[(1, '>', &post("", r#"{"method":"a"}"#)), (1, '<', &untyped)]);
        assert_eq!(said[1], (0, format!("Server {asks}")));
    }

    #[test]
    fn who_speaks_something_else_is_found_out() {
        let recording = [("> 1", "GET /mcp HTTP/1.1\r\nHost : h\r\n\r\n"), ("< 2", "HTTP/1.1 2000 OK\r\n\r\n")];
        let lines = recording.map(|(mark, text)| format!("{mark} {}\n", escaped(text.as_bytes())));
        let broken = read(&lines.concat()).unwrap().broken;
        assert_eq!(broken.iter().map(|(side, _)| *side).collect::<Vec<_>>(), [Side::Client, Side::Server]);
    }

    #[test]
    fn nothing_is_read_behind_what_was_left_out() {
        let said = |line: &str| format!("{line} {}\n", escaped(post("", r#"{"method":"a"}"#).as_bytes()));
        let recording = [said("> 1"), ">… 1\n".to_owned(), said("> 2")].concat();
        let found = read(&recording).unwrap();
        assert_eq!((found.said.len(), found.is_cut), (1, true));
    }

    #[test]
    fn a_refusal_may_come_before_its_request() {
        let said = recorded(&[(1, '>', "POST /mcp HTTP/1.1\r\nHost"), (1, '<', &json("", r#"{"error":1}"#))]);
        assert_eq!(said, [(0, r#"Server {"error":1}"#.to_owned())]);
    }
}
