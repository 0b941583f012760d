//! Other servers of HTTP that clients reach by their names: an authorization server, for one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use windlass::codec::http1::{Bounds, Frame, Framing, Headers, RequestDecoder, write_response};
use windlass::{ConnError, ConnId, Instant};

use crate::movable::Movable;

/// A request that a client made to another server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SimRequest {
    /// `GET`, `POST`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
    /// When it came.
    pub at: Instant,
}

/// What another server answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SimResponse {
    /// The status.
    pub status: u16,
    /// The headers, but for those of the connection.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
}

impl SimResponse {
    /// An answer without a type.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Headers::new(), body: body.into() }
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { headers: Headers::from([("Content-Type", "application/json")]), ..Self::new(status, body) }
    }

    /// The same with another header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(name, value);
        self
    }
}

/// Says what a server answers.
type Answer = Rc<RefCell<dyn FnMut(&SimRequest) -> SimResponse>>;

/// A server that answers each request at once.
pub(crate) struct Host {
    pub(crate) name: String,
    answer: Answer,
    /// Its connections, by client.
    talks: BTreeMap<usize, HostTalks>,
}

/// The connections of one client to a host, moved like those of a machine.
pub(crate) struct HostTalks {
    answer: Answer,
    talks: BTreeMap<ConnId, Talk>,
}

/// One connection.
struct Talk {
    decoder: RequestDecoder,
    unread: Vec<u8>,
    request: Option<SimRequest>,
    unwritten: Vec<u8>,
}

impl Host {
    pub(crate) fn new(name: &str, answer: impl FnMut(&SimRequest) -> SimResponse + 'static) -> Self {
        Self { name: name.to_owned(), answer: Rc::new(RefCell::new(answer)), talks: BTreeMap::new() }
    }

    /// A connection of a client is there. It goes by the name that the client has for it.
    pub(crate) fn accept(&mut self, client: usize, conn: ConnId) {
        let decoder = RequestDecoder::new(Bounds::default());
        let talk = Talk { decoder, unread: Vec::new(), request: None, unwritten: Vec::new() };
        self.with(client).talks.insert(conn, talk);
    }

    pub(crate) fn with(&mut self, client: usize) -> &mut HostTalks {
        let answer = &self.answer;
        self.talks.entry(client).or_insert_with(|| HostTalks { answer: answer.clone(), talks: BTreeMap::new() })
    }
}

impl HostTalks {
    /// Reads what has come, and answers what is complete.
    fn advance(&mut self, conn: ConnId, now: Instant) {
        let Some(talk) = self.talks.get_mut(&conn) else { return };
        // What is no HTTP gets no answer.
        while let Ok((consumed, Some(frame))) = talk.decoder.next(&talk.unread) {
            match frame {
                Frame::Head(head) => {
                    let (method, target, headers) = (head.method, head.target, head.headers);
                    talk.request = Some(SimRequest { method, target, headers, body: Vec::new(), at: now });
                }
                Frame::Body(range) => {
                    if let Some(request) = &mut talk.request {
                        request.body.extend_from_slice(&talk.unread[range]);
                    }
                }
                Frame::End => {
                    if let Some(request) = talk.request.take() {
                        let SimResponse { status, headers, body } = (self.answer.borrow_mut())(&request);
                        let framing = Framing::Length(body.len() as u64);
                        let written = write_response(&mut talk.unwritten, status, headers.iter(), framing);
                        written.expect("a test answers with what can be sent");
                        talk.unwritten.extend_from_slice(&body);
                    }
                }
            }
            talk.unread.drain(..consumed);
        }
    }
}

impl Movable for HostTalks {
    fn next_to_move(&mut self) -> Option<ConnId> {
        None
    }

    fn write_buf(&self, conn: ConnId) -> &[u8] {
        self.talks.get(&conn).map_or(&[], |talk| &talk.unwritten)
    }

    fn write_done(&mut self, conn: ConnId, count: usize, _: Instant) {
        if let Some(talk) = self.talks.get_mut(&conn) {
            talk.unwritten.drain(..count);
        }
    }

    fn give(&mut self, conn: ConnId, bytes: &[u8], now: Instant) -> usize {
        if let Some(talk) = self.talks.get_mut(&conn) {
            talk.unread.extend_from_slice(bytes);
        }
        self.advance(conn, now);
        bytes.len()
    }

    fn read_eof(&mut self, conn: ConnId, _: Instant) {
        self.talks.remove(&conn);
    }

    fn conn_failed(&mut self, conn: ConnId, _: ConnError, _: Instant) {
        self.talks.remove(&conn);
    }
}
